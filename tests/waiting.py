"""Waits for what other threads and processes do: for as long as it takes them on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Seconds after which a test stops waiting. Only a defect takes so long.
PATIENCE_S = 120.0
#: Seconds between two looks. Arbitrary.
POLL_S = 0.02


def pause(seconds: float) -> None:
    """Stand for something that takes time. What others do meanwhile must make no difference to a test."""
    time.sleep(seconds)


def eventually(
    condition: Callable[[], Any],
    *,
    what: Callable[[], str] = lambda: "it did not happen in time",
) -> Any:
    """Return the value of a condition as soon as it is true; ``what`` says in the end why it was not."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise AssertionError(what())
        time.sleep(POLL_S)
