"""What becomes of the domains of constraints."""

from __future__ import annotations

from typing import Any

from planning.simulation.constraint_outcomes import constraint_outcomes
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest
from tests.policies.scheduler.clusters import a_constraint, a_pod, a_request, an_index, zones


def _request(index: ClusterIndex, *spread: dict[str, Any]) -> SchedulingRequest:
    return a_request(a_pod("web", spread=spread), {}, index)


def test_before_and_after() -> None:
    """The skew of a scale-down grows above maxSkew, and was larger in between."""
    was, now = an_index(zones(a=3, b=3, c=3)), an_index(zones(a=2, b=3, c=1))
    request = _request(was, a_constraint())
    (found,) = constraint_outcomes(request, request, was, now, {0: 3})

    assert ({"a": 3, "b": 3, "c": 3}, {"a": 2, "b": 3, "c": 1}) == (found.before, found.after)
    assert (0, 2, 3, True) == (found.skew_before, found.skew, found.peak, found.above)


def test_an_edited_constraint() -> None:
    """It is the same one with another maxSkew, which the skew at the end is compared with."""
    was, now = an_index(zones(a=4, b=1)), an_index(zones(a=3, b=2))
    before, after = _request(was, a_constraint(minDomains=3)), _request(was, a_constraint(maxSkew=2))
    (found,) = constraint_outcomes(before, after, was, now, {})

    # With fewer domains than minDomains the minimum is 0.
    assert (4, 1, 1, False) == (found.skew_before, found.skew, found.peak, found.above)
    assert 2 == found.applied.constraint.max_skew


def test_added_and_removed() -> None:
    """One that is no longer in force comes last; a new workload has none before, a removed one none after."""
    index = an_index(zones(a=2, b=0))
    hard, soft = a_constraint(), a_constraint(action="ScheduleAnyway")
    before, after = _request(index, hard), _request(index, soft)
    added, removed = constraint_outcomes(before, after, index, index, {0: 5})

    assert (None, None, {"a": 2, "b": 0}, 2, 5) == (
        added.before,
        added.skew_before,
        added.after,
        added.skew,
        added.peak,
    )
    assert ({"a": 2, "b": 0}, 2, None, None, 2, False) == (
        removed.before,
        removed.skew_before,
        removed.after,
        removed.skew,
        removed.peak,
        removed.above,
    )
    assert [(None, 2)] == [
        (each.skew_before, each.skew) for each in constraint_outcomes(None, before, index, index, {})
    ]
    assert [(2, None)] == [
        (each.skew_before, each.skew) for each in constraint_outcomes(before, None, index, index, {})
    ]


def test_domains_without_an_eligible_node() -> None:
    """They are missing, as where the scheduler counts."""
    index = an_index(zones(a=2, b=1))
    pod = a_pod("web", spread=[a_constraint()], nodeSelector={"zone": "a"})
    request = a_request(pod, {}, index)
    (found,) = constraint_outcomes(request, request, index, index, {})

    assert ({"a": 2}, 0) == (found.after, found.skew)
