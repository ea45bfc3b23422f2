"""One verdict: every step of the scheduler on one picture of the cluster."""

from __future__ import annotations

import numpy as np

from policies.engine.counting import PodCounts
from policies.engine.feasibility import other_refusals
from policies.engine.filtering import check_hard, spread_refusals
from policies.engine.index import ClusterIndex
from policies.engine.message import condition_message
from policies.engine.node_view import NodeView
from policies.engine.question import Question
from policies.engine.scoring import score_soft
from policies.engine.verdict import HardResult, Ran, SoftResult, Verdict


def judge(question: Question, index: ClusterIndex) -> Verdict:
    """Return where a pod could go, as kube-scheduler would see the cluster now."""
    with index.reading():
        return _judge(question, index)


def _judge(question: Question, index: ClusterIndex) -> Verdict:
    view = NodeView(index.nodes, question.pod)
    counts = PodCounts(question, index, view)
    hard = [applied for applied in question.constraints if applied.is_hard]
    soft = [applied for applied in question.constraints if not applied.is_hard]
    hard_results = check_hard(hard, view, counts, pinned=question.pinned)
    refusals = [*other_refusals(question, view), spread_refusals(hard_results, len(view.names))]
    feasible = np.ones(len(view.names), np.bool_)
    for plugin in refusals:
        feasible &= plugin.of_node == 0
    soft_results, scores = score_soft(
        soft, view, counts, feasible=feasible, requires_all_keys=question.requires_all_keys
    )
    # Of pods that are made for a node each, every one has a single feasible node.
    scoring = bool(soft and view.names and not question.pinned)
    return Verdict(
        question=question,
        names=tuple(view.names),
        results=_in_order(question, hard_results, soft_results),
        refusals=tuple(refusals),
        feasible=feasible,
        pre_filter=Ran.SUCCESS if hard else Ran.SKIP,
        pre_score=Ran.SUCCESS if scoring else Ran.SKIP,
        raw_scores=scores.raw if scoring else None,
        scores=scores.normalized if scoring else None,
        message="" if feasible.any() else condition_message(question, view, refusals),
    )


def _in_order(
    question: Question, hard: list[HardResult], soft: list[SoftResult]
) -> tuple[HardResult | SoftResult, ...]:
    hards, softs = iter(hard), iter(soft)
    return tuple(next(hards) if applied.is_hard else next(softs) for applied in question.constraints)
