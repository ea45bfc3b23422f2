"""The result of scheduling one pod as one JSON object: every plugin's answer on every node, for programs.

A cluster has thousands of nodes and few kinds of them, so what alike nodes share is built once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from planning.explain import score_answer
from planning.explain.score_profile import not_modeled
from policies.manifests.wire import dumps
from policies.pods.placement import Placement
from policies.scheduler.node_table import MISSING
from policies.scheduler.releases import judged_as
from policies.scheduler.result import DomainCounts, FilterResult, SchedulingResult, ScoreResult

#: The entry of a node.
_Told = TypeVar("_Told")


def render(placement: Placement) -> bytes:
    """Return a placement's result as one line of JSON, without its end.

    Numbers are the scheduler's, nodes and domains are sorted by name.
    """
    result = placement.result
    profile = result.request.profile
    answer = score_answer.ScoreAnswer(
        kubernetes_version=placement.version,
        judged_as=judged_as(placement.version).exact,
        dropped=placement.dropped,
        revision=placement.revision,
        pre_filter=result.pre_filter,
        pre_score=result.pre_score,
        constraints=list(map(_constraint, result.results)),
        nodes=_nodes(result),
        feasible_nodes=result.feasible_count,
        best=[result.names[node] for node in result.best],
        message=result.message,
        condition=result.condition,
        preemption=result.preemption,
        profile=score_answer.UsedProfile.of(profile),
        not_modeled=[*result.request.pod.unmodeled, *result.unread, *not_modeled(profile)],
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


def _nodes(result: SchedulingResult) -> list[score_answer.ScoredNode]:
    rows = zip(
        result.names,
        result.feasible.tolist(),
        _rejections(result),
        _checks(result),
        _of_feasible(result, result.raw_scores),
        _of_feasible(result, result.scores),
        _plugins(result),
        _of_feasible(result, result.total),
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


def _plugins(result: SchedulingResult) -> list[dict[str, score_answer.PluginScore] | None]:
    """Return the scores of every score plugin for each node, None where a node is not feasible."""
    columns = [
        (str(scores.plugin), scores.raw.tolist(), scores.normalized.tolist(), scores.weighted.tolist())
        for scores in result.plugin_scores
    ]
    return [
        {
            plugin: {"raw": raw[node], "normalized": normalized[node], "weighted": weighted[node]}
            for plugin, raw, normalized, weighted in columns
        }
        if feasible
        else None
        for node, feasible in enumerate(result.feasible.tolist())
    ]


def _of_feasible(result: SchedulingResult, scores: NDArray[np.int64] | None) -> list[int | None]:
    """Return scores by node, None where a node is not feasible or nothing was scored."""
    if scores is None:
        return [None] * len(result.names)
    pairs = zip(scores.tolist(), result.feasible.tolist(), strict=True)
    return [score if feasible else None for score, feasible in pairs]


def _rejections(result: SchedulingResult) -> list[list[score_answer.NodeRejection]]:
    """Return the rejections of each node by its plugins."""
    plugins = [each for each in result.rejections if each.of_node.any()]

    def rejections(node: int) -> list[score_answer.NodeRejection]:
        numbers = ((each, int(each.of_node[node])) for each in plugins)
        reasons = ((each.plugin, each.reasons[number - 1]) for each, number in numbers if number)
        return [{"plugin": plugin, "reason": str(reason), "code": reason.code} for plugin, reason in reasons]

    return _report(rejections, [each.of_node for each in plugins], len(result.names))


def _checks(result: SchedulingResult) -> list[list[score_answer.ConstraintCheck]]:
    """Return the checks of each hard constraint on each node. Nodes of the same domains see the same."""
    hard = [(at, spread) for at, spread in enumerate(result.results) if isinstance(spread, FilterResult)]
    checkers = [_checker(at, spread) for at, spread in hard]

    def checks(node: int) -> list[score_answer.ConstraintCheck]:
        return [check(node) for check in checkers]

    return _report(checks, [spread.domains.of_node for _, spread in hard], len(result.names))


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


def _report(tell: Callable[[int], list[_Told]], columns: list[NDArray[Any]], size: int) -> list[list[_Told]]:
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
