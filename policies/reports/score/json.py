"""A verdict as one JSON object: every plugin's word on every node, for programs.

A cluster has thousands of nodes and few kinds of them, so what alike nodes share is built once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from policies.manifests.wire import dumps
from policies.placement.core.placement import Placement
from policies.reports.score import answer as score_answer
from policies.reports.score.profile import not_modeled
from policies.scheduler.node_table import MISSING
from policies.scheduler.releases import judged_as
from policies.scheduler.result import DomainCounts, FilterResult, SchedulingResult, ScoreResult

#: The entry of a node.
_Told = TypeVar("_Told")


def render(placement: Placement) -> bytes:
    """Return a placement's verdict as one line of JSON, without its end.

    Numbers are the scheduler's, nodes and domains are sorted by name.
    """
    verdict = placement.verdict
    profile = verdict.request.profile
    answer = score_answer.ScoreAnswer(
        kubernetes_version=placement.version,
        judged_as=judged_as(placement.version).exact,
        dropped=placement.dropped,
        revision=placement.revision,
        pre_filter=verdict.pre_filter,
        pre_score=verdict.pre_score,
        constraints=list(map(_constraint, verdict.results)),
        nodes=_nodes(verdict),
        feasible_nodes=verdict.feasible_count,
        best=[verdict.names[node] for node in verdict.best],
        message=verdict.message,
        condition=verdict.condition,
        preemption=verdict.preemption,
        profile=score_answer.UsedProfile.of(profile),
        not_modeled=[*verdict.request.pod.unmodeled, *verdict.unread, *not_modeled(profile)],
    )
    return dumps(answer)


def _constraint(result: FilterResult | ScoreResult) -> score_answer.ScoredConstraint:
    minimum = result.minimum if isinstance(result, FilterResult) else None
    weight = result.weight if isinstance(result, ScoreResult) else None
    return score_answer.ScoredConstraint(result.applied, minimum, weight, _domains(result.domains))


def _domains(domains: DomainCounts) -> list[score_answer.CountedDomain]:
    """Return the domains that exist."""
    values, matching, nodes = domains.values, domains.matching.tolist(), domains.nodes.tolist()
    return [
        {"value": values[domain], "matching": matching[domain], "nodes": nodes[domain]}
        for domain in domains.existing()
    ]


def _nodes(verdict: SchedulingResult) -> list[score_answer.ScoredNode]:
    rows = zip(
        verdict.names,
        verdict.feasible.tolist(),
        _rejections(verdict),
        _checks(verdict),
        _of_feasible(verdict, verdict.raw_scores),
        _of_feasible(verdict, verdict.scores),
        _plugins(verdict),
        _of_feasible(verdict, verdict.total),
        strict=True,
    )
    return [
        {
            "name": name,
            "feasible": feasible,
            "rejections": rejections,
            "checks": checks,
            "rawScore": raw_score,
            "score": score,
            "plugins": plugins,
            "total": total,
        }
        for name, feasible, rejections, checks, raw_score, score, plugins, total in rows
    ]


def _plugins(verdict: SchedulingResult) -> list[dict[str, score_answer.PluginScore] | None]:
    """Return the scores of every score plugin for each node, None where a node is not feasible."""
    columns = [
        (str(scores.plugin), scores.raw.tolist(), scores.normalized.tolist(), scores.weighted.tolist())
        for scores in verdict.plugin_scores
    ]
    return [
        {
            plugin: {"raw": raw[node], "normalized": normalized[node], "weighted": weighted[node]}
            for plugin, raw, normalized, weighted in columns
        }
        if feasible
        else None
        for node, feasible in enumerate(verdict.feasible.tolist())
    ]


def _of_feasible(verdict: SchedulingResult, scores: NDArray[np.int64] | None) -> list[int | None]:
    """Return scores by node, None where a node is not feasible or nothing was scored."""
    if scores is None:
        return [None] * len(verdict.names)
    pairs = zip(scores.tolist(), verdict.feasible.tolist(), strict=True)
    return [score if feasible else None for score, feasible in pairs]


def _rejections(verdict: SchedulingResult) -> list[list[score_answer.NodeRejection]]:
    """Return the rejections of each node by its plugins."""
    refusing = [refusals for refusals in verdict.rejections if refusals.of_node.any()]

    def rejections(node: int) -> list[score_answer.NodeRejection]:
        said = ((refusals, int(refusals.of_node[node])) for refusals in refusing)
        told = ((refusals.plugin, refusals.reasons[number - 1]) for refusals, number in said if number)
        return [{"plugin": plugin, "reason": str(reason), "code": reason.code} for plugin, reason in told]

    return _tell(rejections, [refusals.of_node for refusals in refusing], len(verdict.names))


def _checks(verdict: SchedulingResult) -> list[list[score_answer.ConstraintCheck]]:
    """Return the checks of each hard constraint on each node. Nodes of the same domains see the same."""
    hard = [(at, result) for at, result in enumerate(verdict.results) if isinstance(result, FilterResult)]
    checkers = [_checker(at, result) for at, result in hard]

    def checks(node: int) -> list[score_answer.ConstraintCheck]:
        return [check(node) for check in checkers]

    return _tell(checks, [result.domains.of_node for _, result in hard], len(verdict.names))


def _checker(constraint: int, result: FilterResult) -> Callable[[int], score_answer.ConstraintCheck]:
    """Return the function that returns the check of a constraint on a node."""
    # As lists: each number of an array would cost as much as the rest of its check.
    of_node, values = result.domains.of_node.tolist(), result.domains.values
    matching, skew, satisfied = (
        result.domains.matching.tolist(),
        result.skew.tolist(),
        result.satisfied.tolist(),
    )

    def check(node: int) -> score_answer.ConstraintCheck:
        domain = of_node[node]
        lacking = domain == MISSING
        return {
            "constraint": constraint,
            "domain": None if lacking else values[domain],
            "matching": 0 if lacking else matching[domain],
            "selfMatch": result.applied.self_match,
            "globalMinimum": result.minimum,
            "skew": None if lacking else skew[node],
            "maxSkew": result.applied.constraint.max_skew,
            "satisfied": satisfied[node],
        }

    return check


def _tell(tell: Callable[[int], list[_Told]], columns: list[NDArray[Any]], size: int) -> list[list[_Told]]:
    """Return the entries of each of ``size`` nodes; those alike in every column share them.

    Args:
        tell: Returns the entries of one node.
        columns: What makes nodes differ, each of shape ``(n,)``.
        size: How many nodes there are.
    """
    if not columns:
        return [[]] * size
    told: dict[tuple[int, ...], list[_Told]] = {}
    everything = []
    for node, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        found = told.get(key)
        if found is None:
            found = told[key] = tell(node)
        everything.append(found)
    return everything
