"""A thread keeps to its share of a core."""

from __future__ import annotations

import pytest

from webhook.component import Throttle


@pytest.mark.parametrize("share", [0.04, 0.5])
@pytest.mark.parametrize("each_s", [0.0004, 0.02])
def test_the_share_is_kept(share: float, each_s: float) -> None:
    """However long a piece of work is, waiting makes up for it."""
    used, waited = [0.0], list[float]()
    throttle = Throttle(share, waited.append, used=lambda: used[0])
    for _ in range(1000):
        used[0] += each_s
        throttle.rest()
    throttle.rest(at_once=True)

    assert pytest.approx(share) == used[0] / (used[0] + sum(waited))
    assert len(waited) <= used[0] / 0.005 + 1
