"""Where other plugins outvote PodTopologySpread, and with what it would have won."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: Evaluations that a search for a smaller maxSkew may take: a millisecond each with 5,000 nodes.
MOST_EVALUATIONS: Final = 16


@dataclass(frozen=True, slots=True)
class SmallerMaxSkew:
    """A smaller maxSkew of constraints in force, by their position, with which the spread would have won."""

    constraints: tuple[int, ...]
    max_skew: int


class OutvotingPlugin(NamedTuple):
    """A plugin that gives the chosen node more."""

    plugin: Plugin  #: The plugin.
    points: Count  #: How many points more.


@dataclass(frozen=True, slots=True, kw_only=True)
class OutvotedSpread:
    """A node that has the highest total though PodTopologySpread prefers others."""

    chosen: str  #: The first of the nodes with the highest total.
    preferred: str  #: Of the nodes with PodTopologySpread's highest score, the first with the highest total.
    margin: Count  #: By how many points the total of the chosen node is higher.
    #: The plugins that give the chosen node more points, those that give most first.
    gains: Annotated[tuple[OutvotingPlugin, ...], SentAs("plugins")]
    weight: int  #: The smallest weight of PodTopologySpread with which no other node would have won.
    #: The largest of the smaller values that were tried with which no other node would have won; None if none
    #: was found.
    max_skew: Annotated[SmallerMaxSkew | None, INTERNAL]
    complete: bool  #: Whether every constraint was tried; otherwise the search ended before.

    @property
    @sent
    def smaller_max_skew(self) -> Annotated[Count | None, SentAs("maxSkew")]:
        """A smaller maxSkew with which the spread would have won; None if none was found."""
        return None if self.max_skew is None else self.max_skew.max_skew

    @property
    @sent
    def max_skew_of(self) -> tuple[int, ...]:
        """The positions of the constraints that it is of."""
        return () if self.max_skew is None else self.max_skew.constraints


def find_outvoted(result: SchedulingResult, cluster: ClusterIndex) -> OutvotedSpread | None:
    """Return how PodTopologySpread is outvoted; None if a node that it prefers has the highest total.

    Args:
        result: The result.
        cluster: The cluster that was evaluated, unchanged since.
    """
    if result.scores is None or not result.best:
        return None
    scores = np.where(result.feasible, result.scores, -1)
    preferred = scores == scores.max()
    total, chosen = result.total, result.best[0]
    if preferred[result.best].any():
        return None
    rival = int(np.argmax(np.where(preferred, total, np.iinfo(np.int64).min)))
    gains = [
        OutvotingPlugin(each.plugin, int(each.weighted[chosen] - each.weighted[rival]))
        for each in result.plugin_scores
    ]
    search = _Search(result, cluster, preferred)
    return OutvotedSpread(
        chosen=result.names[chosen],
        preferred=result.names[rival],
        margin=int(total[chosen] - total[rival]),
        gains=tuple(sorted((gain for gain in gains if gain.points > 0), key=lambda gain: -gain.points)),
        weight=_winning_weight(result, preferred, rival),
        max_skew=search.run(),
        complete=search.complete,
    )


def _winning_weight(result: SchedulingResult, preferred: NDArray[np.bool_], rival: int) -> int:
    """Return the smallest weight with which the total of no other node reaches that of a preferred one.

    A preferred node ``p`` is ahead of another ``n`` if ``others(p) + weight * score(p)`` is more than
    ``others(n) + weight * score(n)``: from ``(others(n) - others(p)) // (score(p) - score(n)) + 1`` on.
    """
    if result.scores is None:
        raise ValueError("nothing was scored")
    weight = result.request.profile.weight(Plugin.POD_TOPOLOGY_SPREAD)
    others = result.total - weight * result.scores
    against = result.feasible & ~preferred
    lead = (others - others[rival])[against]
    gap = (result.scores[rival] - result.scores)[against]
    return int((lead // gap).max()) + 1


class _Search:
    """Tries smaller values of maxSkew: of each soft constraint alone, then 1 for all of them."""

    def __init__(self, result: SchedulingResult, cluster: ClusterIndex, preferred: NDArray[np.bool_]) -> None:
        self._request, self._cluster, self._preferred = result.request, cluster, preferred
        self._left = MOST_EVALUATIONS
        #: Whether everything was tried.
        self.complete = True

    def run(self) -> SmallerMaxSkew | None:
        """Return the change that gives up least; None if none was found."""
        soft = [
            position
            for position, applied in enumerate(self._request.constraints)
            if not applied.is_hard and applied.constraint.max_skew > 1
        ]
        for position in soft:
            if self._wins((position,), 1):
                return SmallerMaxSkew((position,), self._largest(position))
        if len(soft) > 1 and self._wins(tuple(soft), 1):
            return SmallerMaxSkew(tuple(soft), 1)
        return None

    def _largest(self, position: int) -> int:
        """Return the largest value found with which the spread wins, as it does with 1."""
        low, high = 1, self._request.constraints[position].constraint.max_skew
        while high - low > 1 and self._left:
            middle = (low + high) // 2
            if self._wins((position,), middle):
                low = middle
            else:
                high = middle
        return low

    def _wins(self, positions: tuple[int, ...], max_skew: int) -> bool:
        """Return whether only preferred nodes have the highest total with a maxSkew of some constraints."""
        if not self._left:
            self.complete = False
            return False
        self._left -= 1
        best = evaluate(_with_max_skew(self._request, positions, max_skew), self._cluster).best
        return bool(self._preferred[best].all())


def _with_max_skew(
    request: SchedulingRequest, positions: tuple[int, ...], max_skew: int
) -> SchedulingRequest:
    constraints = tuple(
        applied._replace(constraint=replace(applied.constraint, max_skew=max_skew))
        if position in positions
        else applied
        for position, applied in enumerate(request.constraints)
    )
    return replace(request, constraints=constraints)
