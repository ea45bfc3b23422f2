"""The pods on nodes that may be removed, with all that autoscalers ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policies.autoscaler.removal import Budgets, NodePod
from policies.model.deletion_facts import read_disruption_facts, seconds_of
from policies.model.eviction_budget import EvictionBudget
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.core.rescheduling import Rescheduling
from policies.scheduler.index import PodOnNode

#: Kinds that have others make their pods, and those: Knative makes a Deployment of a Service.
_MADE_BY: Final = {"Service": "ReplicaSet"}


class NodePods:
    """The pods of the nodes of a simulation."""

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
            running = self._simulation.count_pods(budget.namespace, selector)
            if budget.allowed is None:
                return budget.evictions(running, running + pending)
            return budget.allowed - pending

        return Budgets((budget, allowed(budget)) for budget in self._simulation.cluster.budgets)
