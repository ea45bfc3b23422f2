"""Where new nodes come from: what a simulation asks an autoscaler, and is told.

A simulation knows none of them: whoever reads documents makes one, and hands it in as a ``NodeSource``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from planning.simulation.autoscaled import (
    AutoscalerName,
    GroupSize,
    KeptNode,
    Loop,
    NewNode,
    RelaxedPreference,
    RemovedNode,
    Unhelped,
)
from planning.simulation.cluster_simulation import QueuedPod, never
from policies.model.deletion_facts import DisruptionFacts
from policies.model.node import Node
from policies.model.pod import Pod
from policies.model.scaling import EvictionBudget
from policies.model.taints import Taint
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.request import SchedulingRequest


class GroupRoom(NamedTuple):
    """A node group that may get nodes."""

    name: str  #: Its name.
    like: Node  #: What each of them is like; its name has no meaning.
    room: int  #: How many it may get.


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNodes:
    """The nodes that are added for pending pods, before any of them is ready."""

    loops: tuple[Loop, ...]  #: The loops of Cluster Autoscaler that add them. Karpenter adds all at once.
    nodes: tuple[NewNode, ...]  #: The nodes.
    unhelped: tuple[Unhelped, ...]  #: The pods for which nothing was done.
    complete: bool  #: Whether another loop would add nothing.
    stopped: bool = False  #: Whether it was to stop before that was known.
    given_up: tuple[RelaxedPreference, ...] = ()  #: The preferences that Karpenter gave up.


class NodePod(NamedTuple):
    """A pod on a node."""

    pod: PodOnNode  #: Where it is.
    owner: str  #: The kind of its controller; empty without one.
    static: bool  #: Whether the kubelet of its node runs it from a file.
    of_daemon: bool  #: Whether a DaemonSet runs it, or it counts as if one did.
    priority: int  #: Its priority.
    age: float | None  #: How many seconds old it is; None if that is not known.
    facts: DisruptionFacts  #: What autoscalers read of it.
    #: What is scheduled in its place; None if that is not known, or it belongs to its node.
    request: SchedulingRequest | None

    @classmethod
    def unknown(cls, pod: PodOnNode) -> NodePod:
        """Return a pod of which nothing is known but its node."""
        return cls(pod, "", False, False, 0, None, DisruptionFacts(), None)  # noqa: FBT003  # as above

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.pod.namespace}/{self.pod.name}"

    @property
    def is_tied(self) -> bool:
        """Whether it goes with its node."""
        return self.static or self.of_daemon


class Budgets:
    """How many more evictions PodDisruptionBudgets allow."""

    def __init__(self, allowed: Iterable[tuple[EvictionBudget, int]] = ()) -> None:
        """Start with budgets, each with the evictions that it allows now."""
        self._budgets, self._left = list[EvictionBudget](), list[int]()
        for budget, left in allowed:
            self._budgets.append(budget)
            self._left.append(left)

    def of(self, pod: NodePod) -> list[int]:
        """Return the numbers of the budgets that protect a pod."""
        if pod.request is None:
            return []
        namespace, labels = pod.pod.namespace, pod.request.pod.labels
        return [
            number
            for number, each in enumerate(self._budgets)
            if each.namespace == namespace and each.selector is not None and each.selector.matches(labels)
        ]

    def block(self, pod: NodePod) -> bool:
        """Return whether a budget allows no eviction of a pod."""
        return any(self._left[number] < 1 for number in self.of(pod))

    def allow(self, pods: Sequence[NodePod]) -> bool:
        """Return whether pods may be evicted at once."""
        counts = Counter(number for pod in pods for number in self.of(pod))
        return all(self._left[number] >= count for number, count in counts.items())

    def take(self, pods: Iterable[NodePod]) -> None:
        """Count evictions."""
        for pod in pods:
            for number in self.of(pod):
                self._left[number] -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Removals that an autoscaler makes at once."""

    nodes: tuple[RemovedNode, ...]  #: The nodes that it removes; none if it removes nothing.
    kept: Sequence[KeptNode]  #: The nodes that stay.
    taint: Taint  #: The taint of those that go, until they are gone.
    replacement: NewNode | None = None  #: The node that comes first; None without one.


class NodeRemovals(Protocol):
    """The nodes that an autoscaler removes, round after round."""

    @property
    def left(self) -> int:
        """How many more pods are tried elsewhere."""
        ...

    @property
    def not_modeled(self) -> tuple[str, ...]:
        """The names of what else it looks at."""
        ...

    def next(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]], budgets: Budgets) -> Removal:
        """Return which nodes are removed next, of a cluster that has lost those of the rounds before.

        Args:
            cluster: The cluster, which stays as it is.
            pods: The pods of each node.
            budgets: What PodDisruptionBudgets allow, which the evictions are taken from.
        """
        ...


class NodeSource(Protocol):
    """An autoscaler with its node groups or NodePools, and the nodes that these have."""

    @property
    def name(self) -> AutoscalerName:
        """Which it is."""
        ...

    @property
    def width(self) -> int:
        """With how many node groups or instance types a pod may be compared."""
        ...

    @property
    def karpenter_nodes(self) -> int:
        """How many nodes of the cluster are Karpenter's and left out of this."""
        ...

    def states(self) -> tuple[GroupSize, ...]:
        """Return its node groups or NodePools as they are, with no node added."""
        ...

    def rooms(self) -> tuple[GroupRoom, ...] | None:
        """Return the node groups that may get nodes; None where the pods decide what a node is like."""
        ...

    def domains(self, key: str, pod: Pod) -> set[str]:
        """Return the domains of a label in which nodes may come for a pod, by their labels and taints."""
        ...

    def not_modeled(self, pods: Iterable[QueuedPod]) -> tuple[str, ...]:
        """Return the names of what else it looks at for some pods."""
        ...

    def without(self, key: str, domain: str) -> NodeSource:
        """Return it with nothing to be had in a domain, which is lost."""
        ...

    def grown(self, nodes: Iterable[NewNode]) -> NodeSource:
        """Return it with further nodes."""
        ...

    def nodes_for(
        self,
        cluster: ClusterIndex,
        pods: Iterable[QueuedPod],
        choose: TieBreaker,
        stop: Callable[[], bool] = never,
    ) -> NewNodes:
        """Return the nodes that are added for pending pods.

        Args:
            cluster: The cluster, with the pods that have a node; it stays as it is.
            pods: The pods that have none.
            choose: Chooses one of several groups or domains that are equally good.
            stop: Whether to end before the next step.
        """
        ...

    def removals(self, choose: TieBreaker, most_tried: int) -> NodeRemovals:
        """Return the nodes that it removes, round after round.

        Args:
            choose: Chooses one of several nodes or domains that are equally good.
            most_tried: Pods that are tried elsewhere until no further node is looked at.
        """
        ...
