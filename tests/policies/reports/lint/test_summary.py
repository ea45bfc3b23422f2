"""What is said of a run as a whole."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from policies.reports.lint import github, junit, markdown, sarif
from policies.reports.lint import text as lint_text
from policies.reports.lint.summary import (
    MAX_GROUPS,
    asides,
    checked_inputs,
    counts,
    skipped_count,
    skipped_groups,
)
from tests.policies.reports.lint.lint_runs import CLEAN, RUN


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
    """What repeats the findings of several files is suggested for exclude."""
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
