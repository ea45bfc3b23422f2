"""A summary of a scheduling result: domains, groups of rejected nodes, and where the pod would go.

Numbers and names only; the wording is that of the reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.scheduler.domain_stats import ConstraintStats, constraint_stats
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.rejections import EXAMPLES, RejectedNodes, rejected_nodes
from policies.scheduler.result import SchedulingResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Feasible nodes of one score.

    Attributes:
        score: Of PodTopologySpread, 0 to 100; None where nothing was scored.
        points: What the score adds to a node's total: times its weight in the profile.
        count: How many nodes.
        examples: The first of their names.
    """

    score: Count | None
    points: Annotated[int, INTERNAL]
    count: Annotated[Count, SentAs("nodes")]
    examples: tuple[str, ...]

    @property
    @sent
    def weighted(self) -> Annotated[Count | None, SentAs("points")]:
        """The score times its weight in the profile; None where nothing was scored."""
        return None if self.score is None else self.points


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The summary.

    Attributes:
        constraints: What was counted for each constraint in force, in their order.
        rejected: The nodes that are rejected, the largest group first.
        tiers: The feasible nodes, the best score first; one tier without a score where nothing was scored.
    """

    constraints: tuple[ConstraintStats, ...]
    rejected: tuple[RejectedNodes, ...]
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
            constraints=constraint_stats(result),
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
