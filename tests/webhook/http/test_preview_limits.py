"""The limits of a preview."""

from __future__ import annotations

import time

import pytest

from webhook.http import state
from webhook.http.child_processes import Limit, LimitError
from webhook.http.state import preview_processes


@pytest.mark.parametrize(
    ("bytes_", "seconds", "limit"),
    [(2**28, 0, Limit.MEMORY), (0, 60, Limit.TIMEOUT)],
    ids=["256 MiB", "60 s"],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, bytes_: int, seconds: int, limit: Limit) -> None:
    """It is ended, and the reason is known."""
    monkeypatch.setattr(state, "LONGEST_PREVIEW_S", 1.0)

    def work() -> int:
        time.sleep(seconds)
        return len(bytearray(bytes_))

    with pytest.raises(LimitError) as caught:
        preview_processes().run(work)

    assert limit is caught.value.limit
