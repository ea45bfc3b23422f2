"""Pods on nodes that an autoscaler may remove, the budgets that protect them, and why a node stays."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.pod_groups import filtered_request
from policies.model.cluster_kinds import POD
from policies.model.deletion_facts import DisruptionFacts
from policies.model.eviction_budget import EvictionBudget
from policies.model.node import Node
from policies.model.taints import Taint, TaintEffect
from policies.scheduler.index import ClusterIndex, PodOnNode
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.request import SchedulingRequest

#: The taint of a node that Cluster Autoscaler removes.
TO_BE_DELETED: Final = Taint("ToBeDeletedByClusterAutoscaler", "", TaintEffect.NO_SCHEDULE.value)


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


class WhyKept(StrEnum):
    """Why a node stays. Those that a pod is the reason of name it."""

    NOT_IN_GROUP = "notInGroup"
    BEING_DELETED = "beingDeleted"
    ANNOTATED = "annotated"
    MIN_SIZE = "minSize"
    NOT_UNDERUTILIZED = "notUnderutilized"
    UTILIZATION_UNKNOWN = "utilizationUnknown"
    NO_PLACE = "noPlaceForPods"
    NOT_TRIED = "notTried"
    UNNEEDED = "unneeded"
    POD_UNKNOWN = "podUnknown"
    POD_NOT_REPLICATED = "podNotReplicated"
    POD_OF_SYSTEM = "podOfSystem"
    POD_ANNOTATED = "podAnnotated"
    POD_LOCAL_STORAGE = "podLocalStorage"
    POD_BUDGET = "podBudget"
    POD_COMPLETES = "podCompletes"
    CONSOLIDATION_OFF = "consolidationOff"
    NOT_EMPTY = "notEmpty"
    BUDGET = "budget"
    TYPE_UNKNOWN = "typeUnknown"
    PRICE_UNKNOWN = "priceUnknown"
    POLICY_NOT_MODELED = "policyNotModeled"
    NOT_CHEAPER = "notCheaper"
    SPOT = "spot"
    TOO_MANY_NEW = "tooManyNew"


class WhyRemoved(StrEnum):
    """Reason for which an autoscaler removes nodes.

    ``underutilized`` is Cluster Autoscaler's threshold. The others but ``empty`` are Karpenter's ways to
    consolidate: one node or several, without a replacement or with one that is cheaper.
    """

    EMPTY = "empty"
    UNDERUTILIZED = "underutilized"
    SINGLE_NODE = "singleNode"
    MULTI_NODE = "multiNode"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptNode:
    """A node that stays."""

    name: str  #: Its name.
    group: str = ""  #: Its node group or NodePool; empty without one.
    why: WhyKept  #: Why it stays.
    pod: str = ""  #: The pod that keeps it, as namespace/name; empty if no single one does.
    #: The share of its CPU or memory, whichever is greater, that its pods request; null where nothing depends
    #: on it.
    utilization: float | None = None


class LeavingNode(NamedTuple):
    """A node that is removed."""

    name: str  #: Its name.
    group: str  #: Its node group or NodePool.
    why: WhyRemoved  #: What makes the autoscaler remove it.
    #: The share of its CPU or memory that its pods request; None where nothing depends on it.
    utilization: float | None
    moved: tuple[str, ...]  #: The pods that go elsewhere, by their names.


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Removals that an autoscaler makes at once."""

    nodes: tuple[LeavingNode, ...]  #: The nodes that it removes; none if it removes nothing.
    kept: Sequence[KeptNode]  #: The nodes that stay.
    taint: Taint  #: The taint of those that go, until they are gone.
    #: The node that comes first, with its group; None without one.
    replacement: tuple[Node, ScaledGroup] | None = None


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


class EvictionTrial:
    """A cluster in which pods are put elsewhere by the filters of the scheduler alone.

    Source: ``simulator/{cluster,scheduling/hinting_simulator}.go``, Cluster Autoscaler 1.36.
    """

    def __init__(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]]) -> None:
        """Start with a cluster, which stays as it is, and the pods of its nodes."""
        self._cluster = cluster.fork("")
        self.pods = {node: list(found) for node, found in pods.items()}
        #: How many pods were tried elsewhere.
        self.tried = 0
        # The position at which the last pod was put; the search goes on after it.
        self._last = 0
        self._requests: dict[int, SchedulingRequest] = {}

    def move(self, name: str, pods: Sequence[NodePod]) -> dict[str, str] | None:
        """Remove a node and put pods of it elsewhere; return where each goes, by its name.

        None if one fits nowhere: the cluster is then as before. Until all have a place the node is there,
        empty and tainted, so that its domain counts on.
        """
        trial, node = self._cluster.fork("") if pods else self._cluster, self._cluster.nodes.find(name)
        for pod in self.pods.get(name, ()):
            trial.remove(*POD, pod.pod.namespace, pod.pod.name)
        places: dict[str, str] = {}
        if pods and node is not None:
            trial.nodes.put(node._replace(taints=(*node.taints, TO_BE_DELETED)))
            for pod in pods:
                place = self._place(trial, pod, name)
                if place is None:
                    return None
                places[pod.name] = place
        trial.nodes.remove(name)
        self._cluster = trial
        self.pods.pop(name, None)
        for pod in pods:
            self.pods.setdefault(places[pod.name], []).append(pod)
        return places

    def _place(self, cluster: ClusterIndex, pod: NodePod, left: str) -> str | None:
        """Return the node that a pod is put on; None if it fits on none but the one that it left."""
        if pod.request is None:
            return None
        request = self._requests.get(id(pod.request))
        if request is None:
            request = self._requests[id(pod.request)] = filtered_request(pod.request)
        self.tried += 1
        with cluster.reading():
            view = NodeView(cluster, request.pod)
            feasible = filter_nodes(view, request, pre_filter(view, request)).feasible.copy()
            names = view.names
            feasible &= ~cluster.nodes.cordoned()[view.slots]
        feasible[cluster.nodes.positions()[left]] = False
        may = np.flatnonzero(feasible).tolist()
        if not may:
            return None
        after = bisect_left(may, (self._last + 1) % len(names))
        self._last = may[after % len(may)]
        cluster.bind(request.pod, pod.pod.name, names[self._last])
        return names[self._last]
