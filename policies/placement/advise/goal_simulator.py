"""Simulates whether a workload reaches a goal: its replicas are placed one after another, then rolled out.

kube-scheduler chooses at random among the nodes with the best total. Where there are few ways to choose, all
are taken; otherwise one that fills a domain as far as looking one step ahead can, and the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.model.labels import LabelSelector
from policies.model.workload import Workload
from policies.placement.advise.goal import Goal
from policies.placement.advise.goal_trial import PlacedReplicas, RolledOut, Trial, worst
from policies.placement.advise.node_groups import NodeGroup
from policies.placement.advise.replica_placing import Chooser, ReplicaPlacing, free_nodes
from policies.placement.core.cluster_simulation import ClusterSimulation, may_evict
from policies.placement.core.placement import PreparedPod, prepare
from policies.placement.rollout.courses import Course
from policies.placement.rollout.rollout import is_rolled_out, simulate_rollout

#: Replicas that are placed to take every way to choose, in clusters of no more than so many nodes: some
#: tenths of a second.
MOST_WAYS: Final = 400
MOST_NODES: Final = 20


class GoalSimulator:
    """Simulates copies of a workload on one cluster, without the pods that the workload has there now.

    Attributes:
        goal: The goal.
        cluster: The cluster.
        grown: The same with every node that may be added.
        work: How many replicas were placed so far.
    """

    def __init__(
        self,
        workload: Workload,
        context: AdmissionContext,
        goal: Goal,
        groups: Sequence[NodeGroup] = (),
        *,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the pods of a workload away: a new template replaces them.

        Args:
            workload: The workload; what is simulated are copies with other constraints.
            context: What it is placed by; its cluster must be there and stays as it is.
            goal: The goal.
            groups: Nodes that are added for pods that fit nowhere.
            stop: Whether to place no more; called before each replica.

        Raises:
            PlacementError: Kubernetes would refuse the workload or its pods.
        """
        if context.cluster is None or workload.selector is None:
            raise ValueError("there is no cluster, or the workload's pods cannot be distinguished")
        self.goal = goal
        self._selector: LabelSelector = workload.selector
        self._stop = stop
        self._groups = tuple(groups)
        # Copies have the same terms of pod affinity.
        request = prepare(workload, context).request
        self._simulation = self._grown = ClusterSimulation.of(context.cluster, request, stop=stop)
        self._simulation.delete_selected(workload.namespace, self._selector)
        self.cluster = self.grown = self._simulation.cluster
        self._context = replace(context, cluster=self.cluster)
        if groups:
            self._grown = self._simulation.fork(request)
            self.grown = self._grown.cluster
            for node in (group.node(n, self.grown) for group in groups for n in range(1, group.count + 1)):
                self._grown.put(node)
        self._domains = {node.name: node.labels.get(goal.key, "") for node in self.grown.nodes.listed()}
        self.work = 0

    def usable_domains(self, workload: Workload) -> frozenset[str]:
        """Return the domains that could take a pod if no constraint kept it away, with all nodes added.

        A pod may take the room of others of lower priority.
        """
        request, simulation = (
            prepare(workload, replace(self._context, cluster=self.grown)).request,
            self._grown,
        )
        if may_evict(request.pod, self.grown):
            simulation = simulation.fork(request)
            simulation.delete_below(request.pod.priority)
        return frozenset(self._domains[name] for name in free_nodes(request, simulation)) - {""}

    def run(self, workload: Workload) -> Trial:
        """Place all replicas of a workload, and roll them out if the goal is reached until then.

        Raises:
            PlacementError: Kubernetes would refuse the workload or its pods.
        """
        prepared = prepare(workload, self._context)
        trial = self._place(prepared, ReplicaPlacing.choose_fullest)
        every = (ReplicaPlacing.choose_every,) if self.grown.node_count <= MOST_NODES else ()
        for choose in (ReplicaPlacing.choose_first, *every):
            if trial.failure(self.goal) is None:
                trial = trial.worse_of(self._place(prepared, choose), self.goal)
        if trial.failure(self.goal) is None and is_rolled_out(workload):
            ends = dict.fromkeys((self.goal.replicas.least, self.goal.replicas.most))
            trial = replace(trial, rollouts=tuple(self._roll_out(workload, end) for end in ends))
        return trial

    def _place(self, prepared: PreparedPod, choose: Chooser) -> Trial:
        """Place all replicas in every way that is chosen, or as many as there are few ways for."""
        goal, placed, number = self.goal, list[PlacedReplicas](), 0
        simulation = self._simulation.fork(prepared.request)
        left = {group: group.count for group in self._groups}
        ways = [ReplicaPlacing(prepared.request, simulation, goal, self._domains, left)]
        started, message = self.work, ""
        while number < goal.replicas.most and not message and not self._stop():
            if self.work - started > MOST_WAYS and len(ways) > 1:
                break
            self.work += len(ways)
            after = [child for way in ways for child in way.further(choose)]
            message = next((way.message for way in ways if way.message), "")
            if not message:
                ways = list({way.state: way for way in after}.values())
                number += 1
                if number >= goal.replicas.least:
                    placed.append(worst(way.look() for way in ways))
        return Trial(
            prepared=prepared,
            placed=tuple(placed),
            fitting=number,
            message=message,
            added=max(way.added for way in ways),
            evicted=max(len(way.evicted) for way in ways),
            exact=choose is ReplicaPlacing.choose_every and number == goal.replicas.most,
        )

    def _roll_out(self, workload: Workload, replicas: int) -> RolledOut:
        """Roll out so many replicas: those before have the same constraints."""
        edited = apply_edits(workload.obj, [Edit(FieldPath(workload.kind.replicas or ()), None, replicas)])
        context = replace(self._context, cluster=self.grown)
        rollout = simulate_rollout(edited, context, namespace=workload.namespace)
        courses = rollout.courses
        ends = (self._fullest(course, workload) for course in (courses.likely, courses.worst))
        domain, count = max(ends, key=lambda end: end[1])
        return RolledOut(
            replicas=replicas,
            outcome=courses.worst.outcome,
            domain=domain,
            count=count,
            courses=courses.count,
            exact=courses.exact,
            evicted=rollout.evicted,
        )

    def _fullest(self, course: Course, workload: Workload) -> tuple[str, int]:
        pods = course.cluster.selected_pods(workload.namespace, self._selector)
        counts = Counter(self._domains[pod.node] for pod in pods)
        return max(counts.items(), key=lambda entry: entry[1], default=("", 0))
