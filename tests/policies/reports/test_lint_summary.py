"""What is said of a run as a whole."""

from __future__ import annotations

from dataclasses import replace

from policies.manifests.findings import Severity
from policies.reports.lint_summary import asides, checked_inputs, counts, skipped_count, skipped_groups
from tests.policies.reports.lint_runs import CLEAN, RUN


def test_counts() -> None:
    """The worst first, in words; what is none is left out."""
    assert {
        Severity.ERROR: "2 errors",
        Severity.WARNING: "1 warning",
        Severity.NOTE: "1 note",
    } == counts(RUN)
    assert {} == counts(CLEAN)


def test_looked_at() -> None:
    """Files and workloads are counted."""
    assert "3 files, 3 workloads" == checked_inputs(RUN)


def test_asides() -> None:
    """Everything that was left out is told, rules of one reason together."""
    assert [
        "1 finding exempted by evenkeel.dev/ignore",
        "2 findings left out that the baseline holds",
        "2 rules not run: needs nodes",
        "1 rule not run: is off before 1.27",
    ] == list(asides(RUN))
    assert [] == list(asides(CLEAN))


def test_skipped() -> None:
    """How much was skipped, and what was for the same reason together, with everything that it needs."""
    assert "3 charts, 1 HelmRelease, 1 file and 1 object were skipped" == skipped_count(RUN)
    assert "" == skipped_count(CLEAN)
    twice = [replace(RUN.skipped[0], message=f"release {name}") for name in "ab"]
    assert "1 chart was skipped" == skipped_count(replace(CLEAN, skipped_sources=twice))
    assert [
        (Severity.WARNING, "apps/web.yaml:4"),
        (Severity.WARNING, "b.yaml:7"),
        (Severity.WARNING, "charts/a/Chart.yaml, charts/b/Chart.yaml"),
        (Severity.ERROR, "charts/shop/Chart.yaml"),
        (Severity.NOTE, "secrets.yaml"),
    ] == [(severity, places) for severity, places, _ in skipped_groups(RUN)]
    needed = "common 2.x.x from oci://example.com/charts, redis 1.0.0 from https://example.com"
    assert list(skipped_groups(RUN))[2][2].endswith(f": {needed}")
