"""The domains of each constraint, with what the plugin counted in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from policies.manifests.wire import INLINE, Count, SentAs, sent
from policies.scheduler.node_table import MISSING
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import FilterResult, SchedulingResult, ScoreResult

#: Domains up to which all are listed: half the lines of a terminal.
LISTED_DOMAINS: Final = 12
#: How many of the worst and of the best are listed where there are more.
LISTED_EXTREMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainStats:
    """One domain.

    Attributes:
        value: The label's value.
        matching: Matching pods on the nodes that count.
        nodes: Nodes that count.
        counted: Whether any node counts; otherwise the domain does not exist for the minimum.
        skew: What the domain would be above the minimum with the pod; None for a soft constraint.
        fits: Whether that is within maxSkew; None for a soft constraint.
        feasible: Nodes of the domain that every plugin lets pass.
    """

    value: str
    matching: Count
    nodes: Count
    counted: bool
    skew: int | None
    fits: bool | None
    feasible: Annotated[Count, SentAs("feasibleNodes")]


@dataclass(frozen=True, slots=True)
class EqualDomains:
    """Counted domains with equally many matching pods.

    Attributes:
        matching: How many matching pods each has.
        domains: How many these domains are.
        feasible: How many of them have a node that every plugin lets pass.
    """

    matching: Count
    domains: Count
    feasible: Annotated[Count, SentAs("feasibleDomains")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintStats:
    """One constraint.

    Attributes:
        applied: The constraint.
        counts_nothing: Whether no pod can ever match: there is no selector, or one that the release ignores.
        minimum: The global minimum; None for a soft constraint.
        weight: What a matching pod adds to raw scores; None for a hard one, or where nothing was scored.
        domain_count: Domains that exist.
        lacking_nodes: Nodes without the topology key.
        left_out_nodes: Nodes with the key that do not count: because of an inclusion policy, or because they
            lack the key of another constraint.
        histogram: The domains that exist by their matching pods, fewest first.
        domains: All domains by value; or, where they are many, the worst, then the best.
        all_listed: Whether that is all of them, also those that nodes carry which do not count.
    """

    applied: Annotated[AppliedConstraint, INLINE]
    counts_nothing: bool
    minimum: Annotated[Count | None, SentAs("globalMinimum")]
    weight: float | None
    domain_count: Count
    lacking_nodes: Annotated[Count, SentAs("nodesWithoutKey")]
    left_out_nodes: Annotated[Count, SentAs("nodesLeftOut")]
    histogram: tuple[EqualDomains, ...]
    domains: tuple[DomainStats, ...]
    all_listed: Annotated[bool, SentAs("allDomains")]

    @property
    @sent
    def match_label_keys(self) -> tuple[str, ...]:
        """Keys whose value on the pod narrows the selector."""
        return self.applied.constraint.match_label_keys


def constraint_stats(result: SchedulingResult) -> tuple[ConstraintStats, ...]:
    """Return the counts of each constraint by domain, in the order of the constraints."""
    return tuple(_stats(result, spread) for spread in result.results)


def _stats(result: SchedulingResult, spread: FilterResult | ScoreResult) -> ConstraintStats:
    domains = spread.domains
    lacking = int(np.count_nonzero(domains.of_node == MISSING))
    carried = np.bincount(domains.of_node[domains.of_node != MISSING], minlength=len(domains.values))
    existing = np.flatnonzero(domains.exists)
    labeled = result.feasible & (domains.of_node != MISSING)
    feasible = np.bincount(domains.of_node[labeled], minlength=len(domains.values))
    amounts, group, counts = np.unique(domains.matching[existing], return_inverse=True, return_counts=True)
    usable = np.bincount(group[feasible[existing] > 0], minlength=len(amounts))
    present = np.flatnonzero((carried > 0) | domains.exists)
    all_listed = len(present) <= LISTED_DOMAINS
    listed = present if all_listed else _extremes(spread, existing)
    return ConstraintStats(
        applied=spread.applied,
        counts_nothing=spread.applied.counts_nothing(result.request.behavior),
        minimum=spread.minimum if isinstance(spread, FilterResult) else None,
        weight=spread.weight if isinstance(spread, ScoreResult) else None,
        domain_count=len(existing),
        lacking_nodes=lacking,
        # Under the system defaults the empty domain takes in nodes without the key.
        left_out_nodes=len(result.names) - lacking - int(np.minimum(domains.nodes, carried).sum()),
        histogram=tuple(map(EqualDomains, amounts.tolist(), counts.tolist(), usable.tolist())),
        domains=tuple(_domains(spread, listed, feasible, by_value=all_listed)),
        all_listed=all_listed,
    )


def _extremes(result: FilterResult | ScoreResult, existing: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the domains with most matching pods, then those with fewest, each by value."""
    values, matching = result.domains.values, result.domains.matching.tolist()
    fewest_first = sorted(existing.tolist(), key=lambda domain: (matching[domain], values[domain]))
    # By value among equals, so that equal input gives equal output.
    most_first = sorted(existing.tolist(), key=lambda domain: (-matching[domain], values[domain]))
    # Of few domains that exist some are among the worst and the best.
    extremes = dict.fromkeys(most_first[:LISTED_EXTREMES] + fewest_first[:LISTED_EXTREMES])
    return np.array(list(extremes), np.intp)


def _domains(
    result: FilterResult | ScoreResult,
    listed: NDArray[np.intp],
    feasible: NDArray[np.intp],
    *,
    by_value: bool,
) -> Iterator[DomainStats]:
    values, domains = result.domains.values, result.domains
    numbers = listed.tolist()
    for domain in sorted(numbers, key=values.__getitem__) if by_value else numbers:
        matching = int(domains.matching[domain])
        skew = fits = None
        if isinstance(result, FilterResult):
            skew = matching + result.applied.self_match - result.minimum
            fits = skew <= result.applied.constraint.max_skew
        yield DomainStats(
            value=values[domain],
            matching=matching,
            nodes=int(domains.nodes[domain]),
            counted=bool(domains.exists[domain]),
            skew=skew,
            fits=fits,
            feasible=int(feasible[domain]),
        )
