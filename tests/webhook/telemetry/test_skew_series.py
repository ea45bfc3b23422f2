"""Series that come and go, in files that all workers read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily

from webhook.telemetry.metric_files import SkewSeries


def a_family(value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily("a", "Text.", value=value)


def test_another_worker_finds_them(tmp_path: Path) -> None:
    """Series that one worker publishes are appended by another; withdrawn ones are gone."""
    one, other = SkewSeries(tmp_path), SkewSeries(tmp_path)
    before = other.text()
    one.publish([a_family(1)])
    one.publish([a_family(2)])
    published = other.text()
    one.withdraw()

    assert (b"", b"") == (before, other.text())
    assert b"# HELP a Text.\n# TYPE a gauge\na 2.0\n" == published
    assert [] == list(tmp_path.iterdir())


def test_a_worker_that_was_killed(tmp_path: Path) -> None:
    """Its parent withdraws what it left."""
    SkewSeries(tmp_path).publish([a_family(1)])
    arbiter = SkewSeries(tmp_path)
    arbiter.withdraw(os.getpid() + 1)
    kept = arbiter.text()
    arbiter.withdraw(os.getpid())

    assert (b"", True) == (arbiter.text(), bool(kept))


def test_one_set_at_most(tmp_path: Path) -> None:
    """Two sets of the same names would make a scrape invalid: the later one is told."""
    (tmp_path / "skew-1.prom").write_bytes(b"old")
    os.utime(tmp_path / "skew-1.prom", (1, 1))
    SkewSeries(tmp_path).publish([a_family(1)])

    assert SkewSeries(tmp_path).text().endswith(b"a 1.0\n")


def test_no_space(tmp_path: Path) -> None:
    """A failed write leaves the series as they were."""
    series = SkewSeries(tmp_path / "gone")

    with pytest.raises(OSError, match="gone"):
        series.publish([a_family(1)])
    assert b"" == series.text()
