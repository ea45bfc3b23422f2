"""The certificate of a file that another program renews: whether it is valid, and what becomes of changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from certs.keypair import KeyPair
from webhook.component import Component
from webhook.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from webhook.telemetry.metrics import Telemetry


def _now() -> datetime:
    return datetime.now(UTC)


class Validity(Protocol):
    """From when until when a certificate is valid, UTC."""

    @property
    def not_before(self) -> datetime:
        """Its begin."""

    @property
    def not_after(self) -> datetime:
        """Its end."""


class ServedCertificate(Component):
    """The certificate that is served, by the clock of this machine."""

    def __init__(self, served: Callable[[], Validity], now: Callable[[], datetime] = _now) -> None:
        """Nothing is read yet.

        Args:
            served: Returns the validity of the certificate.
            now: The clock.
        """
        self._served = served
        self._now = now

    def problem(self) -> str:
        """Return why the certificate is not valid now; empty if it is."""
        served, now = self._served(), self._now()
        if served.not_after <= now:
            return f"certificate expired at {served.not_after:%Y-%m-%dT%H:%M:%SZ}"
        if now < served.not_before:
            return f"certificate is not valid before {served.not_before:%Y-%m-%dT%H:%M:%SZ}"
        return ""


class CertificateReporter:
    """Reports certificates to log and metrics; the first one is no news."""

    def __init__(self, telemetry: Telemetry, file: Path) -> None:
        self._telemetry = telemetry
        self._file = file
        self._first = True

    def __call__(self, pair: KeyPair, problem: str) -> None:
        """Report that a pair is served; the problem is that of a newer one, empty if there is none."""
        self._telemetry.certificate_loaded(pair.not_before.timestamp(), pair.not_after.timestamp())
        if self._first:
            self._first = False
            return
        self._telemetry.certificate_reloaded(succeeded=not problem)
        fields = {"file": str(self._file), "expires": pair.not_after.isoformat()}
        if problem:
            LOGGER.error("certificate_refused", extra={"fields": {**fields, "reason": problem}})
        else:
            LOGGER.info("certificate_loaded", extra={"fields": fields})


def report_validity(pair: KeyPair, now: datetime) -> None:
    """Log that no client will accept a certificate."""
    if pair.expired(now):
        LOGGER.error("certificate_expired", extra={"fields": {"expired": pair.not_after.isoformat()}})
    elif pair.not_yet_valid(now):
        LOGGER.error("certificate_not_yet_valid", extra={"fields": {"begins": pair.not_before.isoformat()}})
