"""Simulates whether a workload reaches a goal: its replicas are placed one after another, then rolled out.

kube-scheduler chooses at random among the nodes with the best total. Where there are few ways to choose, all
are taken; otherwise one that fills a domain as far as looking one step ahead can, and the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from planning.advise.goal import Goal
from planning.advise.goal_trial import PlacedReplicas, RolledOut, Trial, worst
from planning.advise.node_groups import NodeGroup
from planning.simulation.cluster_simulation import ClusterSimulation, may_evict, never
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rollout.courses import Course
from planning.simulation.rollout.rollout import is_rolled_out, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from policies.config.context import AdmissionContext
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.fields import FieldPath
from policies.model.labels import LabelSelector
from policies.model.workload import Workload
from policies.pods.known_pods import UNREAD_PODS, KnownPods
from policies.pods.placement import PreparedPod, prepare
from policies.scheduler.request import SchedulingRequest

#: Replicas that are placed to take every way to choose, in clusters of no more than so many nodes: some
#: tenths of a second.
MOST_WAYS: Final = 400
MOST_NODES: Final = 20


class ReplicaPlacing:
    """The replicas that were placed so far.

    Attributes:
        message: The scheduler's message on a replica that fitted nowhere; empty if all fitted.
        added: How many nodes were added.
        evicted: The pods of other workloads that were evicted, as namespace/name; nothing replaces them here.
    """

    def __init__(
        self,
        request: SchedulingRequest,
        simulation: ClusterSimulation,
        goal: Goal,
        domains: Mapping[str, str],
        left: Mapping[NodeGroup, int],
    ) -> None:
        """Start without replicas.

        Args:
            request: The pod.
            simulation: The cluster, which is changed.
            goal: The goal.
            domains: The domain of every node, also of those that may be added.
            left: How many nodes of each group may be added.
        """
        self._request, self._simulation, self._goal = request, simulation, goal
        self._domain_of, self._left = domains, dict(left)
        self._on_node: Counter[str] = Counter()
        self._in_domain: Counter[str] = Counter()
        self.message, self.added = "", 0
        self.evicted: frozenset[str] = frozenset()
        #: Where evictions make room for one more, if it fits nowhere, and who would go.
        self._room: Mapping[str, tuple[str, ...]] = {}

    @property
    def state(self) -> Hashable:
        """The key of the state: ways with the same key go on alike."""
        return frozenset(self._on_node.items()), tuple(self._left.values()), self.evicted

    def further(self, choose: Chooser) -> list[ReplicaPlacing]:
        """Place one more replica; return this and, where more than one node is chosen, its copies."""
        # The scheduler evicts at once; an autoscaler looks at what stays pending.
        tied = self._best() or list(self._room)
        names = choose(self, tied) if tied else self._on_new_node()
        ways = [self, *(self._copy() for _ in names[1:])]
        for way, name in zip(ways, names, strict=False):
            way.bind(name)
        return ways

    def bind(self, node: str) -> None:
        """Bind one more replica to a node, on which others may be evicted for it."""
        victims = frozenset(self._room.get(node, ()))
        on_node = self._simulation.cluster.pods_on([node]) if victims else ()
        self._simulation.evict(pod for pod in on_node if f"{pod.namespace}/{pod.name}" in victims)
        self.evicted |= victims
        # No pod has such a name.
        self._simulation.bind(self._request.pod, f"/{self._on_node.total() + 1}", node)
        self._on_node[node] += 1
        self._in_domain[self._domain_of[node]] += 1

    def choose_fullest(self, tied: Sequence[str]) -> list[str]:
        """Choose a node of the fullest domain; without any, one of the emptiest, to raise the minimum."""
        most = max(self._in_domain.values(), default=0)

        def worth(name: str) -> tuple[bool, int, int]:
            count = self._in_domain[self._domain_of[name]]
            return count == most, -count, self._on_node[name]

        return [max(tied, key=worth)]

    def choose_first(self, tied: Sequence[str]) -> list[str]:
        """Choose the first node by name."""
        return [tied[0]]

    def choose_every(self, tied: Sequence[str]) -> list[str]:
        """Choose each node once."""
        return list(tied)

    def look(self) -> PlacedReplicas:
        """Return where the replicas are."""
        domain, count = max(self._in_domain.items(), key=lambda entry: entry[1])
        crowded = self._crowded() if self._goal.one_a_node else None
        return PlacedReplicas(replicas=self._on_node.total(), domain=domain, count=count, crowded=crowded)

    def _best(self) -> list[str]:
        result = self._simulation.evaluate(self._request)
        preemption = result.preemption
        found = () if preemption is None else preemption.nominated
        self._room = {} if preemption is None else {node: preemption.victims[node] for node in found}
        self.message = "" if found else result.message
        return [result.names[position] for position in result.best]

    def _on_new_node(self) -> list[str]:
        """Add a node with which one more replica fits, first where most replicas are; return the best."""
        message = self.message
        for group in sorted(self._left, key=lambda group: -self._in_domain[group.domain]):
            if self._left[group]:
                node = group.node(group.count - self._left[group] + 1, self._simulation.cluster)
                self._simulation.put(node)
                if best := self._best():
                    self._left[group] -= 1
                    self.added += 1
                    return best[:1]
                self._simulation.lose(node.name)
        self.message = message
        return []

    def _copy(self) -> ReplicaPlacing:
        simulation = self._simulation.fork(self._request)
        twin = ReplicaPlacing(self._request, simulation, self._goal, self._domain_of, self._left)
        twin._on_node, twin._in_domain = Counter(self._on_node), Counter(self._in_domain)
        twin.added, twin.evicted, twin._room = self.added, self.evicted, self._room
        return twin

    def _crowded(self) -> tuple[str, str] | None:
        """Return a node with two replicas more than another that could take one, and that one."""
        if max(self._on_node.values()) < 2:
            return None
        least: dict[str, str] = {}
        for name in free_nodes(self._request, self._simulation):
            known = least.setdefault(self._group(name), name)
            if self._on_node[name] < self._on_node[known]:
                least[self._group(name)] = name
        for name, count in self._on_node.items():
            other = least.get(self._group(name), name)
            if count - self._on_node[other] > 1:
                return name, other
        return None

    def _group(self, node: str) -> str:
        """Return the domain whose nodes are compared; all of them where no domain has a limit."""
        return self._domain_of[node] if self._goal.compares_within_domains else ""


#: Chooses some of the nodes with the best total.
Chooser: TypeAlias = Callable[[ReplicaPlacing, Sequence[str]], list[str]]


def free_nodes(request: SchedulingRequest, simulation: ClusterSimulation) -> list[str]:
    """Return the nodes that could take a pod if no constraint kept it away."""
    result = simulation.evaluate(replace(request, constraints=()))
    return [name for name, fits in zip(result.names, result.feasible.tolist(), strict=True) if fits]


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
        known: KnownPods,
        goal: Goal,
        groups: Sequence[NodeGroup] = (),
        *,
        stop: Callable[[], bool] = never,
    ) -> None:
        """Take the pods of a workload away: a new template replaces them.

        Args:
            workload: The workload; what is simulated are copies with other constraints.
            context: What it is placed by; its cluster must be there and stays as it is.
            known: What is known of the cluster's pods.
            goal: The goal.
            groups: Nodes that are added for pods that fit nowhere.
            stop: Whether to place no more; called before each replica.

        Raises:
            PlacementError: Kubernetes would refuse the workload or its pods.
        """
        if context.cluster is None or workload.own_pods is None:
            raise ValueError("there is no cluster, or the workload's pods cannot be distinguished")
        self.goal = goal
        self._selector: LabelSelector = workload.own_pods
        self._known, self._stop = known, stop
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
        # Its own pods of the cluster are not there, pending ones neither.
        settings = RolloutSettings(known=UNREAD_PODS, others=PodFacts(self.grown, (), self._known.running))
        rollout = simulate_rollout(edited, context, settings, namespace=workload.namespace)
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
