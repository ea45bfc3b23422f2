"""The one protocol of all that a server process does beside its requests, and the loop of a leader.

Every controller with a leader has the same loop: a thread that takes a step again and again while its
process stands for election beside others, waking, pausing, ending, and leaving the processor to others.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry

#: Stands for election until the returned function is called: the first argument is called when this process
#: begins to lead, the second when it ends.
Elect: TypeAlias = Callable[[Callable[[], None], Callable[[], None]], Callable[[], None]]
#: Seconds for a step that is under way to notice that it must end.
_STOP_S: Final = 2.0
#: Seconds of processor time after which a pause is due: little for a review that waits for the interpreter,
#: and much for what a wake-up costs.
_WORK_S: Final = 0.005


class Confidential(str):
    """A warning that names or counts what is in the cluster: for callers who may get metrics."""

    __slots__ = ()


class Component:
    """A part of a server, started and stopped once, which reports its state; by default all is in order."""

    def start(self) -> None:
        """Begin, in a worker: threads are not inherited by a fork, and 3.13.0 starts none made before it."""

    def stop(self) -> None:
        """End what ``start`` has begun."""

    def unsynced(self) -> str:
        """Return the data that reviews need and the component lacks so far; empty if it lacks none."""
        return ""

    def problem(self) -> str:
        """Return why no request should be sent to this process; empty if there is no reason."""
        return ""

    def warnings(self) -> list[str]:
        """Return the problems that are no reason to send requests elsewhere; empty if there are none."""
        return []

    def observe(self, telemetry: Telemetry) -> None:
        """Report its state as metrics."""


class LeaderComponent(Component):
    """Takes steps from ``start`` to ``stop``, once; each checks whether this process leads."""

    def __init__(self, name: str, *, elect: Elect, event: str = "") -> None:
        """Nothing is started yet.

        Args:
            name: The name of the thread.
            elect: Stands for election.
            event: The log event of leading, without ``_started`` and ``_stopped``; empty for none.
        """
        self._elect = elect
        self._event = event
        self._wake = threading.Event()
        self._stopping = False
        self._leading = False
        self._candidacy: Callable[[], None] | None = None
        self._name = name
        self._thread: threading.Thread | None = None

    @abstractmethod
    def _step(self) -> float | None:
        """Do what is due, raising nothing.

        Returns:
            The seconds until the next step, or None to take it when this process begins or ends to lead. It
            comes earlier in that case anyway.
        """

    @property
    def leading(self) -> bool:
        """Whether this process leads, and goes on."""
        return self._leading and not self._stopping

    @property
    def running(self) -> bool:
        """Whether the thread has begun and not ended."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, and stand for election; after a fork, for threads are not inherited."""
        self.campaign()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let another process lead, and end."""
        self._stopping = True
        self._wake.set()
        self.resign()
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def campaign(self) -> None:
        """Take part in the election, unless this process does already."""
        if self._candidacy is None and not self._stopping:
            self._candidacy = self._elect(self._begin, self._end)

    def resign(self) -> None:
        """Leave leading to others until the next ``campaign``."""
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is not None:
            candidacy()

    def pause(self, seconds: float) -> bool:
        """Wait within a step, but not once this process leads no more; return whether it still leads."""
        self._wake.clear()
        if self.leading:
            self._wake.wait(seconds)
        return self.leading

    def _begin(self) -> None:
        self._leading = True
        self._changed("started")

    def _end(self) -> None:
        self._leading = False
        self._changed("stopped")

    def _changed(self, how: str) -> None:
        if self._event:
            LOGGER.info(f"{self._event}_{how}")
        self._wake.set()

    def _run(self) -> None:
        pause_s: float | None = 0.0
        while not self._stopping:
            self._wake.wait(pause_s)
            self._wake.clear()
            if not self._stopping:
                pause_s = self._step()


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
        if work < _WORK_S and not at_once:
            return
        self._wait(work / self._share - work)
        # What waiting itself takes is work of the next step.
        self._paid += work
