"""How far clocks may differ."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs.clocks import BACKDATE, TOLERANCE, clock_problem


@pytest.mark.parametrize(
    ("skew", "told"),
    [
        pytest.param(TOLERANCE, "", id="30 min ahead"),
        pytest.param(-TOLERANCE, "", id="30 min behind"),
        pytest.param(TOLERANCE + timedelta(seconds=1), "30 minutes ahead of", id="30 min and 1 s ahead"),
        pytest.param(timedelta(hours=2), "2 hours ahead of", id="2 h ahead"),
        pytest.param(timedelta(seconds=7199), "2 hours ahead of", id="1 s less than 2 h ahead"),
        pytest.param(-timedelta(hours=25), "1 day behind", id="25 h behind"),
    ],
)
def test_what_is_told(skew: timedelta, told: str) -> None:
    """The number, rounded, in the largest unit, and the direction."""
    problem = clock_problem(skew)

    assert told in problem
    assert bool(told) == bool(problem)


def test_what_is_signed_within_the_tolerance_is_valid_at_once() -> None:
    """A verifier may be behind the API server by as much again."""
    assert 2 * TOLERANCE <= BACKDATE
