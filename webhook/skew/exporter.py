"""Exports what sweeps find as gauges, up to a limit."""

from __future__ import annotations

from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import Telemetry
from webhook.telemetry.skew_metrics import ExportedSkew, SkewReport, skew_families


class SkewExporter:
    """Exports the worst constraints of the last report."""

    def __init__(self, telemetry: Telemetry, limit: int) -> None:
        """Export nothing yet.

        Args:
            telemetry: The metrics.
            limit: How many constraints are exported at most.
        """
        self._telemetry = telemetry
        self._limit = limit
        self._is_cut = False

    def take(self, report: SkewReport) -> None:
        """Export a report in place of the last one, and log when the limit begins or ceases to matter."""
        exported = ExportedSkew.of(report.workloads, self._limit)
        self._telemetry.skew_exported(skew_families(report, exported))
        if (exported.left_out > 0) != self._is_cut:
            self._is_cut = exported.left_out > 0
            fields = {"limit": self._limit, "left_out": exported.left_out}
            LOGGER.warning("skew_limited", extra={"fields": fields})

    def clear(self) -> None:
        """Export nothing any more."""
        self._telemetry.skew_withdrawn()
