"""The worst constraints of a report are exported."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from tests.webhook.skew.skews import a_skew, a_workload_skew
from webhook.telemetry.metrics import Telemetry
from webhook.telemetry.skew_metrics import SkewExporter, SkewReport


def test_the_limit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Once when it begins to matter, and once when it ceases to; in between there is a warning."""
    exporter = SkewExporter(Telemetry("1", registry=CollectorRegistry()), 1)
    skews = [a_workload_skew(a_skew(), name=name) for name in "abc"]
    warned = []
    for count in (1, 3, 3, 1, 1):
        exporter.take(SkewReport(0, 0, tuple(skews[:count])))
        warned.append(bool(exporter.warnings()))

    assert [
        ("skew_limited", {"limit": 1, "left_out": 2}),
        ("skew_limited", {"limit": 1, "left_out": 0}),
    ] == [(record.getMessage(), record.fields) for record in caplog.records]  # type: ignore[attr-defined]
    assert [False, True, True, False, False] == warned


def test_what_is_cleared_is_gone() -> None:
    """A process that measures no more exports nothing."""
    telemetry = Telemetry("1", registry=CollectorRegistry())
    exporter = SkewExporter(telemetry, 1)
    exporter.take(SkewReport(0, 0, (a_workload_skew(a_skew()),)))
    exported = telemetry.render()
    exporter.clear()

    assert b"evenkeel_workload_skew{" in exported
    assert b"skew" not in telemetry.render()
