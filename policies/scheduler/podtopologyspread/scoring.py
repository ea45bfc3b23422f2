"""ScheduleAnyway constraints: how PodTopologySpread scores the feasible nodes; lower raw scores are better.

Source: ``podtopologyspread/scoring.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.podtopologyspread.counting import PodCounts, by_node, count_domains
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import ScoreResult

#: The best score a plugin gives: ``MaxNodeScore``.
MAX_SCORE: Final = 100
#: The key whose domains are the nodes themselves, whatever values they carry.
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of the nodes, 0 where a node is not feasible or is ignored; both of shape ``(n,)``."""

    raw: NDArray[np.int64]
    normalized: NDArray[np.int64]


def score_soft(
    soft: list[AppliedConstraint],
    view: NodeView,
    counts: PodCounts,
    *,
    feasible: NDArray[np.bool_],
    requires_all_keys: bool,
) -> tuple[list[ScoreResult], Scores]:
    """Score the feasible nodes by the soft constraints.

    Args:
        soft: At least one.
        view: The nodes.
        counts: Matching pods on the nodes.
        feasible: The nodes that pass every filter, shape ``(n,)``. Without any there are no weights, but the
            domains are told all the same.
        requires_all_keys: Whether a node without one of the keys is ignored.
    """
    everywhere = np.ones(len(view.slots), np.bool_)
    carriers = view.having([a.constraint.topology_key for a in soft]) if requires_all_keys else everywhere
    scored = feasible & carriers
    results = [_count(applied, view, counts, carriers=carriers, scored=scored) for applied in soft]
    total = np.zeros(len(view.slots))
    for result in results:
        total += np.where(
            result.domains.of_node == MISSING,
            0.0,
            result.matching * (result.weight or 0.0) + (result.applied.constraint.max_skew - 1),
        )
    raw = np.where(scored, round_half_away(total), 0)
    return results, Scores(raw, normalize(raw, scored))


def _count(
    applied: AppliedConstraint,
    view: NodeView,
    counts: PodCounts,
    *,
    carriers: NDArray[np.bool_],
    scored: NDArray[np.bool_],
) -> ScoreResult:
    key = applied.constraint.topology_key
    label, on_nodes = view.label(key), counts.on_nodes(applied.selector)
    if key == HOSTNAME:
        # The node itself is the domain, and the inclusion policies do not matter.
        domains = count_domains(label, carriers, on_nodes)
        matching, size = on_nodes, int(np.count_nonzero(scored))
    else:
        values = _missing_as_empty(label)
        domains = count_domains(values, view.taking_part(applied.constraint, carriers), on_nodes)
        domains = replace(domains, of_node=label.numbers)
        matching = by_node(domains.matching, label.numbers)
        size = len(np.unique(values.numbers[scored]))
    weight = math.log(size + 2) if scored.any() else None
    return ScoreResult(applied=applied, domains=domains, weight=weight, matching=matching)


def _missing_as_empty(label: LabelView) -> LabelView:
    """Return a label as Go reads a map: where it is missing it is empty, and so one domain with empty ones.

    Only under the system defaults do nodes without the label take part.
    """
    if label.present.all():
        return label
    texts = label.texts if "" in label.number_of else [*label.texts, ""]
    empty = label.number_of.get("", len(label.texts))
    return replace(label, numbers=np.where(label.present, label.numbers, empty), texts=texts)


def round_half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to the nearest integer, halves away from zero as Go's ``math.Round`` (``np.rint`` makes 0.5 0).

    >>> round_half_away(np.array([0.5, 1.5, 0.49999999999999994, -2.5]))
    array([ 1,  2,  0, -3])
    """
    whole = np.trunc(values)
    away = np.abs(values - whole) >= 0.5
    return (whole + np.where(away, np.copysign(1.0, values), 0.0)).astype(np.int64)


def normalize(raw: NDArray[np.int64], scored: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Bring raw scores to 0 to 100, higher is better: ``100 * (max + min - raw) / max`` in integers.

    Args:
        raw: Raw scores, shape ``(n,)``.
        scored: The nodes that count; the others get 0. Shape ``(n,)``.

    >>> normalize(np.array([3, 0, 9]), np.array([True, True, False]))
    array([  0, 100,   0])
    """
    if not scored.any():
        return np.zeros_like(raw)
    worst, best = int(raw[scored].max()), int(raw[scored].min())
    if worst == 0:
        return np.where(scored, MAX_SCORE, 0)
    return np.where(scored, MAX_SCORE * (worst + best - raw) // worst, 0)
