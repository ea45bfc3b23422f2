"""One scheduling cycle: the plugins of the profile over the cluster as it is now.

From 100 nodes on kube-scheduler stops when it has found enough feasible ones, and the next pod's search
starts where the last one stopped. It checks nodes with 16 threads, so which ones it finds varies a little;
here they are checked one after another. Source: ``findNodesThatPassFilters`` and ``numFeasibleNodesToFind``,
``pkg/scheduler/schedule_one.go``, and ``list``, ``pkg/scheduler/backend/cache/node_tree.go``, Kubernetes
1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.cluster_kinds import BUDGET, LIST_NAMES, PRIORITY_CLASS
from policies.model.topology_keys import REGION, RENAMED, ZONE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, passing, pre_filter, score_nodes
from policies.scheduler.plugins.nodeaffinity import gone_node
from policies.scheduler.plugins.podtopologyspread import filtering, scoring
from policies.scheduler.preemption.dry_run import NodeFilter
from policies.scheduler.preemption.preempt import attempt
from policies.scheduler.profile import DEFAULT_PREEMPTION, Plugin
from policies.scheduler.rejections import condition_of, fit_error
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import (
    MAX_SCORE,
    FilterResult,
    NodeScores,
    PhaseStatus,
    Preemption,
    Rejections,
    SchedulingResult,
    ScoreResult,
)

#: The percentage that means one that falls with the number of nodes: the scheduler's default.
ADAPTIVE: Final = 0
#: The number of feasible nodes that are always looked for: ``minFeasibleNodesToFind``.
FEWEST_NODES: Final = 100
#: The names that labels of zones and regions had before; they are looked at first.
_OLD_NAMES: Final = {new: old for old, new in RENAMED.items()}
#: The least percentage that the adaptive one falls to: ``minFeasibleNodesPercentageToFind``.
LEAST_PERCENT: Final = 5


def evaluate(
    request: SchedulingRequest,
    index: ClusterIndex,
    sampler: NodeSampler | None = None,
    *,
    filters_only: bool = False,
) -> SchedulingResult:
    """Return where a pod could go, as kube-scheduler would see the cluster now.

    Args:
        request: The pod, and the constraints in force.
        index: The cluster.
        sampler: Finds as many of the feasible nodes as the scheduler would; None for all of them.
        filters_only: Whether feasible nodes are left without scores, which take a quarter of the time, and
            a pod that fits nowhere without preemption, whose work grows with the pods of the cluster and
            their budgets. What ScheduleAnyway constraints count is there in any case.
    """
    with index.reading():
        return _evaluate(request, NodeView(index, request.pod), sampler, filters_only=filters_only)


def evaluate_unless_feasible(request: SchedulingRequest, index: ClusterIndex) -> SchedulingResult | None:
    """Return ``evaluate`` for a pod that fits nowhere; None where some node could take it, as for most."""
    with index.reading():
        view = NodeView(index, request.pod)
        # Nominated pods may be in the way of some.
        known: dict[Plugin, Rejections] = {}
        if not index.nominated_pods() and pre_filter(view, request) is None:
            found, known = passing(view, request)
            if found.any():
                return None
        # Whom preemption would evict is not looked at: the filters alone decide whether it may help.
        result = _evaluate(request, view, None, filters_only=True, known=known)
        return None if result.feasible.any() else result


def count_spread(request: SchedulingRequest, index: ClusterIndex) -> tuple[FilterResult | ScoreResult, ...]:
    """Return the current counts of each constraint, as ``evaluate`` has them; no other plugin runs.

    Args:
        request: The pod, and the constraints in force.
        index: The cluster.
    """
    with index.reading():
        view = NodeView(index, request.pod)
        checks = filtering.filter_nodes(view, request).checks
        counts = scoring.count_soft(view, request, np.ones(len(view.names), np.bool_))
    return _in_order(request, checks, counts)


def _in_order(
    request: SchedulingRequest, checks: Iterable[FilterResult], counts: Iterable[ScoreResult]
) -> tuple[FilterResult | ScoreResult, ...]:
    hard, soft = iter(checks), iter(counts)
    return tuple(next(hard) if applied.is_hard else next(soft) for applied in request.constraints)


def _without_soft(request: SchedulingRequest, feasible: NDArray[np.bool_]) -> NodeScores | None:
    """Return PodTopologySpread's scores for a pod without soft constraints; None where it skips.

    Source: ``NormalizeScore``, ``podtopologyspread/scoring.go``, Kubernetes 1.27.
    """
    if request.pinned or not request.behavior.scores_spread_without_soft:
        return None
    return NodeScores(np.zeros(len(feasible), np.int64), np.where(feasible, MAX_SCORE, 0))


def _unread(
    request: SchedulingRequest, index: ClusterIndex, preemption: Preemption | None
) -> tuple[str, ...]:
    """Return the lists of the cluster that decide whom preemption evicts, and are not known."""
    evicts = preemption is not None and bool(preemption.nominated)
    unknown = (BUDGET,) if evicts and not index.knows(BUDGET) else ()
    classes = (PRIORITY_CLASS,) if request.pod.class_unknown else ()
    return tuple(LIST_NAMES[kind] for kind in (*unknown, *classes))


class _Unschedulable(NamedTuple):
    """The result for a pod that fits nowhere: the FitError, the condition, and preemption."""

    message: str
    condition: str
    preemption: Preemption | None


_SCHEDULED: Final = _Unschedulable("", "", None)


def _unschedulable(
    request: SchedulingRequest,
    view: NodeView,
    rejections: tuple[Rejections, ...],
    stopped: Rejections | None,
    checks: list[FilterResult],
    *,
    filters_only: bool,
) -> _Unschedulable:
    message = fit_error(request, view, rejections, stopped)
    if filters_only or request.is_gated or not view.names or gone_node(view, request) is not None:
        return _Unschedulable(message, message, None)
    is_stopped = stopped is not None or request.narrowed_to == frozenset()
    preemption = attempt(view, request, rejections, checks)
    condition = condition_of(request, message, preemption.message, stopped=is_stopped)
    runs = DEFAULT_PREEMPTION in request.profile.post_filters and not is_stopped
    return _Unschedulable(message, condition, preemption if runs else None)


def _evaluate(
    request: SchedulingRequest,
    view: NodeView,
    sampler: NodeSampler | None,
    *,
    filters_only: bool,
    known: Mapping[Plugin, Rejections] | None = None,
) -> SchedulingResult:
    index = view.index
    stopped = None if request.narrowed_to == frozenset() else pre_filter(view, request)
    rejections, checks, feasible = _filtered(request, view, stopped, known)
    if sampler is not None:
        feasible = sampler.find(view, request, feasible)
    scores = scoring.score_nodes(view, request, feasible)
    # A pod that is made for one node has a single feasible node.
    is_scored = bool(scores.counts and view.names and not request.pinned)
    spread = scores.nodes if is_scored else None
    is_any = bool(feasible.any())
    unschedulable = (
        _SCHEDULED
        if is_any
        else _unschedulable(request, view, rejections, stopped, checks, filters_only=filters_only)
    )
    unread = () if is_any else _unread(request, index, unschedulable.preemption)
    missing = {*request.pod.unmodeled, *unread}
    why_unread = {name: why for name, why in index.unread.items() if name in missing} if missing else {}
    return SchedulingResult(
        request=request,
        names=view.names,
        results=_in_order(request, checks, scores.counts),
        rejections=rejections,
        feasible=feasible,
        pre_filter=PhaseStatus.SUCCESS if any(a.is_hard for a in request.constraints) else PhaseStatus.SKIP,
        pre_score=PhaseStatus.SUCCESS if is_scored else PhaseStatus.SKIP,
        raw_scores=None if spread is None else spread.raw,
        scores=None if spread is None else spread.normalized,
        message=unschedulable.message,
        condition=unschedulable.condition,
        preemption=unschedulable.preemption,
        unread=unread,
        why_unread=why_unread,
        plugin_scores=score_nodes(view, request, feasible, spread or _without_soft(request, feasible))
        if is_any and not filters_only
        else (),
    )


def _filtered(
    request: SchedulingRequest,
    view: NodeView,
    stopped: Rejections | None,
    known: Mapping[Plugin, Rejections] | None,
) -> tuple[tuple[Rejections, ...], list[FilterResult], NDArray[np.bool_]]:
    """Return the rejections, nominated pods counted, the checks of constraints, and the feasible nodes."""
    rejections, feasible = filter_nodes(view, request, stopped, known)
    checks = [
        check for each in rejections if isinstance(each, filtering.SpreadRejections) for check in each.checks
    ]
    if view.index.nominated_pods() and stopped is None:
        filters = NodeFilter(view, request, rejections, checks)
        if filters.nominated.any():
            rejections = filters.reasons(filters.values)
            feasible = np.logical_and.reduce([rejected.of_node == 0 for rejected in rejections])
    return rejections, checks, feasible


def nodes_to_find(percentage: int, nodes: int) -> int:
    """Return the number of feasible nodes after which kube-scheduler stops looking.

    Args:
        percentage: ``percentageOfNodesToScore``, or ``ADAPTIVE``.
        nodes: How many nodes there are.

    >>> [nodes_to_find(ADAPTIVE, nodes) for nodes in (99, 100, 300, 1000, 5000, 6000)]
    [99, 100, 144, 420, 500, 300]
    >>> nodes_to_find(30, 1000)
    300
    """
    if nodes < FEWEST_NODES:
        return nodes
    if percentage == ADAPTIVE:
        percentage = max(50 - nodes // 125, LEAST_PERCENT)
    return max(nodes * percentage // 100, FEWEST_NODES)


class NodeSampler:
    """Which feasible nodes are found, for one pod after another."""

    def __init__(self, percentage: int) -> None:
        """Start at the first node, as a scheduler that was just started.

        Args:
            percentage: ``percentageOfNodesToScore``, or ``ADAPTIVE``.
        """
        self._percentage = percentage
        self._start = 0
        self._slots: NDArray[np.intp] | None = None
        self._order = np.zeros(0, np.intp)

    def find(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which feasible nodes are found for a pod, and start the next search behind them.

        Args:
            view: The nodes.
            request: The pod.
            feasible: The nodes that pass every filter, shape ``(n,)``.
        """
        order = self._in_order(view)
        named = request.narrowed_to
        if named is not None:
            order = order[view.named(named)[order]]
        if request.is_gated or not len(order):
            # No search was begun.
            return feasible
        turned = np.roll(order, -(self._start % len(order)))
        hits = np.flatnonzero(feasible[turned])
        limit = nodes_to_find(self._percentage, len(order))
        looked_at, found = len(order), feasible
        if len(hits) > limit:
            # The search ends at the first node that is too many.
            looked_at, found = int(hits[limit]), np.zeros_like(feasible)
            found[turned[hits[:limit]]] = True
        self._start = (self._start + looked_at) % len(view.names)
        return found

    def _in_order(self, view: NodeView) -> NDArray[np.intp]:
        """Return the positions of the nodes as the scheduler's snapshot has them: one of each zone in turn.

        Zones come in the order of their first nodes, and the nodes of each by name, which is the order in
        which a scheduler that starts gets to know them.
        """
        if self._slots is not view.slots:
            zones: dict[tuple[str, str], list[int]] = {}
            for position, zone in enumerate(_zones(view)):
                zones.setdefault(zone, []).append(position)
            rounds = zip_longest(*zones.values())
            in_turn = [position for positions in rounds for position in positions if position is not None]
            self._slots, self._order = view.slots, np.array(in_turn, np.intp)
        return self._order


def _zones(view: NodeView) -> Iterator[tuple[str, str]]:
    """Yield the region and the zone of each node: ``GetZoneKey``, ``component-helpers/node/topology``."""
    return zip(_values(view, REGION), _values(view, ZONE), strict=True)


def _values(view: NodeView, key: str) -> list[str]:
    """Return each node's value of a label, by its old name where the node has that."""
    old, new = (view.label(name) for name in (_OLD_NAMES[key], key))
    numbers = np.where(old.present, old.numbers, np.where(new.present, new.numbers + len(old.texts), -1))
    texts = [*old.texts, *new.texts, ""]
    return [texts[number] for number in numbers.tolist()]
