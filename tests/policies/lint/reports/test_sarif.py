"""A run of the linter as SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from policies.lint.reports.run import LintRun
from policies.lint.reports.sarif import render, uri
from policies.lint.run import LintResult
from policies.manifests.findings import Finding, Location
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN

SCHEMA = Path(__file__).parents[3] / "data/sarif-2.1.0.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8-sig")))


def test_render(golden: Callable[[str, str], str]) -> None:
    """Everything that SARIF has a place for."""
    actual = render(RUN)

    assert golden("lint.sarif", actual) == actual


@pytest.mark.parametrize("run", [RUN, CLEAN], ids=["everything", "nothing"])
def test_is_sarif(run: LintRun) -> None:
    """The standard's own schema takes it."""
    VALIDATOR.validate(json.loads(render(run)))


def test_the_schema_refuses() -> None:
    """The standard's schema is not one that takes everything."""
    log = json.loads(render(RUN))
    log["runs"][0]["results"][0]["level"] = "fatal"

    assert not VALIDATOR.is_valid(log)


def test_two_things_of_one_place_are_skipped() -> None:
    """A place is named once."""
    entry = RUN.skipped_sources[0]
    log = json.loads(render(replace(RUN, skipped_sources=(entry, replace(entry, title="another")))))
    [notification] = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]

    VALIDATOR.validate(log)
    assert 1 == len(notification["locations"])


def test_fingerprints_outlive_moved_lines() -> None:
    """A finding is the same one after lines and numbers changed, another one of its field is not."""
    found = RUN.findings[1]
    moved = replace(found, location=Location(found.location.file, 50), message="is 3, which is odd")
    first, second = _fingerprints(found, found)

    assert [first] == _fingerprints(moved)
    assert first != second


def _fingerprints(*findings: Finding) -> list[Any]:
    log = json.loads(render(replace(RUN, result=LintResult(list(findings)))))
    return [result["partialFingerprints"] for result in log["runs"][0]["results"]]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param("a/b.yaml", "a/b.yaml", id="relative"),
        pytest.param("../b.yaml", "../b.yaml", id="above"),
        pytest.param("http://x", "http%3A//x", id="looks like an address"),
        pytest.param("//host/x", "file:///host/x", id="looks like a host"),
        pytest.param("<stdin>", "%3Cstdin%3E", id="stdin"),
        pytest.param("\udcff", "%5Cudcff", id="a byte that is no text"),
        pytest.param("a?b#c", "a%3Fb%23c", id="query and fragment"),
    ],
)
def test_uri(file: str, expected: str) -> None:
    """A name is a path of a URI and nothing else of it."""
    assert expected == uri(file)


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, the report is SARIF, with one result a finding."""
    log = json.loads(render(run))
    results = log["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]

    VALIDATOR.validate(log)
    assert len(run.findings) + len(run.suppressed) == len(results)
    assert all(re.fullmatch(r"(file://)?[A-Za-z0-9._~/%-]*", found) for found in uris)
