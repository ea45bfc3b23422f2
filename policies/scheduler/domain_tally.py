"""The pods that each constraint of a request counts by domain, followed while pods are bound and deleted.

An evaluation counts them again; this keeps the counts between evaluations, as long as no node changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.constraint import WhenUnsatisfiable
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.eligibility import eligible_nodes, required_keys
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.result import DomainCounts
from policies.scheduler.skew import global_minimum, skew


class _Counted(NamedTuple):
    """One constraint: its domains, the domain of each node that counts, and the pods of each domain."""

    applied: AppliedConstraint
    domains: DomainCounts
    home: NDArray[np.int64]
    existing: NDArray[np.intp]
    matching: NDArray[np.int64]


class DomainTally:
    """The counts of a request's constraints, in their order."""

    def __init__(self, request: SchedulingRequest, cluster: ClusterIndex) -> None:
        """Count the pods of a cluster, whose nodes must not change afterwards."""
        self._request = request
        results = count_spread(request, cluster)
        view = NodeView(cluster, request.pod)
        self._positions = cluster.nodes.positions()
        self._selected: dict[frozenset[tuple[str, str]], tuple[int, ...]] = {}
        self._counted = [
            _Counted(
                applied=result.applied,
                domains=result.domains,
                home=_homes(result.applied, request, view, result.domains),
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
            pairs, behavior = dict(labels), self._request.behavior
            found = self._selected[labels] = tuple(
                position
                for position, counted in enumerate(self._counted)
                if (selector := counted.applied.selector) is not None
                if not selector.empty or behavior.empty_selector_counts
                if selector.matches(pairs)
            )
        return found

    def add(self, node: str, labels: frozenset[tuple[str, str]], amount: int) -> None:
        """Count a pod that is bound to a node, or with -1 no longer count it."""
        place = self._positions.get(node)
        for position in () if place is None else self.selecting(labels):
            counted = self._counted[position]
            home = counted.home[place]
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
        place = self._positions.get(node)
        counted = self._counted[position]
        home = MISSING if place is None else counted.home[place]
        return None if home == MISSING else counted.domains.values[home]

    def count(self, position: int, node: str) -> int:
        """Return the pods in the domain of a node; 0 for a node that does not count."""
        place = self._positions.get(node)
        counted = self._counted[position]
        home = MISSING if place is None else counted.home[place]
        return 0 if home == MISSING else int(counted.matching[home])

    def counts(self) -> tuple[Mapping[str, int], ...]:
        """Return the pods of each domain that an eligible node has, by value, for each constraint."""
        return tuple(
            {
                counted.domains.values[domain]: int(counted.matching[domain])
                for domain in counted.domains.existing()
            }
            for counted in self._counted
        )


def _homes(
    applied: AppliedConstraint, request: SchedulingRequest, view: NodeView, domains: DomainCounts
) -> NDArray[np.int64]:
    """Return the domain that each node counts in, -1 for a node that does not count; shape ``(n,)``."""
    constraint = applied.constraint
    all_keys = applied.is_hard or request.requires_all_keys
    constraints = (each.constraint for each in request.constraints) if all_keys else ()
    when = WhenUnsatisfiable.DO_NOT_SCHEDULE if applied.is_hard else WhenUnsatisfiable.SCHEDULE_ANYWAY
    keys = required_keys(constraints, when)
    homes = domains.of_node.astype(np.int64)
    if not applied.is_hard and constraint.topology_key == HOSTNAME:
        return np.where(view.with_labels(keys), homes, MISSING)
    if not applied.is_hard and "" in domains.values:
        # Under the system defaults nodes without the label are a domain too.
        homes = np.where(homes == MISSING, domains.values.index(""), homes)
    eligible = eligible_nodes(constraint, view, keys=keys, behavior=request.behavior)
    return np.where(eligible, homes, MISSING)
