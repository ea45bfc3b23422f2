"""The summary of a run as a whole."""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

import pytest

from policies.lint.reports import github, junit, markdown, sarif
from policies.lint.reports import json as lint_json
from policies.lint.reports import text as lint_text
from policies.lint.reports.run import LintRun
from policies.lint.reports.summary import (
    MAX_GROUPS,
    asides,
    bundles,
    checked_inputs,
    counts,
    overlays,
    skipped_count,
    skipped_groups,
)
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Build, Finding, Location, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from tests.policies.lint.reports.lint_runs import CLEAN, RUN


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


def test_generated_files() -> None:
    """A file that repeats the findings of several others is suggested for exclude."""
    found = [
        Finding(Severity.NOTE, Location(file), FieldPath(), "is odd", "odd", title)
        for file, titles in {"all.yaml": "ab", "a.yaml": "a", "b.yaml": "b"}.items()
        for title in titles
    ]
    repeated = "2 findings repeated from other files in all.yaml: exclude in evenkeel.yaml what is generated"

    assert [repeated] == list(asides(replace(CLEAN, result=LintResult(found))))


def test_skipped() -> None:
    """How much was skipped, and what was for the same reason together, with everything that it needs."""
    assert "3 charts, 1 HelmRelease, 1 file and 1 object were skipped" == skipped_count(RUN)
    assert "" == skipped_count(CLEAN)
    twice = [replace(RUN.skipped[0], message=f"release {name}") for name in "ab"]
    assert "1 chart was skipped" == skipped_count(replace(CLEAN, skipped_sources=twice))
    groups = skipped_groups(RUN.skipped, RUN.severity_of)
    assert [
        (Severity.ERROR, "charts/shop/Chart.yaml"),
        (Severity.WARNING, "charts/a/Chart.yaml, charts/b/Chart.yaml"),
        (Severity.WARNING, "apps/web.yaml:4"),
        (Severity.WARNING, "b.yaml:7"),
        (Severity.NOTE, "secrets.yaml"),
    ] == [(group.severity, group.places) for group in groups]
    needed = "common 2.x.x from oci://example.com/charts, redis 1.0.0 from https://example.com"
    assert groups[1].message.endswith(f": {needed}; {RUN.skipped[1].suggestion}")


def _templates(*messages: str) -> list[Skipped]:
    return [
        Skipped(
            location=Location(f"{number}.yaml"),
            kind=SourceKind.FILE,
            reason=SkipReason.TEMPLATE,
            message=message,
        )
        for number, message in enumerate(messages)
    ]


def test_skipped_by_cause() -> None:
    """Messages that differ in names and numbers only are one cause, with one suggestion."""
    alike = _templates("by its @A@ in line 4", "by its {b[c]} in line 15", "by its %s in line 1")
    (group,) = skipped_groups(alike)

    assert f"3 files skipped, the first as: by its @A@ in line 4; {alike[0].suggestion}" == group.message
    assert "0.yaml, 1.yaml, 2.yaml" == group.places


def test_every_reason_has_a_suggestion() -> None:
    """Except for what was asked for."""
    (entry,) = _templates("x")
    without = {reason for reason in SkipReason if not replace(entry, reason=reason).suggestion}
    assert {SkipReason.GIT_IGNORED, SkipReason.SWITCHED_OFF} == without


@pytest.mark.parametrize("form", [lint_text, github, sarif, junit, markdown])
def test_many_causes(form: ModuleType) -> None:
    """No report has more entries for what was skipped than a person reads; the worst are told."""
    letters = [f"{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
    worst = replace(_templates("worst")[0], location=Location("z.yaml"), named=True)
    run = replace(CLEAN, skipped_sources=[*_templates(*letters), worst])
    told = form.render(run)

    assert "worst" in told
    assert MAX_GROUPS - 1 == sum(f": {each}; {worst.suggestion}" in told for each in letters)
    assert "91 more skipped for 91 other causes" in told


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


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a": "x", "b": "y", "all": "xy"}, {"all": 2}, id="one of two sources"),
        pytest.param(
            {"a": "x", "b": "y", "all": "xy", "ha": "xy"}, {"all": 2, "ha": 2}, id="two of the same"
        ),
        pytest.param({"a": "x", "b": "x"}, {}, id="copies by hand"),
        pytest.param({"a": "xy", "b": "xy"}, {}, id="larger copies by hand"),
        pytest.param({"a": "x", "all": "xyz"}, {}, id="with findings of its own"),
        pytest.param({"a": "x", "b": "y"}, {}, id="different ones"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_bundles(files: dict[str, str], expected: dict[str, int]) -> None:
    """A bundle has all findings of several files, and more than each."""
    found = [
        Finding(Severity.NOTE, Location(file, line), FieldPath(("spec",)), "is odd", "odd", f"Pod {name}")
        for file, names in files.items()
        for line, name in enumerate(names)
    ]

    assert expected == bundles(found)
