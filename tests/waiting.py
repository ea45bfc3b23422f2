"""Waits for what other threads and processes do: for as long as it takes them on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Seconds after which a test stops waiting. Only a defect takes so long.
PATIENCE_S = 120.0


def eventually(condition: Callable[[], Any]) -> Any:
    """Return the value of a condition as soon as it is true."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")
