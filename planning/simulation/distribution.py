"""How the end of a simulation varies with the choices among equally good nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planning.simulation.domain_changes import DomainChange
from planning.simulation.simulate import Simulation
from policies.manifests.wire import INTERNAL, Count, SentAs, sent
from policies.scheduler.skew import skew


class SkewRuns(NamedTuple):
    """Runs that ended with the same skew."""

    skew: Count  #: The skew.
    runs: Count  #: How many runs.


class PendingRuns(NamedTuple):
    """Runs in which equally many pods stayed pending."""

    pods: Count  #: How many pods.
    runs: Count  #: How many runs.


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSpread:
    """The domains of a constraint at the ends of many simulations."""

    #: The constraint, and what the first simulation made of its domains.
    change: Annotated[DomainChange, INTERNAL]
    least: Mapping[str, Count]  #: The fewest matching pods of each domain.
    median: Mapping[str, Count]  #: The median, the lower one of two.
    most: Mapping[str, Count]  #: The most.
    skews: Annotated[Mapping[int, int], INTERNAL]  #: In how many simulations each skew came out.

    @property
    @sent
    def skew_runs(self) -> Annotated[tuple[SkewRuns, ...], SentAs("skews")]:
        """In how many runs each skew came out."""
        return tuple(SkewRuns(*entry) for entry in self.skews.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The ends of many simulations of one queue."""

    runs: Annotated[Count, SentAs("done")]  #: How many simulations there were.
    #: In how many of them each number of pods stayed pending.
    pending: Annotated[Mapping[int, int], INTERNAL]
    domains: tuple[DomainSpread, ...]  #: Of each constraint, in the order of ``Simulation.domains``.

    @property
    @sent
    def pending_runs(self) -> Annotated[tuple[PendingRuns, ...], SentAs("pending")]:
        """In how many runs each number of pods stayed pending."""
        return tuple(PendingRuns(*entry) for entry in self.pending.items())


class DistributionTally:
    """Adds up the ends of simulations, of which it keeps the counts alone."""

    def __init__(self) -> None:
        self._first: Simulation | None = None
        self._pending: Counter[int] = Counter()
        self._counts: list[list[NDArray[np.int64]]] = []

    def add(self, simulation: Simulation) -> None:
        """Add a simulation of the same queue on the same cluster as those before."""
        if self._first is None:
            self._first = simulation
            self._counts = [[] for _ in simulation.domains]
        self._pending[simulation.pending] += 1
        for counts, change in zip(self._counts, simulation.domains, strict=True):
            # The same domains in the same order: nodes do not change.
            counts.append(np.array(list(change.after.values()), np.int64))

    def distribution(self) -> Distribution:
        """Return the distribution over all runs that were added."""
        changes = () if self._first is None else self._first.domains
        return Distribution(
            runs=self._pending.total(),
            pending=dict(sorted(self._pending.items())),
            domains=tuple(
                _spread(change, np.array(counts))
                for change, counts in zip(changes, self._counts, strict=True)
            ),
        )


def _spread(change: DomainChange, counts: NDArray[np.int64]) -> DomainSpread:
    """Return the distribution of a constraint's counts over all runs.

    Args:
        change: The constraint.
        counts: The matching pods at each end, shape ``(runs, domains)``.
    """
    ordered = np.sort(counts, axis=0)
    rows = (ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])
    least, median, most = (dict(zip(change.after, row.tolist(), strict=True)) for row in rows)
    skews = Counter(skew(change.applied, row) for row in counts)
    return DomainSpread(
        change=change,
        least=least,
        median=median,
        most=most,
        skews=dict(sorted(skews.items())),
    )
