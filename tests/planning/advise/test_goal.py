"""The goals of people for a workload."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planning.advise.goal import parse_limit, parse_range
from policies.manifests.errors import UsageError
from tests.planning.goals import a_goal


@pytest.mark.parametrize(
    ("limit", "replicas", "expected"),
    [
        pytest.param(Fraction(1, 3), 3, 1, id="a third of 3"),
        pytest.param(Fraction(1, 3), 4, 2, id="a third of 4 is rounded up"),
        pytest.param(Fraction(1, 1), 4, 4, id="all"),
        pytest.param(2, 7, 2, id="2 of 7"),
        pytest.param(9, 7, 7, id="no more than there are"),
        pytest.param(None, 7, 7, id="no limit"),
    ],
)
def test_what_is_allowed(limit: Fraction | int | None, replicas: int, expected: int) -> None:
    """A share is rounded up to whole replicas."""
    assert expected == a_goal(limit=limit).allowed(replicas)


def test_what_domains_can_reach() -> None:
    """One of two domains has half at least; a third of 3 to 6 replicas needs 3 domains."""
    goal = a_goal(3, 6)

    assert ([2, 2, 3, 3], 2) == (
        [goal.within(2).allowed(count) for count in goal.range],
        goal.within(2).domains_needed,
    )
    assert (3, [3, 4, 5, 6]) == (
        goal.domains_needed,
        [goal.within(0).allowed(count) for count in goal.range],
    )


@pytest.mark.parametrize(
    "text", ["", "0", "0/3", "4/3", "1/1", "100%", "0%", "1/0", "-1", "1.5", "a third", "٣"]
)
def test_no_limit(text: str) -> None:
    """A text that is neither a share nor a number is an error."""
    with pytest.raises(UsageError, match=r"1/3 or 33%"):
        parse_limit(text)


@pytest.mark.parametrize("text", ["", "0", "5..3", "1..", "..3", "1...3", "1..101", "a..b", "1-3"])
def test_no_range(text: str) -> None:
    """A text that is no range, or a range that is too large, is an error."""
    with pytest.raises(UsageError, match=r"3\.\.12"):
        parse_range(text, 100)
