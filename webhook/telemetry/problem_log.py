"""Problems that last: logged when they begin, when they change, and when they are over."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from webhook.telemetry.logs import LOGGER


class ProblemLog:
    """The problems of one controller, by their log event and, where there may be several, their subject."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str], str] = {}

    def reason(self, event: str, subject: str = "") -> str:
        """Return the reason of a problem; empty if there is none."""
        return self._reasons.get((event, subject), "")

    def report(
        self,
        event: str,
        reason: str,
        *,
        subject: str = "",
        level: int = logging.WARNING,
        trace: Exception | None = None,
    ) -> None:
        """Log a problem unless that is how it was before.

        Args:
            event: The log event; when the problem is over, it has the suffix ``_resolved``.
            reason: The reason; empty if there is no problem.
            subject: The object that has it.
            level: The level of a problem.
            trace: What it was caught as, where it was not foreseen.
        """
        if reason == self.reason(event, subject):
            return
        fields = {"subject": subject} if subject else {}
        if reason:
            self._reasons[event, subject] = reason
            LOGGER.log(level, event, extra={"fields": {**fields, "reason": reason}}, exc_info=trace)
        else:
            del self._reasons[event, subject]
            LOGGER.info(f"{event}_resolved", extra={"fields": fields})

    def report_all(self, event: str, reasons: Mapping[str, str]) -> None:
        """Log the problems of all subjects; others that had one have none any more."""
        over = {subject: "" for known, subject in self._reasons if known == event}
        for subject, reason in (over | dict(reasons)).items():
            self.report(event, reason, subject=subject)
