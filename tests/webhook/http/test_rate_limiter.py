"""How many callers the API server is asked about."""

from __future__ import annotations

import pytest

from webhook.http.limits import RateLimiter


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        pytest.param([0.0] * 5, 3, id="5 at once: 3"),
        pytest.param([0.0, 0.0, 0.0, 0.2, 0.4], 4, id="3 at once, two within 0.4 s: the second of them"),
        pytest.param([0.0, 0.0, 0.0, 100.0, 100.0, 100.0, 100.0], 6, id="3 at once, 4 much later: 3 of them"),
        pytest.param([0.0, 0.5, 1.0, 1.5, 2.0], 5, id="2 a second: all"),
    ],
)
def test_three_a_second(moments: list[float], expected: int) -> None:
    """Three a second pass, and never more than three at once."""
    now = [0.0]
    rate, passed = RateLimiter(3, now=lambda: now[0]), 0
    for now[0] in moments:
        passed += rate.take()

    assert expected == passed
