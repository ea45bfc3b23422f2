"""The one protocol of all that a server process does beside its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry


class Component:
    """A part of a server, started and stopped once, which reports its state; by default all is in order."""

    def start(self) -> None:
        """Begin, in a worker: threads are not inherited by a fork."""

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
