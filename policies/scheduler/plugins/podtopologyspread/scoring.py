"""ScheduleAnyway constraints: how PodTopologySpread scores the feasible nodes; lower raw scores are better.

Source: ``podtopologyspread/scoring.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from policies.model.constraint import WhenUnsatisfiable
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.eligibility import eligible_nodes, required_keys
from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.normalize import MAX_SCORE, NodeScores, round_half_away
from policies.scheduler.plugins.podtopologyspread.counting import (
    count_domains,
    count_on_nodes,
    eligible_domains,
)
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.result import ScoreResult


@dataclass(frozen=True, slots=True)
class SpreadScores:
    """The scores of the nodes, and what they are made of.

    Attributes:
        nodes: 0 where a node is not feasible or is ignored.
        counts: What each soft constraint is made of, in their order.
    """

    nodes: NodeScores
    counts: tuple[ScoreResult, ...]


def score_nodes(view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> SpreadScores:
    """Score the feasible nodes by the soft constraints.

    Without a feasible node there are no weights, but the domains are counted all the same.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        feasible: The nodes that pass every filter, shape ``(n,)``.
    """
    scored = feasible & view.with_labels(_keys(request))
    counts = count_soft(view, request, scored)
    total = np.zeros(len(view.slots))
    for result in counts:
        scores = result.matching * (result.weight or 0.0)
        scores += result.applied.constraint.max_skew - 1
        label = view.label(result.applied.constraint.topology_key)
        total += scores if label.everywhere else np.where(label.present, scores, 0.0)
    raw = np.where(scored, round_half_away(total), 0)
    return SpreadScores(NodeScores(raw, normalize(raw, scored)), counts)


def count_soft(
    view: NodeView, request: SchedulingRequest, scored: NDArray[np.bool_]
) -> tuple[ScoreResult, ...]:
    """Return the counts and weights of each soft constraint, in their order.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        scored: The nodes that are scored, on which the weights depend but no count; shape ``(n,)``.
    """
    keys = _keys(request)
    soft = (applied for applied in request.constraints if not applied.is_hard)
    return tuple(_count(applied, view, request, keys=keys, scored=scored) for applied in soft)


def _keys(request: SchedulingRequest) -> frozenset[str]:
    """Return the labels without which a node is not scored."""
    constraints = (applied.constraint for applied in request.constraints)
    return required_keys(constraints if request.requires_all_keys else (), WhenUnsatisfiable.SCHEDULE_ANYWAY)


def _count(
    applied: AppliedConstraint,
    view: NodeView,
    request: SchedulingRequest,
    *,
    keys: frozenset[str],
    scored: NDArray[np.bool_],
) -> ScoreResult:
    key = applied.constraint.topology_key
    label, on_nodes = view.label(key), count_on_nodes(applied, view, request.behavior)
    if key == HOSTNAME:
        # The node itself is the domain, and the inclusion policies do not matter.
        eligible = view.derive(("hosts", keys), lambda: eligible_domains(label, view.with_labels(keys)))
        domains = count_domains(eligible, on_nodes)
        matching, size = on_nodes, int(np.count_nonzero(scored))
    else:
        values = view.derive(("empty", key), lambda: _missing_as_empty(label))
        constraint, behavior = applied.constraint, request.behavior
        eligible = view.derive(
            ("eligible or empty", constraint, keys, behavior, *view.eligibility),
            lambda: eligible_domains(values, eligible_nodes(constraint, view, keys=keys, behavior=behavior)),
        )
        domains = replace(count_domains(eligible, on_nodes), of_node=label.numbers)
        matching = label.by_node(domains.matching)
        size = int(np.count_nonzero(np.bincount(values.positions[scored])))
    # Without a node to score there is no domain either.
    weight = math.log(size + 2) if size else None
    return ScoreResult(applied=applied, domains=domains, weight=weight, matching=matching)


def _missing_as_empty(label: LabelView) -> LabelView:
    """Return a label as Go reads a map: where it is missing it is empty, and so one domain with empty ones.

    Only under the system defaults do nodes without the label take part.
    """
    if label.everywhere:
        return label
    texts = label.texts if "" in label.number_of else (*label.texts, "")
    empty = label.number_of.get("", len(label.texts))
    return replace(label, numbers=np.where(label.present, label.numbers, empty), texts=texts)


def normalize(raw: NDArray[np.int64], scored: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Bring raw scores to 0 to 100, higher is better: ``100 * (max + min - raw) / max`` in integers.

    Args:
        raw: Raw scores, shape ``(n,)``.
        scored: The nodes that count; the others get 0. Shape ``(n,)``.

    >>> normalize(np.array([3, 0, 9]), np.array([True, True, False]))
    array([  0, 100,   0])
    """
    among = raw[scored]
    if not len(among):
        return np.zeros_like(raw)
    worst, best = int(among.max()), int(among.min())
    if worst == 0:
        return np.where(scored, MAX_SCORE, 0)
    return np.where(scored, MAX_SCORE * (worst + best - raw) // worst, 0)
