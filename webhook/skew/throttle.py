"""Keeps a thread to a share of one processor core."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

#: Seconds of processor time after which a pause is due: little for a review that waits for the interpreter,
#: and much for what a wake-up costs.
_STEP_S: Final = 0.005


class Throttle:
    """The processor time of one thread, spread over real time."""

    def __init__(
        self,
        share: float,
        wait: Callable[[float], object],
        *,
        used: Callable[[], float] = time.thread_time,
    ) -> None:
        """Begin, in the thread that is meant.

        Args:
            share: The share of a core that the thread may use.
            wait: Waits for a number of seconds.
            used: Returns the seconds of processor time that the thread has used.
        """
        self._share = share
        self._wait = wait
        self._used = used
        self._paid = used()

    def rest(self, *, at_once: bool = False) -> None:
        """Wait for as long as the work since the last pause has to be spread over.

        Args:
            at_once: Whether to pause for less than a step of work too.
        """
        work = self._used() - self._paid
        if work < _STEP_S and not at_once:
            return
        self._wait(work / self._share - work)
        # What waiting itself takes is work of the next step.
        self._paid += work
