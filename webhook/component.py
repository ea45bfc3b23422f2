"""The one protocol of all that a server process does beside its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry


class Component:
    """A part of a server, started and stopped once, and asked how it is; by default all is in order."""

    def start(self) -> None:
        """Begin, in a worker: threads are not inherited by a fork."""

    def stop(self) -> None:
        """End what ``start`` has begun."""

    def unsynced(self) -> str:
        """Return what must be known to decide reviews and is not known yet; empty if all is."""
        return ""

    def problem(self) -> str:
        """Return why no request should be sent to this process; empty if there is no reason."""
        return ""

    def warnings(self) -> list[str]:
        """Return what is wrong, though requests should go on coming here; empty if nothing is."""
        return []

    def observe(self, telemetry: Telemetry) -> None:
        """Tell the metrics how it is."""
