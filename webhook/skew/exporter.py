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
        self._left_out = 0

    def take(self, report: SkewReport) -> None:
        """Export a report in place of the last one, and log when the limit begins or ceases to matter."""
        exported = ExportedSkew.of(report.workloads, self._limit)
        self._telemetry.skew_exported(skew_families(report, exported))
        was_cut, self._left_out = self._left_out > 0, exported.left_out
        if (exported.left_out > 0) != was_cut:
            fields = {"limit": self._limit, "left_out": exported.left_out}
            LOGGER.warning("skew_limited", extra={"fields": fields})

    def clear(self) -> None:
        """Export nothing any more."""
        self._telemetry.skew_withdrawn()
        self._left_out = 0

    def warnings(self) -> list[str]:
        """Return how many constraints are beyond the limit, if any is."""
        text = f"constraints whose skew is not exported, beyond the {self._limit:,} of --skew-metrics"
        return [f"{text}: {self._left_out:,}"] if self._left_out else []
