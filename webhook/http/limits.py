"""How many requests may do at once what takes long, so that threads and memory are left for others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
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
