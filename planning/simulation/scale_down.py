"""Nodes that an autoscaler removes since they are not needed, and where the scheduler puts their pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from planning.simulation.autoscaled import KeptNode, RemovedNode, ScaledDown, WhyKept
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, unnoticed
from planning.simulation.domain_changes import count_domains, different_pods, domain_changes
from planning.simulation.node_source import Budgets, NodePod, NodeSource, Removal
from planning.simulation.pod_facts import PodFacts
from planning.simulation.rescheduling import Rescheduling
from policies.config.context import AdmissionContext
from policies.model.cluster_kinds import BUDGET
from policies.model.deletion_facts import read_disruption_facts, seconds_of
from policies.model.scaling import EvictionBudget
from policies.pods.placement import PreparedPod
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import PodOnNode

#: What is said where no budget may protect a pod since none is known.
_NO_BUDGETS: Final = "PodDisruptionBudgets, which are not known"
#: Kinds that have others make their pods, and those: Knative makes a Deployment of a Service.
_MADE_BY: Final = {"Service": "ReplicaSet"}
#: Pods that are tried elsewhere until no further node is looked at: ten seconds where nodes are hundreds.
MOST_TRIED: Final = 50_000
#: Rounds after which the simulation ends, of which each takes ten minutes or more.
MOST_ROUNDS: Final = 200


class NodePods:
    """The pods of the nodes of a simulation, with all that autoscalers look at before they remove a node."""

    def __init__(self, simulation: ClusterSimulation, again: Rescheduling, *, now: float) -> None:
        """Look at a cluster.

        Args:
            simulation: The cluster, which may change.
            again: What schedules its pods again, with what is known of them.
            now: The time, in seconds since 1970; 0 if it is not known.
        """
        self._simulation, self._facts, self._again = simulation, again.facts, again
        self._now, self._known = now, dict[PodOnNode, NodePod]()

    def by_node(self) -> dict[str, list[NodePod]]:
        """Return the pods of each node, by their names."""
        found: dict[str, list[NodePod]] = {}
        for pod in self.on(self._simulation.cluster.nodes.names()):
            found.setdefault(pod.pod.node, []).append(pod)
        return found

    def on(self, nodes: Iterable[str]) -> Iterator[NodePod]:
        """Yield the pods of some nodes, by their names."""
        for pod in sorted(self._simulation.cluster.pods_on(nodes)):
            if pod not in self._known:
                self._known[pod] = self._node_pod(pod)
            yield self._known[pod]

    def _node_pod(self, pod: PodOnNode) -> NodePod:
        known, number = self._facts.object_of(pod), self._facts.own(pod.namespace, pod.name)
        if known is not None:
            found = NodePod(
                pod=pod,
                owner="" if known.owner is None else known.owner.kind,
                static=known.static,
                of_daemon=known.of_daemon_set or known.disruption.as_daemon,
                priority=known.priority,
                age=self._now - created if (created := seconds_of(known.created)) else None,
                facts=known.disruption,
                request=None,
            )
        elif number is not None:
            prepared = self._facts.workloads[number]
            owner, template = prepared.pod.owner, prepared.pod.template
            facts = read_disruption_facts({"annotations": template.annotations}, template.spec)
            found = NodePod(
                pod=pod,
                owner="" if owner is None else _MADE_BY.get(owner.kind, owner.kind),
                static=False,
                of_daemon=facts.as_daemon,
                priority=prepared.request.pod.priority,
                age=0.0,
                facts=facts,
                request=None,
            )
        else:
            return NodePod.unknown(pod)
        return found if found.static else found._replace(request=self._again.replacement(pod))

    def budgets(self) -> Budgets:
        """Return the disruptions that budgets allow now: less by the pods that wait for a node again."""
        waiting = [pod.request.pod for pod, _ in self._again.pending]

        def allowed(budget: EvictionBudget) -> int:
            selector = budget.selector
            if selector is None:
                return 0
            pending = sum(
                pod.namespace == budget.namespace and selector.matches(pod.labels) for pod in waiting
            )
            running = self._simulation.cluster.count_pods(budget.namespace, selector)
            if budget.allowed is None:
                return budget.evictions(running, running + pending)
            return budget.allowed - pending

        return Budgets((budget, allowed(budget)) for budget in self._simulation.cluster.budgets)


def scale_down(
    queue: Sequence[QueuedPod],
    simulation: ClusterSimulation,
    autoscaler: NodeSource,
    context: AdmissionContext,
    *,
    running: PodObjects,
    workloads: Sequence[PreparedPod] = (),
    most_tried: int = MOST_TRIED,
) -> ScaledDown:
    """Remove nodes that are not needed, round by round, and schedule what replaces their pods.

    Args:
        queue: The pods whose domains are counted as well; they are in the cluster.
        simulation: The cluster, which loses the nodes.
        autoscaler: What removes them; with the nodes that it has added.
        context: What pods of the cluster are prepared by.
        running: The objects of the cluster's pods.
        workloads: The given workloads, whose pods are replaced as they define.
        most_tried: Pods that are tried elsewhere until no further node is looked at.
    """
    # These pods are not those of the queue, of which each step is told.
    simulation.on_step = unnoticed
    again = Rescheduling(simulation, PodFacts(simulation.cluster, workloads, running), context)
    # The time is not known of a snapshot: it is later than all that it has.
    now = max((seconds_of(known.created) for _, known in running.items()), default=0.0)
    pods, start, removed = NodePods(simulation, again, now=now), simulation.fork(), list[RemovedNode]()
    rounds = autoscaler.removals(simulation.choose, most_tried)
    for done in count():
        found = rounds.next(simulation.cluster, pods.by_node(), pods.budgets())
        stopped = simulation.stop()
        if not found.nodes or done == MOST_ROUNDS or stopped:
            break
        removed += (replace(each, round=done + 1, replaced_by=found.replacement) for each in found.nodes)
        _remove(found, simulation, again, pods)
    evicted = again.displaced
    touched = (
        QueuedPod(entry.name, request)
        for entry in evicted
        if (request := again.request_of(entry)) is not None
    )
    counted, all_counted = different_pods([*touched, *queue])
    return ScaledDown(
        autoscaler=autoscaler.name,
        rounds=done,
        removed=tuple(removed),
        # What would go next stays where it was not played to the end.
        kept=(
            *found.kept,
            *(KeptNode(name=each.name, group=each.group, why=WhyKept.UNNEEDED) for each in found.nodes),
        ),
        evicted=evicted,
        domains=domain_changes(counted, count_domains(counted, start), simulation),
        all_domains=all_counted,
        complete=not found.nodes and rounds.left > 0 and not stopped,
        stopped=stopped,
        not_modeled=(*rounds.not_modeled, *(() if start.cluster.knows(BUDGET) else (_NO_BUDGETS,))),
    )


def _remove(found: Removal, simulation: ClusterSimulation, again: Rescheduling, pods: NodePods) -> None:
    """Take nodes away: their pods are evicted from tainted nodes, and scheduled again before these go."""
    names = [node.name for node in found.nodes]
    if found.replacement is not None:
        simulation.put(found.replacement.node)
    for name in names:
        if (node := simulation.cluster.nodes.find(name)) is not None:
            simulation.taint(node, found.taint)
    tied, moving = list[PodOnNode](), list[PodOnNode]()
    for pod in pods.on(names):
        (tied if pod.is_tied else moving).append(pod.pod)
    simulation.evict(tied)
    again.schedule(simulation.evict(moving))
    for name in names:
        simulation.lose(name)
