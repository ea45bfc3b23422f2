"""``kubectl drain``: nodes take no more pods, and theirs are evicted as far as their budgets allow.

A node with a pod that has no controller keeps all of its pods: ``deleteOrEvictPodsSimple`` returns before it
evicts any, and kubectl goes on with the next node.

Pods are evicted in rounds. Between two of them whoever plays the cluster has what replaces those that went
scheduled again, and the budgets count what became ready.

Sources: ``pkg/{drain/{drain,filters},cmd/drain/drain}.go`` of ``k8s.io/kubectl``, Kubernetes 1.36. Flags:
``--ignore-daemonsets``, without which it does nothing on most nodes, and ``--delete-emptydir-data``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.disruption_budgets import DisruptionBudgets, RefusedEviction
from planning.simulation.pod_facts import PodFacts
from policies.scheduler.index import PodOnNode

#: What kubectl says of a pod without a controller, and of what it does not evict then.
NO_CONTROLLER: Final = "cannot delete Pods that declare no controller (use --force to override)"


class Drain:
    """Evicts the pods of nodes, round by round.

    Pods that have finished are deleted: they hold nothing of a node, and are not counted here.

    Attributes:
        nodes: The names of the nodes.
        evicted: The pods that were evicted, in order.
        refused: The pods that the last round did not evict, in order, and why; for good once a round evicts
            none. Of a node with pods that have no controller these alone: no other one is tried.
        stayed: The pods that stay on their nodes: static ones, and those of DaemonSets.
        with_local_data: Those evicted ones whose emptyDir volumes went with them.
    """

    def __init__(
        self,
        simulation: ClusterSimulation,
        facts: PodFacts,
        budgets: DisruptionBudgets,
        nodes: Iterable[str],
    ) -> None:
        """Cordon the nodes.

        Args:
            simulation: The cluster, which loses the pods.
            facts: What is known of its pods.
            budgets: The budgets of the pods.
            nodes: The names of the nodes; those that are not there are passed over.
        """
        self._simulation, self._facts, self._budgets = simulation, facts, budgets
        found = list(filter(None, map(simulation.cluster.nodes.find, dict.fromkeys(nodes))))
        self.nodes = tuple(node.name for node in found)
        for node in found:
            simulation.cordon(node)
        self.evicted, self.with_local_data = list[PodOnNode](), list[PodOnNode]()
        self.refused = list[RefusedEviction]()
        self.stayed, self._waiting = list[PodOnNode](), list[PodOnNode]()
        for pod in sorted(simulation.cluster.pods_on(self.nodes)):
            (self.stayed if facts.is_tied(pod) else self._waiting).append(pod)
        bare = [pod for pod in self._waiting if self._is_bare(pod)]
        self._bare = {pod: RefusedEviction(pod, NO_CONTROLLER) for pod in bare}
        untried = {pod.node for pod in bare}
        self._kept = [pod for pod in self._waiting if pod.node in untried]
        self._waiting = [pod for pod in self._waiting if pod.node not in untried]

    @property
    def drained(self) -> tuple[str, ...]:
        """The nodes of which every pod that can go is gone."""
        left = {pod.node for pod in (*self._waiting, *self._kept)}
        return tuple(name for name in self.nodes if name not in left)

    def round(self) -> list[PodOnNode]:
        """Evict every pod that may go now; return those that are to be replaced, none if it is over."""
        self._budgets.recount()
        there = set(self._simulation.cluster.pods_on(self.nodes))
        self._waiting = [pod for pod in self._waiting if pod in there]
        self._kept = [pod for pod in self._kept if pod in there]
        found = {pod: self._budgets.refusal(pod) for pod in self._waiting}
        refused = [refusal for refusal in found.values() if refusal is not None]
        going = [pod for pod, refusal in found.items() if refusal is None]
        self._waiting = [refusal.pod for refusal in refused]
        bare = (refusal for pod, refusal in self._bare.items() if pod in there)
        self.refused = sorted([*refused, *bare], key=lambda refusal: refusal.pod)
        self.evicted += going
        self.with_local_data += filter(self._has_local_data, going)
        self._budgets.note_gone(going)
        return self._simulation.evict(going)

    def _is_bare(self, pod: PodOnNode) -> bool:
        number = self._facts.own(pod.namespace, pod.name)
        if number is not None:
            workload = self._facts.workloads[number].workload
            return workload.kind.is_pod and workload.owner is None
        known = self._facts.object_of(pod)
        return known is not None and known.owner is None

    def _has_local_data(self, pod: PodOnNode) -> bool:
        known = self._facts.object_of(pod)
        return known is not None and known.disruption.empty_dir
