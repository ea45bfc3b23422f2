"""A run of the linter as JUnit XML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given

from policies.lint.reports.junit import render
from policies.lint.reports.run import LintRun
from policies.manifests.findings import Severity
from policies.manifests.skipped import in_groups
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN


def test_render(golden: Callable[[str, str], str]) -> None:
    """A suite a file, a case a rule and object."""
    actual = render(RUN)

    assert golden("lint.xml", actual) == actual


def test_clean() -> None:
    """A file without findings is a suite with a case that passes."""
    root = ET.fromstring(render(CLEAN))

    assert {
        "name": "evenkeel lint",
        "tests": "1",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    } == root.attrib
    assert ["lint"] == [case.get("name") for case in root.iter("testcase")]


def test_fails_as_the_run_does() -> None:
    """Findings below the run's --fail-on are no failures."""
    failures = {
        fail_on: len(list(ET.fromstring(render(replace(RUN, fail_on=fail_on))).iter("failure")))
        for fail_on in (None, Severity.ERROR, Severity.NOTE)
    }

    assert {None: 0, Severity.ERROR: 2, Severity.NOTE: 3} == failures


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, the report is XML, and fails if the run does."""
    root = ET.fromstring(render(run).encode())

    assert run.failed == ((root.get("failures"), root.get("errors")) != ("0", "0"))
    left_out = len(run.suppressed) + len(run.result.skipped) + len(in_groups(run.skipped))
    assert left_out == int(root.get("skipped", "")) + int(root.get("errors", ""))
    assert all(text.isprintable() for element in root.iter() for text in element.attrib.values())
