"""Which changes could make a pod fit, from the result of scheduling it; each has to be evaluated.

The rejections of a node are the plugins that reject it; PodTopologySpread counts once for each constraint
that is not satisfied. A change is a candidate if it removes the last rejection of a node. What else it does
(a tolerated taint may bring a domain into the counts) only another evaluation shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.taints import SCHEDULING_EFFECTS, Taint, first_untolerated
from policies.model.topology_keys import RENAMED, similar_keys
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING, PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.result import FilterResult, SchedulingResult

#: Lists of taints for which tolerations are proposed, those of most nodes first; each is evaluated.
MOST_TAINT_LISTS: Final = 3
#: What the names of taints for a node's condition start with. A pod that tolerated one would run where
#: it cannot, or not for long. Source: ``well_known_taints.go`` and ``cloud-provider/api``, Kubernetes 1.36;
#: autoscalers, which take the node away; agents without which no pod starts there.
CONDITION_TAINTS: Final = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
    "node.cilium.io/agent-not-ready",
    "ebs.csi.aws.com/agent-not-ready",
    "efs.csi.aws.com/agent-not-ready",
)
#: The taints of nodes that run the cluster itself. Source: ``well_known_taints.go`` and kubeadm.
CONTROL_PLANE_TAINTS: Final = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/etcd",
)
#: How many times as large ``maxSkew`` may become before little is left of the guarantee.
HOLLOW_TIMES: Final = 4


def find_candidates(result: SchedulingResult, index: ClusterIndex, *, others: int) -> list[Change]:
    """Return the changes that could remove a rejection of some node, the least given up first.

    Args:
        result: Of a pod that fits nowhere.
        index: The cluster that was evaluated, unchanged.
        others: How many more rejections that node may have.
    """
    if result.request.is_gated:
        return [Change(what=ChangeKind.SCHEDULING_GATES)]
    with index.reading():
        view = NodeView(index, result.request.pod)
        rejections = _RejectionCounts(result, view, index.nodes.label_keys(), others)
        changes = [*_of_constraints(rejections), *_of_pod(rejections, index)]
    return sorted(changes, key=lambda change: change.cost)


class _RejectionCounts:
    """How many rejections each node has, and which nodes have one of them and few others."""

    def __init__(self, result: SchedulingResult, view: NodeView, keys: Collection[str], others: int) -> None:
        self.result = result
        self.view = view
        #: The labels that nodes carry.
        self.keys = keys
        self._others = others
        self._rejected: dict[Plugin, NDArray[np.bool_]] = {
            each.plugin: each.of_node != 0
            for each in result.rejections
            if each.plugin is not Plugin.POD_TOPOLOGY_SPREAD
        }
        self._counts = np.zeros(len(result.names), np.int64)
        for rejected in self._rejected.values():
            self._counts += rejected
        for spread in result.results:
            if isinstance(spread, FilterResult):
                self._counts += ~spread.satisfied

    def rejected_by(self, plugin: Plugin) -> NDArray[np.bool_]:
        """Return the nodes that a plugin rejects and few others do, shape ``(n,)``."""
        return self.fewest(self._rejected[plugin])

    def lacks_key(self, result: FilterResult) -> bool:
        """Return whether a topology key may be mistaken: nodes without it have few other rejections."""
        key = result.applied.constraint.topology_key
        mistaken = key in RENAMED or key not in self.keys
        return mistaken and bool(self.fewest(result.domains.of_node == MISSING).any())

    def fewest(self, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return those of some nodes that have the fewest rejections, none if these are too many."""
        least = min(int(self._counts[nodes].min(initial=self._others + 2)), self._others + 1)
        return nodes & (self._counts <= least)


def _of_constraints(rejections: _RejectionCounts) -> Iterator[Change]:
    for position, result in enumerate(rejections.result.results):
        if isinstance(result, FilterResult):
            key = result.applied.constraint.topology_key
            for similar in similar_keys(key, rejections.keys) if rejections.lacks_key(result) else ():
                yield Change(what=ChangeKind.TOPOLOGY_KEY, constraint=position, value=similar)
            present = result.domains.of_node != MISSING
            within_reach = rejections.fewest(present & ~result.satisfied)
            if within_reach.any():
                yield from _of_counts(rejections, position, result, within_reach)
            if within_reach.any() or rejections.fewest(~result.satisfied).any():
                soft = str(WhenUnsatisfiable.SCHEDULE_ANYWAY)
                yield Change(what=ChangeKind.WHEN_UNSATISFIABLE, constraint=position, value=soft)
                yield Change(what=ChangeKind.CONSTRAINT, constraint=position)


def _of_counts(
    rejections: _RejectionCounts, position: int, result: FilterResult, nodes: NDArray[np.bool_]
) -> Iterator[Change]:
    """Yield the changes after which a constraint counts other nodes or domains, or allows more skew."""
    request, constraint = rejections.result.request, result.applied.constraint
    if request.behavior.inclusion_policies:
        honor, ignore = NodeInclusionPolicy.HONOR, NodeInclusionPolicy.IGNORE
        if constraint.node_taints_policy is ignore:
            yield Change(what=ChangeKind.NODE_TAINTS_POLICY, constraint=position, value=str(honor))
        if request.pod.affinity.constrains:
            other = honor if constraint.node_affinity_policy is ignore else ignore
            yield Change(what=ChangeKind.NODE_AFFINITY_POLICY, constraint=position, value=str(other))
    existing = int(np.count_nonzero(result.domains.exists))
    if 1 <= existing < constraint.min_domains:
        given_up = constraint.min_domains - existing
        yield Change(what=ChangeKind.MIN_DOMAINS, constraint=position, value=existing, given_up=given_up)
    yield max_skew_change(result, position, int(result.skew[nodes].min()))


def max_skew_change(result: FilterResult, position: int, value: int) -> Change:
    """Return the change of a constraint's ``maxSkew``.

    It is hollow if all matching pods could be in one domain, or if it is far from what the pod has.
    """
    old, domains = result.applied.constraint.max_skew, result.domains
    pods = int(domains.matching[domains.exists].sum()) + result.applied.self_match
    hollow = value >= max(pods, 2) or value > HOLLOW_TIMES * old
    return Change(
        what=ChangeKind.MAX_SKEW, constraint=position, value=value, given_up=value - old, hollow=hollow
    )


def _of_pod(rejections: _RejectionCounts, index: ClusterIndex) -> Iterator[Change]:
    affinity = rejections.result.request.pod.affinity
    if rejections.rejected_by(Plugin.NODE_AFFINITY).any():
        if affinity.node_selector:
            yield Change(what=ChangeKind.NODE_SELECTOR)
        if affinity.terms is not None:
            yield Change(what=ChangeKind.NODE_AFFINITY)
    if rejections.rejected_by(Plugin.NODE_NAME).any():
        yield Change(what=ChangeKind.NODE_NAME)
    yield from _of_tolerations(rejections, index)
    lower = _lower_requests(rejections)
    if lower is not None:
        yield lower


def _of_tolerations(rejections: _RejectionCounts, index: ClusterIndex) -> Iterator[Change]:
    nodes = rejections.rejected_by(Plugin.TAINT_TOLERATION)
    tolerations = rejections.result.request.pod.tolerations

    def untolerated(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
        return tuple(
            taint for taint in taints if first_untolerated((taint,), tolerations, SCHEDULING_EFFECTS)
        )

    lists = index.nodes.map_taints(untolerated)
    counted = Counter(lists[number] for number in rejections.view.taint_numbers[nodes].tolist())
    usable = (
        taints
        for taints, _ in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        if not any(taint.key.startswith(CONDITION_TAINTS) for taint in taints)
    )
    for taints, _ in zip(usable, range(MOST_TAINT_LISTS), strict=False):
        reserved = any(taint.key in CONTROL_PLANE_TAINTS for taint in taints)
        yield Change(what=ChangeKind.TOLERATIONS, taints=taints, given_up=len(taints), hollow=reserved)


def _lower_requests(rejections: _RejectionCounts) -> Change | None:
    """Return the change to what the node has left that lacks the smallest share of the requests."""
    view, requests = rejections.view, rejections.result.request.pod.requests
    nodes = rejections.rejected_by(Plugin.NODE_RESOURCES_FIT)
    allocatable, used = view.resource(PODS)
    nodes &= used < allocatable
    missing = np.zeros(len(nodes))
    available = {}
    for name, request in requests:
        allocatable, used = view.resource(name)
        left = available[name] = allocatable - used
        nodes &= left > 0
        missing += np.maximum(request - left, 0) / request
    if not nodes.any():
        return None
    best = int(np.argmin(np.where(nodes, missing, np.inf)))
    lowered = tuple(
        (name, int(available[name][best])) for name, request in requests if available[name][best] < request
    )
    return (
        Change(what=ChangeKind.REQUESTS, requests=lowered, given_up=float(missing[best])) if lowered else None
    )
