"""One verdict: every step of the scheduler on one picture of the cluster."""

from __future__ import annotations

import numpy as np

from policies.scheduler.fit_error import condition_message
from policies.scheduler.index import ClusterIndex
from policies.scheduler.interpodaffinity import InterPodCounts, interpod_rejections
from policies.scheduler.node_filters import other_rejections
from policies.scheduler.node_view import NodeView
from policies.scheduler.podtopologyspread.counting import PodCounts
from policies.scheduler.podtopologyspread.filtering import check_hard, spread_rejections
from policies.scheduler.podtopologyspread.scoring import score_soft
from policies.scheduler.profile import score_plugins
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import (
    FilterResult,
    PhaseStatus,
    PluginScores,
    SchedulingResult,
    ScoreResult,
)


def evaluate(question: SchedulingRequest, index: ClusterIndex) -> SchedulingResult:
    """Return where a pod could go, as kube-scheduler would see the cluster now."""
    with index.reading():
        return _judge(question, index)


def _judge(question: SchedulingRequest, index: ClusterIndex) -> SchedulingResult:
    view = NodeView(index.nodes, question.pod)
    counts = PodCounts(question, index, view)
    hard = [applied for applied in question.constraints if applied.is_hard]
    soft = [applied for applied in question.constraints if not applied.is_hard]
    hard_results = check_hard(hard, view, counts, pinned=question.pinned)
    company = InterPodCounts(question, index, view)
    refusals = [
        *other_rejections(question, index, view),
        spread_rejections(hard_results, len(view.names)),
        interpod_rejections(question, index, view, company),
    ]
    feasible = np.ones(len(view.names), np.bool_)
    for plugin in refusals:
        feasible &= plugin.of_node == 0
    soft_results, scores = score_soft(
        soft, view, counts, feasible=feasible, requires_all_keys=question.requires_all_keys
    )
    # Of pods that are made for a node each, every one has a single feasible node.
    scoring = bool(soft and view.names and not question.pinned)
    plugin_scores: tuple[PluginScores, ...] = ()
    if feasible.any():
        spread = scores if scoring else None
        plugin_scores = score_plugins(question, index, view, company, feasible=feasible, spread=spread)
    return SchedulingResult(
        question=question,
        names=tuple(view.names),
        results=_in_order(question, hard_results, soft_results),
        refusals=tuple(refusals),
        feasible=feasible,
        pre_filter=PhaseStatus.SUCCESS if hard else PhaseStatus.SKIP,
        pre_score=PhaseStatus.SUCCESS if scoring else PhaseStatus.SKIP,
        raw_scores=scores.raw if scoring else None,
        scores=scores.normalized if scoring else None,
        message="" if feasible.any() else condition_message(question, view, refusals),
        plugin_scores=plugin_scores,
    )


def _in_order(
    question: SchedulingRequest, hard: list[FilterResult], soft: list[ScoreResult]
) -> tuple[FilterResult | ScoreResult, ...]:
    hards, softs = iter(hard), iter(soft)
    return tuple(next(hards) if applied.is_hard else next(softs) for applied in question.constraints)
