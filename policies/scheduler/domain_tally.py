"""The pods that each constraint of a request counts by domain, followed while pods are bound and deleted.

An evaluation counts them again; this keeps the counts between evaluations, as long as no node changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.result import DomainCounts
from policies.scheduler.skew import global_minimum, skew


class _Counted(NamedTuple):
    """One constraint: its domains, the domain of each node that counts, and the pods of each domain."""

    applied: AppliedConstraint
    domains: DomainCounts
    home: NDArray[np.intp]
    existing: NDArray[np.intp]
    matching: NDArray[np.int64]


class DomainTally:
    """The counts of a request's constraints, in their order."""

    def __init__(self, request: SchedulingRequest, cluster: ClusterIndex) -> None:
        """Count the pods of a cluster, whose nodes must not change afterwards."""
        self._request = request
        results = count_spread(request, cluster)
        self._positions = cluster.nodes.positions()
        self._selected: dict[frozenset[tuple[str, str]], tuple[int, ...]] = {}
        self._counted = [
            _Counted(
                applied=result.applied,
                domains=result.domains,
                home=result.domains.eligible.home_of_node(),
                existing=np.flatnonzero(result.domains.exists),
                matching=result.domains.matching.copy(),
            )
            for result in results
        ]

    def __len__(self) -> int:
        return len(self._counted)

    def selecting(self, labels: frozenset[tuple[str, str]]) -> tuple[int, ...]:
        """Return the positions of the constraints that count a pod with such labels."""
        found = self._selected.get(labels)
        if found is None:
            pairs = dict(labels)
            found = self._selected[labels] = tuple(
                position
                for position, counted in enumerate(self._counted)
                if (selector := counted.applied.counted) is not None and selector.matches(pairs)
            )
        return found

    def add(self, node: str, labels: frozenset[tuple[str, str]], amount: int) -> None:
        """Count a pod that is bound to a node, or with -1 no longer count it."""
        for position in self.selecting(labels) if node in self._positions else ():
            counted, home = self._home(position, node)
            if home != MISSING:
                counted.matching[home] += amount

    def recount(self, cluster: ClusterIndex) -> None:
        """Count the pods again, of the same nodes."""
        for counted, result in zip(self._counted, count_spread(self._request, cluster), strict=True):
            counted.matching[:] = result.domains.matching

    def skews(self) -> tuple[int, ...]:
        """Return the skew of each constraint."""
        return tuple(skew(counted.applied, counted.matching[counted.existing]) for counted in self._counted)

    def mark(self) -> list[NDArray[np.int64]]:
        """Return the counts as they are, of the domains that an eligible node has."""
        return [counted.matching[counted.existing] for counted in self._counted]

    def bounds_since(self, mark: list[NDArray[np.int64]]) -> tuple[int, ...]:
        """Return the largest skews on any way from a mark to now on which no count goes back and forth."""
        return tuple(
            int(np.maximum(was, now).max()) - global_minimum(counted.applied, np.minimum(was, now))
            if len(now)
            else 0
            for counted, was, now in zip(self._counted, mark, self.mark(), strict=True)
        )

    def domain(self, position: int, node: str) -> str | None:
        """Return the domain of a constraint that a node counts in; None for a node that does not count."""
        counted, home = self._home(position, node)
        return None if home == MISSING else counted.domains.values[home]

    def count(self, position: int, node: str) -> int:
        """Return the pods in the domain of a node; 0 for a node that does not count."""
        counted, home = self._home(position, node)
        return 0 if home == MISSING else int(counted.matching[home])

    def _home(self, position: int, node: str) -> tuple[_Counted, int]:
        place, counted = self._positions.get(node), self._counted[position]
        return counted, MISSING if place is None else int(counted.home[place])

    def counts(self) -> tuple[Mapping[str, int], ...]:
        """Return the pods of each domain that an eligible node has, by value, for each constraint."""
        return tuple(counted.domains.by_value(counted.matching) for counted in self._counted)
