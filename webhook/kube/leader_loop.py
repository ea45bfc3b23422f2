"""A thread that takes a step again and again, while its process stands for election beside others.

What every controller with a leader needs is here once: electing, waking, pausing, ending.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from webhook.component import Component
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    # With it comes the kubernetes client.
    from webhook.kube.election import Elect

#: Seconds for a step that is under way to notice that it must end.
_STOP_S: Final = 2.0


class LeaderLoop:
    """Takes steps from ``start`` to ``stop``, once; each checks whether this process leads."""

    def __init__(self, name: str, step: Callable[[], float | None], *, elect: Elect, event: str = "") -> None:
        """Nothing is started yet.

        Args:
            name: The name of the thread.
            step: Does what is due and raises nothing; returns the seconds until the next step, or None to
                take it when this process begins or ends to lead. It comes earlier in that case anyway.
            elect: Stands for election.
            event: The log event of leading, without ``_started`` and ``_stopped``; empty for none.
        """
        self._step = step
        self._elect = elect
        self._event = event
        self._wake = threading.Event()
        self._stopping = False
        self._leading = False
        self._resign: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def leading(self) -> bool:
        """Whether this process leads, and goes on."""
        return self._leading and not self._stopping

    @property
    def running(self) -> bool:
        """Whether the thread has begun and not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin, and stand for election; after a fork, for threads are not inherited."""
        self.campaign()
        self._thread.start()

    def stop(self) -> None:
        """Let another process lead, and end."""
        self._stopping = True
        self._wake.set()
        self.resign()
        if self.running:
            self._thread.join(_STOP_S)

    def campaign(self) -> None:
        """Take part in the election, unless this process does already."""
        if self._resign is None and not self._stopping:
            self._resign = self._elect(self._begin, self._end)

    def resign(self) -> None:
        """Leave leading to others until the next ``stand``."""
        resign, self._resign = self._resign, None
        if resign is not None:
            resign()

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


class LeaderComponent(Component):
    """A component that takes steps while its process stands for election."""

    def __init__(self, name: str, *, elect: Elect, event: str = "") -> None:
        """Nothing is started yet; the arguments are those of ``LeaderLoop``."""
        self._loop = LeaderLoop(name, self._step, elect=elect, event=event)

    @property
    def leading(self) -> bool:
        """Whether this process leads, and goes on."""
        return self._loop.leading

    def start(self) -> None:
        """Begin, and stand for election."""
        self._loop.start()

    def stop(self) -> None:
        """Let another process lead, and end."""
        self._loop.stop()

    @abstractmethod
    def _step(self) -> float | None:
        """Do what is due, raising nothing; return the seconds until the next step, or None for no time."""
