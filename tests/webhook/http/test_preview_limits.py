"""The limits of a preview."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.waiting import PATIENCE_S
from webhook.http import state
from webhook.http.child_processes import Limit, LimitError
from webhook.http.state import preview_processes


@pytest.mark.parametrize(
    ("work", "longest_s", "limit"),
    [
        pytest.param(lambda: len(bytearray(2**28)), PATIENCE_S, Limit.MEMORY, id="256 MiB"),
        pytest.param(signal.pause, 0.2, Limit.TIMEOUT, id="for ever"),
    ],
)
def test_limits(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], longest_s: float, limit: Limit
) -> None:
    """It is ended, and the reason is known."""
    monkeypatch.setattr(state, "LONGEST_PREVIEW_S", longest_s)

    with pytest.raises(LimitError) as caught:
        preview_processes().run(work)

    assert limit is caught.value.limit
