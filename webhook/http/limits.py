"""How many requests may do what takes long, at once and in a second, so that something is left for others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


class BusyError(Exception):
    """As many are let in as may be at once."""


class MaxConcurrent:
    """Lets in a number of requests at once, and of the large ones one; others are refused and do not wait."""

    def __init__(self, places: int) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._large = threading.BoundedSemaphore(1)

    @contextmanager
    def enter(self, *, large: bool) -> Iterator[None]:
        """Hold a place for as long as the block runs.

        Raises:
            BusyError: There is none.
        """
        with ExitStack() as held:
            for semaphore in (self._places, self._large) if large else (self._places,):
                if not semaphore.acquire(blocking=False):
                    raise BusyError
                held.callback(semaphore.release)
            yield


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
