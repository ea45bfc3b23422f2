"""What is said of a run as a whole."""

from __future__ import annotations

from policies.findings import Severity
from policies.reports.lint_summary import asides, counts, looked_at
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
    assert "3 files, 3 workloads" == looked_at(RUN)


def test_asides() -> None:
    """Everything that was left out is told, rules of one reason together."""
    assert [
        "1 finding exempted by evenkeel.dev/ignore",
        "2 findings left out that the baseline holds",
        "2 rules not run: needs nodes",
        "1 rule not run: is off before 1.27",
    ] == list(asides(RUN))
    assert [] == list(asides(CLEAN))
