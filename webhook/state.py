"""What one server process knows: its settings, what it decides by, and whether it should get requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webhook.logs import EventLog
from webhook.scoring.gate import Gate
from webhook.settings import Settings

if TYPE_CHECKING:
    from policies.evaluation.context import AdmissionContext
    from webhook.telemetry import Telemetry


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class ServerState:
    """Built once before the workers are forked; afterwards each worker has its own copy.

    Attributes:
        settings: What the server was told.
        context: What reviews are decided by.
        telemetry: The metrics.
        events: The log.
        certificate_expiry: Tells when the served certificate expires.
        now: The clock.
        draining: Whether the process was asked to end.
        scoring: Lets scoring have half of the threads.
    """

    settings: Settings
    context: AdmissionContext
    telemetry: Telemetry
    events: EventLog
    certificate_expiry: Callable[[], datetime]
    now: Callable[[], datetime] = _now
    draining: bool = False
    scoring: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.scoring = Gate(max(1, self.settings.threads // 2))

    def unready_reasons(self) -> list[str]:
        """Return why no request should be sent here, empty if there is no reason."""
        reasons = []
        if self.draining:
            reasons.append("draining: the server was asked to end")
        expiry = self.certificate_expiry()
        if expiry <= self.now():
            reasons.append(f"certificate expired at {expiry:%Y-%m-%dT%H:%M:%SZ}")
        return reasons
