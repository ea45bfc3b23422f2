"""Keeps a flood of made-up tokens from becoming a flood of questions to the API server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Lets a number of calls through in a second, after a pause as many at once; threads may share it."""

    def __init__(self, per_s: float, *, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with a whole second's worth.

        Args:
            per_s: How many a second.
            now: The clock, in seconds.
        """
        self._per_s = per_s
        self._now = now
        self._lock = threading.Lock()
        self._left = per_s
        self._counted_at = now()

    def take(self) -> bool:
        """Return whether one more may pass now, and count it if so."""
        with self._lock:
            now = self._now()
            self._left = min(self._per_s, self._left + (now - self._counted_at) * self._per_s)
            self._counted_at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True
