"""The properties of a run of the linter."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from policies.lint.reports.run import in_order
from policies.lint.run import LintResult
from policies.manifests.findings import Severity
from policies.manifests.skipped import FailOnSkipped
from tests.policies.lint.findings import FINDINGS
from tests.policies.lint.reports.lint_runs import CLEAN, RUN

#: A run without errors.
MILD = replace(
    RUN,
    result=LintResult([found for found in RUN.findings if found.severity is not Severity.ERROR]),
    skipped_sources=(),
)


@pytest.mark.parametrize(
    ("fail_on", "expected"),
    [(None, False), (Severity.ERROR, False), (Severity.WARNING, True), (Severity.NOTE, True)],
)
def test_failed(fail_on: Severity | None, *, expected: bool) -> None:
    """A run with a warning and a note fails where such as these, or less, are enough."""
    assert expected == replace(MILD, fail_on=fail_on).failed


def test_failed_without_findings() -> None:
    """A run without findings never fails."""
    assert not replace(CLEAN, fail_on=Severity.NOTE).failed


@pytest.mark.parametrize(
    ("fail_on", "fail_on_skipped", "expected"),
    [
        (Severity.ERROR, FailOnSkipped.NAMED, True),
        (Severity.ERROR, FailOnSkipped.NEVER, False),
        (None, FailOnSkipped.ANY, False),
    ],
)
def test_failed_by_what_was_skipped(
    fail_on: Severity | None, fail_on_skipped: FailOnSkipped, *, expected: bool
) -> None:
    """A chart that is named must be read, unless skipped things or everything may pass."""
    run = replace(CLEAN, skipped_sources=RUN.skipped, fail_on=fail_on, fail_on_skipped=fail_on_skipped)

    assert (expected, expected) == (run.incomplete, run.failed)


def test_by_file() -> None:
    """Files in the order of their names, each with its findings in the order of the lines."""
    lines = [(file, [finding.location.line for finding in findings]) for file, findings in RUN.by_file()]

    assert [("b.yaml", [0]), ("deploy/web.yaml", [5, 6, 7])] == lines


def test_count() -> None:
    """Only findings in force are counted."""
    assert [2, 1, 1] == [RUN.count(severity) for severity in Severity]


def test_in_order() -> None:
    """By file, line as a number, then the worst first."""
    orders = {tuple(finding.rule for finding in in_order(order)) for order in permutations(FINDINGS)}

    assert {("wrong", "odd", "a-note", "unreadable")} == orders
