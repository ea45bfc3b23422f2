"""Findings of several builds in one line of a source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.lint.exemptions import Suppressed, SuppressedBy
from policies.lint.merge_builds import common_message, merge_builds
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Build, Finding, Location, Severity

PATH = FieldPath(("spec", 0))


def a_finding(overlay: str, message: str = "of 3 replicas", line: int = 7) -> Finding:
    build = Build(f"{overlay}/k.yaml", "Pod a", PATH, message)
    place = Location("base.yaml", line)
    return Finding(Severity.NOTE, place, PATH, message, "odd", "Pod a", fixable=True, builds=(build,))


A, B = a_finding("a"), a_finding("b")


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param([A, B], [("of 3 replicas", 2)], id="2 overlays say the same"),
        pytest.param([A, a_finding("b", "of 5 replicas")], [("of 3 to 5 replicas", 2)], id="other numbers"),
        pytest.param([A, a_finding("b", line=8)], [("of 3 replicas", 1)] * 2, id="2 lines"),
        pytest.param([A, replace(B, rule="even")], [("of 3 replicas", 1)] * 2, id="2 rules"),
        pytest.param(
            [A, a_finding("a", "again"), B, a_finding("b", "again")],
            [("of 3 replicas", 2), ("again", 2)],
            id="2 things of one field, in each of 2 overlays",
        ),
        pytest.param(
            [replace(A, location=Location("a.yaml")), replace(B, location=Location("b.yaml"))],
            [("of 3 replicas", 1)] * 2,
            id="2 kustomizations without a line",
        ),
        pytest.param([replace(A, builds=())] * 2, [("of 3 replicas", 0)] * 2, id="a file, twice"),
        pytest.param(
            [replace(A, builds=(), location=Location("chart/web.yaml"))] * 2,
            [("of 3 replicas", 0)],
            id="a template, rendered twice",
        ),
    ],
)
def test_merge(findings: list[Finding], expected: list[tuple[str, int]]) -> None:
    """One finding a place, with the overlays that have it."""
    result = LintResult(findings=findings)
    merge_builds(result)

    assert expected == [(finding.message, len(finding.builds)) for finding in result.findings]


def test_the_worst_counts() -> None:
    """Of several severities the worst is told, and what one overlay is exempt from is not mended for all."""
    result = LintResult([A, replace(B, severity=Severity.ERROR)], [Suppressed(a_finding("c"), "why")])
    merge_builds(result)

    assert [(Severity.ERROR, False)] == [(each.severity, each.fixable) for each in result.findings]
    assert [("c/k.yaml",)] == [tuple(b.file for b in entry.finding.builds) for entry in result.suppressed]


def test_what_takes_a_finding_out_of_force() -> None:
    """Findings of one reason are told apart by what takes them out of force."""
    kinds = list(SuppressedBy)
    result = LintResult([], [Suppressed(a_finding("a"), "why", by) for by in kinds])
    merge_builds(result)

    assert kinds == [entry.by for entry in result.suppressed]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(["1 of 2", "1 of 2"], "1 of 2", id="the same"),
        pytest.param(["1 of 9", "1 of 2", "1 of 5"], "1 of 2 to 9", id="9, 2 and 5"),
        pytest.param(["a", "b", "b"], "b", id="other words: the most frequent"),
        pytest.param(["since 1.30", "since 1.31"], "since 1.30", id="releases are no numbers"),
    ],
)
def test_common_message(messages: list[str], expected: str) -> None:
    """Numbers that differ become a range."""
    assert expected == common_message(messages)
