"""How many pods must change their domain at least to be within maxSkew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.pods.placement import PreparedPod
from policies.scheduler.request import SchedulingRequest

#: Why nothing can be said of a workload: see ``runs_nowhere``.
RUNS_NOWHERE: Final = "no pod of the workload runs on a node that is known: there is nothing to judge"


def runs_nowhere(prepared: PreparedPod) -> bool:
    """Return whether no known node has a pod of a workload; False where its pods cannot be told."""
    selector = prepared.workload.own_pods
    return selector is not None and not prepared.cluster.count_nodes(prepared.request.pod.namespace, selector)


def least_moves(counts: Sequence[int], max_skew: int, min_domains: int = 1) -> int | None:
    """Return how many pods must change their domain at least; None where no move can help.

    >>> least_moves([5, 1, 0], 1), least_moves([2, 1], 1), least_moves([3, 3], 1, min_domains=3)
    (3, 0, None)
    """
    if not counts:
        return 0
    if len(counts) < min_domains:
        # The global minimum is 0.
        excess = sum(max(0, count - max_skew) for count in counts)
        return excess if sum(counts) <= max_skew * len(counts) else None
    best = sum(counts)
    for minimum in range(sum(counts) // len(counts) + 1):
        lacking = sum(max(0, minimum - count) for count in counts)
        excess = sum(max(0, count - minimum - max_skew) for count in counts)
        best = min(best, max(lacking, excess))
    return best


def constraint_moves(constraint: Constraint, counts: Iterable[int]) -> int | None:
    """Return how many pods must change their domain at least to be within a constraint's maxSkew."""
    hard = constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
    # minDomains has no meaning for a constraint that only scores.
    return least_moves(list(counts), constraint.max_skew, constraint.min_domains if hard else 1)


def spread_positions(request: SchedulingRequest, *, soft: bool) -> tuple[int, ...]:
    """Return the positions of the constraints that count the pod itself; of soft ones on request."""
    return tuple(
        position
        for position, applied in enumerate(request.constraints)
        if (applied.is_hard or soft) and applied.self_match
    )
