"""What reports say of the overlays that have a finding."""

from __future__ import annotations

import json

import pytest

from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Build, Finding, Location, Severity
from policies.reports.lint import github, junit, markdown, sarif
from policies.reports.lint import json as lint_json
from policies.reports.lint import text as lint_text
from policies.reports.lint.overlays import overlays
from policies.reports.lint.run import LintRun


def a_finding(file: str, folders: str, used: int) -> Finding:
    builds = tuple(
        Build(f"{folder}/kustomization.yaml", "Pod p-a", FieldPath(("spec",)), "is odd") for folder in folders
    )
    place = Location(file, 3)
    return Finding(Severity.NOTE, place, FieldPath(), "is odd", "odd", builds=builds, used_in_builds=used)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        pytest.param(a_finding("base/web.yaml", "", 0), "", id="not built"),
        pytest.param(a_finding("a/web.yaml", "a", 1), "", id="its own file"),
        pytest.param(a_finding("a/kustomization.yaml", "a", 0), "", id="the kustomization itself"),
        pytest.param(a_finding("base/web.yaml", "a", 1), "in overlay a", id="1 of 1"),
        pytest.param(a_finding("base/web.yaml", "aa", 1), "in overlay a", id="2 objects of 1"),
        pytest.param(a_finding("base/web.yaml", "abc", 3), "in 3 overlays: a, b, c", id="3 of 3"),
        pytest.param(
            a_finding("base/web.yaml", "abcde", 5), "in 5 overlays: a, b, c and 2 more", id="5 of 5"
        ),
        pytest.param(
            a_finding("base/web.yaml", "ab", 5),
            "in 2 of the 5 overlays that use this file: a, b",
            id="2 of 5",
        ),
    ],
)
def test_overlays(finding: Finding, expected: str) -> None:
    """Three are named, and all are counted."""
    assert expected == overlays(finding)


def test_every_report() -> None:
    """Every format says in which overlays; those for programs name each."""
    run = LintRun(result=LintResult([a_finding("base/web.yaml", "abcde", 6)]), tool_version="1")
    texts = [report.render(run) for report in (lint_text, junit, github, markdown, sarif)]
    (result,) = json.loads(sarif.render(run))["runs"][0]["results"]
    (finding,) = json.loads(lint_json.render(run))["findings"]

    assert all("in 5 of the 6 overlays that use this file: a, b, c and 2 more" in text for text in texts)
    assert [*"abcde"] == [
        place["physicalLocation"]["artifactLocation"]["uri"].partition("/")[0]
        for place in result["relatedLocations"]
    ]
    assert (5, 6) == (len(finding["builds"]), finding["usedInBuilds"])
    assert {"file", "object", "field", "message"} == set(finding["builds"][0])
