"""One way in which the replicas of a workload can be placed, on one fork of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from policies.placement.advise.goal import Goal
from policies.placement.advise.goal_trial import PlacedReplicas
from policies.placement.advise.node_groups import NodeGroup
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.scheduler.request import SchedulingRequest


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
