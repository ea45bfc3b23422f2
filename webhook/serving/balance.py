"""How many connections each worker holds, so that one worker does not take them all.

All workers wait on one listener, and the kernel wakes whichever it likes: of 32 connections that came at
once, one worker was seen to hold 1 and the other 31, and half of the machine stood idle. A worker that holds
more than another looks away for a moment.
"""

from __future__ import annotations

import mmap
from typing import Final

#: Workers that can be told apart; far more than a machine has cores.
_SLOTS: Final = 64
#: Stands for no worker.
_NOBODY: Final = -1


class ConnectionCounts:
    """A table in memory that all workers share; made before they are forked.

    Each worker writes its own slot alone, so nothing is locked: a count that is read a moment too late only
    makes the balance a little worse.
    """

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, _SLOTS * 4)).cast("i")
        for slot in range(_SLOTS):
            self._counts[slot] = _NOBODY

    def set(self, worker: int, count: int) -> None:
        """Note how many connections a worker holds; workers are numbered from 1 on, without end."""
        self._counts[worker % _SLOTS] = count

    def leave(self, worker: int) -> None:
        """Forget a worker that ended."""
        self._counts[worker % _SLOTS] = _NOBODY

    def is_ahead(self, worker: int) -> bool:
        """Tell whether another worker holds fewer connections.

        >>> counts = ConnectionCounts()
        >>> counts.set(1, 5)
        >>> counts.set(2, 4)
        >>> counts.is_ahead(1), counts.is_ahead(2)
        (True, False)
        """
        own = self._counts[worker % _SLOTS]
        return any(_NOBODY < count < own for count in self._counts)
