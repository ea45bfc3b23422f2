"""ScheduleAnyway constraints: how PodTopologySpread scores the feasible nodes; lower raw scores are better.

Source: ``podtopologyspread/scoring.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.constraint import WhenUnsatisfiable
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.resource_view import Identity
from policies.scheduler.result import (
    MAX_SCORE,
    DomainCounts,
    EligibleDomains,
    NodeScores,
    ScoreResult,
    round_half_away,
)
from policies.scheduler.workload_topology import eligible_nodes, required_keys


@dataclass(frozen=True, slots=True)
class SpreadScores:
    """The scores of the nodes, and what they are made of."""

    nodes: NodeScores  #: 0 where a node is not feasible or is ignored.
    counts: tuple[ScoreResult, ...]  #: What each soft constraint is made of, in their order.


def score_nodes(view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> SpreadScores:
    """Score the feasible nodes by the soft constraints.

    Without a feasible node there are no weights, but the domains are counted all the same.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        feasible: The nodes that pass every filter, shape ``(n,)``.
    """
    soft = soft_constraints(view, request)
    scored = feasible if soft.everywhere else feasible & soft.labeled
    counts = count_soft(view, request, scored)
    total = np.zeros(len(view.slots))
    for result, each in zip(counts, soft.constraints, strict=True):
        scores = result.matching * (result.weight or 0.0)
        scores += result.applied.constraint.max_skew - 1
        total += scores if each.label.everywhere else np.where(each.label.present, scores, 0.0)
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
    return tuple(_count(each, view, scored) for each in soft_constraints(view, request).constraints)


class Soft(NamedTuple):
    """The parts of a soft constraint that do not depend on pods."""

    applied: AppliedConstraint  #: The constraint.
    label: LabelView  #: The topology key's values.
    values: LabelView  #: The same as the size counts them: see ``_missing_as_empty``.
    domains: EligibleDomains  #: The domains.


class _SoftConstraints(NamedTuple):
    """The soft constraints of a request, which nodes have the labels to be scored, and whether all have."""

    constraints: tuple[Soft, ...]
    labeled: NDArray[np.bool_]
    everywhere: bool


def soft_constraints(view: NodeView, request: SchedulingRequest) -> _SoftConstraints:
    """Return the soft constraints of a request, with what of the nodes they are made of."""
    return view.of_request("soft constraints", request, lambda: _find_soft_constraints(view, request))


def _find_soft_constraints(view: NodeView, request: SchedulingRequest) -> _SoftConstraints:
    constraints = (applied.constraint for applied in request.constraints)
    keys = required_keys(constraints if request.requires_all_keys else (), WhenUnsatisfiable.SCHEDULE_ANYWAY)
    labeled = view.with_labels(keys)
    soft = (applied for applied in request.constraints if not applied.is_hard)
    found = tuple(_find_soft(applied, view, request, keys) for applied in soft)
    return _SoftConstraints(found, labeled, bool(labeled.all()))


def _find_soft(
    applied: AppliedConstraint, view: NodeView, request: SchedulingRequest, keys: frozenset[str]
) -> Soft:
    constraint, behavior = applied.constraint, request.behavior
    key = constraint.topology_key
    label = values = view.label(key)
    if key == HOSTNAME:
        # The inclusion policies do not matter.
        domains = view.derive(("hosts", keys), lambda: EligibleDomains.of(label, view.with_labels(keys)))
    else:
        values = view.derive(("empty", key), lambda: _missing_as_empty(label))
        policies = constraint.node_affinity_policy, constraint.node_taints_policy
        domains = view.derive(
            ("eligible or empty", key, *policies, keys, Identity(behavior), *view.eligibility),
            lambda: EligibleDomains.of(
                values, eligible_nodes(constraint, view, keys=keys, behavior=behavior)
            ),
        )
    return Soft(applied, label, values, domains)


def _count(soft: Soft, view: NodeView, scored: NDArray[np.bool_]) -> ScoreResult:
    on_nodes = view.count_pods(soft.applied.counted)
    domains = DomainCounts(eligible=soft.domains, of_node=soft.label.numbers, on_nodes=on_nodes)
    if soft.applied.constraint.topology_key == HOSTNAME:
        # The node itself is the domain.
        matching, size = on_nodes, int(np.count_nonzero(scored))
    else:
        matching = soft.label.by_node(domains.matching)
        size = soft.values.count_values(scored)
    # Without a node to score there is no domain either.
    weight = math.log(size + 2) if size else None
    return ScoreResult(applied=soft.applied, domains=domains, weight=weight, matching=matching)


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
    if not scored.any():
        return np.zeros_like(raw)
    # No raw score is below zero, so that those of nodes that do not count are not in the way.
    worst = int(np.where(scored, raw, 0).max())
    best = int(np.where(scored, raw, worst).min())
    if worst == 0:
        return np.where(scored, MAX_SCORE, 0)
    return np.where(scored, MAX_SCORE * (worst + best - raw) // worst, 0)
