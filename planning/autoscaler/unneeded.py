"""The nodes that Cluster Autoscaler takes to be unneeded, in one of its loops.

Source: ``core/scaledown/{planner,eligibility}``, ``simulator/{drain,drainability,utilization}`` and
``processors/scaledowncandidates``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.pod_groups import filtered_request
from planning.simulation.autoscaled import KeptNode, WhyKept
from planning.simulation.node_source import Budgets, NodePod
from policies.config.node_groups import ScaleDownSettings
from policies.model.cluster_kinds import POD
from policies.model.deletion_facts import SCALE_DOWN_DISABLED
from policies.model.taints import Taint, TaintEffect
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.request import SchedulingRequest

#: The taint of a node that Cluster Autoscaler removes.
TO_BE_DELETED: Final = Taint("ToBeDeletedByClusterAutoscaler", "", TaintEffect.NO_SCHEDULE.value)
#: The kinds of controllers whose pods come again: ``replicatedKind``.
_REPLICATED: Final = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
#: The namespace of the system, and for how many seconds its pods keep their node: the default of
#: ``--blocking-system-pod-distruption-timeout``.
_SYSTEM: Final = "kube-system"
_SYSTEM_S: Final = 3600.0
#: What a node is compared by.
_COMPARED: Final = ("cpu", "memory")


class Drained(NamedTuple):
    """The pods of a node, if it were removed."""

    moves: tuple[NodePod, ...]  #: Those that go elsewhere.
    completes: NodePod | None  #: The first that must end by itself; None without.
    blocked: tuple[NodePod, WhyKept] | None  #: The first that keeps the node, and why; None if none does.


@dataclass(frozen=True, slots=True, kw_only=True)
class UnneededNode:
    """A node that is not needed."""

    name: str  #: Its name.
    group: str  #: Its node group.
    places: Mapping[str, str]  #: Where Cluster Autoscaler takes its pods to go, by their names.
    utilization: float  #: The share of its CPU or memory, whichever is greater, that its pods request.
    completes: str = ""  #: A pod that must end by itself first; empty without.
    is_risky: bool = False  #: Whether a PodDisruptionBudget does not allow to evict its pods at once.


@dataclass(slots=True)
class ScaleDownLoop:
    """Findings of one loop."""

    candidates: list[str] = field(default_factory=list)  #: The nodes that were looked at, in order.
    #: The nodes that are not needed, in the order in which they were found.
    unneeded: list[UnneededNode] = field(default_factory=list)
    kept: list[KeptNode] = field(default_factory=list)  #: The nodes that stay.
    #: The share of their CPU or memory that the pods of nodes request.
    utilization: dict[str, float] = field(default_factory=dict)
    tried: int = 0  #: How many pods were tried elsewhere.


def drained(pods: Sequence[NodePod], settings: ScaleDownSettings, budgets: Budgets) -> Drained:
    """Return the outcome for the pods of a node that is removed."""
    moves, completes = list[NodePod](), None
    for pod in pods:
        if pod.is_tied:
            continue
        if pod.facts.safe_to_evict == "on-completion":
            completes = completes or pod
            continue
        why = _blocks(pod, settings, budgets)
        if why is not None:
            return Drained((), None, (pod, why))
        moves.append(pod)
    return Drained(tuple(moves), completes, None)


def _blocks(pod: NodePod, settings: ScaleDownSettings, budgets: Budgets) -> WhyKept | None:
    """Return why a pod keeps its node; None if it does not."""
    if pod.request is None:
        return WhyKept.POD_UNKNOWN
    if pod.facts.safe_to_evict == "true":
        return None
    if pod.owner not in _REPLICATED:
        return WhyKept.POD_NOT_REPLICATED
    if settings.skip_nodes_with_system_pods and pod.pod.namespace == _SYSTEM and not budgets.of(pod):
        return None if pod.age is not None and pod.age > _SYSTEM_S else WhyKept.POD_OF_SYSTEM
    if pod.facts.safe_to_evict == "false":
        return WhyKept.POD_ANNOTATED
    if settings.skip_nodes_with_local_storage and pod.facts.local_storage:
        return WhyKept.POD_LOCAL_STORAGE
    return WhyKept.POD_BUDGET if budgets.block(pod) else None


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


def find_unneeded(
    cluster: ClusterIndex,
    groups: Sequence[ScaledGroup],
    settings: ScaleDownSettings,
    pods: Mapping[str, Sequence[NodePod]],
    budgets: Budgets,
    *,
    before: Collection[str] = (),
    most_tried: int = sys.maxsize,
) -> ScaleDownLoop:
    """Return which nodes are not needed, each beside those before it.

    Args:
        cluster: The cluster, which stays as it is.
        groups: The node groups, with their sizes and nodes as they are.
        settings: How Cluster Autoscaler is started.
        pods: The pods of each node, in the order in which they are looked at.
        budgets: What PodDisruptionBudgets allow, which the evictions are taken from.
        before: The nodes that were not needed in the loop before.
        most_tried: Pods that are tried elsewhere until no further node is looked at.
    """
    found, trial = ScaleDownLoop(utilization=_utilization(cluster)), EvictionTrial(cluster, pods)
    group_of = {name: group for group in reversed(groups) for name in group.nodes}
    candidates = list[str]()
    for name in cluster.nodes.names():
        group = group_of.get(name)
        if group is None:
            found.kept.append(KeptNode(name=name, why=WhyKept.NOT_IN_GROUP))
        elif group.size <= group.min_size:
            found.kept.append(KeptNode(name=name, group=group.name, why=WhyKept.MIN_SIZE))
        else:
            candidates.append(name)
    found.candidates = sorted(
        candidates, key=lambda name: (*_turn(pods.get(name, ()), settings), name not in before)
    )
    most = len(before) + 2 * settings.max_parallelism
    for name in found.candidates:
        group, share = group_of[name], found.utilization.get(name)
        why = _ineligible(cluster, name, share, settings)
        if why is None and (len(found.unneeded) >= most or trial.tried >= most_tried):
            why = WhyKept.NOT_TRIED
        on_node = drained(trial.pods.get(name, ()), settings, budgets)
        blocking, why = on_node.blocked if why is None and on_node.blocked is not None else (None, why)
        places = None if why is not None else trial.move(name, on_node.moves)
        if places is None:
            kept = KeptNode(
                name=name,
                group=group.name,
                why=why or WhyKept.NO_PLACE,
                pod="" if blocking is None else blocking.name,
                utilization=share,
            )
            found.kept.append(kept)
            continue
        unneeded = UnneededNode(
            name=name,
            group=group.name,
            places=places,
            utilization=share or 0.0,
            completes="" if on_node.completes is None else on_node.completes.name,
            is_risky=not budgets.allow(on_node.moves),
        )
        budgets.take(on_node.moves)
        found.unneeded.append(unneeded)
    found.tried = trial.tried
    return found


def _turn(pods: Sequence[NodePod], settings: ScaleDownSettings) -> tuple[bool, bool]:
    """Return the sort key of candidates: those without pods first, those that pods must end on last."""
    found = drained(pods, settings, Budgets())
    is_empty = found.blocked is None and not found.moves
    return (not is_empty, is_empty and found.completes is not None)


def _ineligible(
    cluster: ClusterIndex, name: str, share: float | None, settings: ScaleDownSettings
) -> WhyKept | None:
    """Return why a candidate stays, whatever its pods are; None if nothing speaks against it yet."""
    node = cluster.nodes.find(name)
    if node is None or any(taint.key == TO_BE_DELETED.key for taint in node.taints):
        return WhyKept.BEING_DELETED
    if SCALE_DOWN_DISABLED in node.kept_by:
        return WhyKept.ANNOTATED
    if share is None:
        return WhyKept.UTILIZATION_UNKNOWN
    return WhyKept.NOT_UNDERUTILIZED if share > settings.utilization_threshold else None


def _utilization(cluster: ClusterIndex) -> dict[str, float]:
    """Return the share of its CPU or memory, whichever is greater, that pods request of each node.

    Pods of DaemonSets and static ones count. A node that says of one of both that it has none is left out.
    """
    with cluster.reading():
        names, slots = cluster.nodes.names(), cluster.nodes.order()
        shares = np.zeros((len(_COMPARED), len(names)))
        for row, name in enumerate(_COMPARED):
            used, allocatable = (
                np.zeros(len(names)) if found is None else found[slots].astype(np.float64)
                for found in (cluster.nodes.used.find(name), cluster.nodes.allocatable.find(name))
            )
            shares[row] = np.divide(used, allocatable, out=np.full(len(names), np.nan), where=allocatable > 0)
        greatest = shares.max(axis=0)
    known = ~np.isnan(greatest)
    return {names[position]: float(greatest[position]) for position in np.flatnonzero(known).tolist()}
