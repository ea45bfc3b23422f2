"""The domains of each constraint, with what the plugin counted in them, and a summary of a scheduling result.

The summary has groups of rejected nodes, and where the pod would go. Numbers and names only; the wording is
that of the reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from policies.manifests.wire import INLINE, INTERNAL, Count, SentAs, sent
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.rejections import EXAMPLES, RejectedNodes, rejected_nodes
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import FilterResult, SchedulingResult, ScoreResult
from policies.scheduler.skew import skew

#: Domains up to which all are listed: half the lines of a terminal.
LISTED_DOMAINS: Final = 12
#: How many of the worst and of the best are listed where there are more.
LISTED_EXTREMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainStats:
    """One domain."""

    value: str  #: The label's value.
    matching: Count  #: Matching pods on the nodes that count.
    nodes: Count  #: Nodes that count.
    counted: bool  #: Whether any node counts; otherwise the domain does not exist for the minimum.
    skew: int | None  #: What the domain would be above the minimum with the pod; None for a soft constraint.
    fits: bool | None  #: Whether that is within maxSkew; None for a soft constraint.
    feasible: Annotated[Count, SentAs("feasibleNodes")]  #: Nodes of the domain that every plugin lets pass.


@dataclass(frozen=True, slots=True)
class EqualDomains:
    """Counted domains with equally many matching pods."""

    matching: Count  #: How many matching pods each has.
    domains: Count  #: How many these domains are.
    #: How many of them have a node that every plugin lets pass.
    feasible: Annotated[Count, SentAs("feasibleDomains")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintStats:
    """One constraint."""

    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    #: Whether no pod can ever match: there is no selector, or one that the release ignores.
    counts_nothing: bool
    #: The global minimum; None for a soft constraint.
    minimum: Annotated[Count | None, SentAs("globalMinimum")]
    skew_now: Count  #: The skew before the pod is placed.
    #: What a matching pod adds to raw scores; None for a hard one, or where nothing was scored.
    weight: float | None
    domain_count: Count  #: Domains that exist.
    lacking_nodes: Annotated[Count, SentAs("nodesWithoutKey")]  #: Nodes without the topology key.
    #: Nodes with the key that do not count: because of an inclusion policy, or because they lack the key of
    #: another constraint.
    left_out_nodes: Annotated[Count, SentAs("nodesLeftOut")]
    histogram: tuple[EqualDomains, ...]  #: The domains that exist by their matching pods, fewest first.
    #: All domains by value; or, where they are many, the worst, then the best.
    domains: tuple[DomainStats, ...]
    #: Whether that is all of them, also those that nodes carry which do not count.
    all_listed: Annotated[bool, SentAs("allDomains")]

    @property
    @sent
    def match_label_keys(self) -> tuple[str, ...]:
        """Keys whose value on the pod narrows the selector."""
        return self.applied.constraint.match_label_keys


def _stats(result: SchedulingResult, spread: FilterResult | ScoreResult) -> ConstraintStats:
    """Return the counts of a constraint by domain."""
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
        counts_nothing=spread.applied.counted is None,
        minimum=spread.minimum if isinstance(spread, FilterResult) else None,
        skew_now=skew(spread.applied, domains.matching[existing]),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Feasible nodes of one score."""

    score: Count | None  #: Of PodTopologySpread, 0 to 100; None where nothing was scored.
    #: What the score adds to a node's total: times its weight in the profile.
    points: Annotated[int, INTERNAL]
    count: Annotated[Count, SentAs("nodes")]  #: How many nodes.
    examples: tuple[str, ...]  #: The first of their names.

    @property
    @sent
    def weighted(self) -> Annotated[Count | None, SentAs("points")]:
        """The score times its weight in the profile; None where nothing was scored."""
        return None if self.score is None else self.points


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The summary."""

    #: What was counted for each constraint in force, in their order.
    constraints: tuple[ConstraintStats, ...]
    rejected: tuple[RejectedNodes, ...]  #: The nodes that are rejected, the largest group first.
    #: The feasible nodes, the best score first; one tier without a score where nothing was scored.
    tiers: tuple[Tier, ...]

    @property
    def lead(self) -> int | None:
        """By how many points of a node's total the best tier is ahead; None without a second one."""
        return self.tiers[0].points - self.tiers[1].points if len(self.tiers) > 1 else None


def explain(result: SchedulingResult, index: ClusterIndex, *, examples: int = EXAMPLES) -> Explanation:
    """Summarize a scheduling result.

    Args:
        result: The result.
        index: The cluster that was evaluated, unchanged since: use one ``ClusterIndex.reading`` for both.
        examples: How many nodes of a group are named.
    """
    with index.reading():
        view = NodeView(index, result.request.pod)
        return Explanation(
            constraints=tuple(_stats(result, spread) for spread in result.results),
            rejected=tuple(rejected_nodes(result, view, examples=examples)),
            tiers=tuple(_tiers(result, examples)),
        )


def _tiers(result: SchedulingResult, named: int) -> Iterator[Tier]:
    feasible = np.flatnonzero(result.feasible)
    # Where there is one feasible node, or none, the scheduler scores nothing: schedulePod, schedule_one.go.
    scores = result.scores[feasible] if result.scores is not None and len(feasible) > 1 else None
    weight = result.request.profile.weight(Plugin.POD_TOPOLOGY_SPREAD)
    best_first = [None] if scores is None else sorted(set(scores.tolist()), reverse=True)
    for score in best_first if len(feasible) else ():
        nodes = feasible if scores is None else feasible[scores == score]
        examples = tuple(result.names[node] for node in nodes[:named].tolist())
        yield Tier(score=score, points=weight * (score or 0), count=len(nodes), examples=examples)
