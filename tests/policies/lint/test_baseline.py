"""Findings that are known, however they moved."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from policies.lint.baseline import Baseline, raised_findings, read_baseline
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Build, Finding, Location, Severity

ONE = Finding(
    Severity.ERROR, Location("a.yaml", 3), FieldPath(("spec", 0)), "is odd, see b.yaml:7", "odd", "Pod a"
)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param([ONE], 0, id="the same"),
        pytest.param([replace(ONE, location=Location("b.yaml", 9))], 0, id="in another file and line"),
        pytest.param([replace(ONE, message="is even")], 0, id="another message"),
        pytest.param([replace(ONE, severity=Severity.NOTE)], 0, id="another severity"),
        pytest.param([replace(ONE, title="Pod b")], 1, id="another object"),
        pytest.param([replace(ONE, rule="even")], 1, id="another rule"),
        pytest.param([replace(ONE, path=FieldPath(("spec", 1)))], 1, id="another field"),
        pytest.param(
            [replace(ONE, title="", location=Location("b.yaml", 9))], 1, id="another file without object"
        ),
        pytest.param([ONE, ONE, ONE], 1, id="1 more than the 2 that are known"),
    ],
)
def test_new(now: list[Finding], expected: int) -> None:
    """Known findings are left out, as often as they are known."""
    known = Baseline.of([ONE, ONE])
    read = read_baseline(json.dumps(known.document()).encode(), "base.json")

    assert known == read
    assert expected == len(read.new(now)[0])


NOTE = replace(ONE, severity=Severity.NOTE)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([NOTE], [ONE], [Severity.NOTE], id="a note is an error now"),
        pytest.param([ONE], [NOTE], [], id="an error is a note now"),
        pytest.param([], [ONE], [], id="a new one"),
        pytest.param([NOTE, ONE], [ONE, NOTE], [], id="one of each, in another order"),
        pytest.param([NOTE, ONE], [ONE, ONE], [Severity.NOTE], id="one of two"),
    ],
)
def test_raised(before: list[Finding], after: list[Finding], expected: list[Severity]) -> None:
    """A finding that is known may have become worse."""
    assert expected == [raised.was for raised in raised_findings(before, after)]


def built(*overlays: str) -> Finding:
    return replace(
        ONE, builds=tuple(Build(name, f"Pod {name}-a", ONE.path, "is odd") for name in overlays), message="x"
    )


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        pytest.param([built("p", "q")], [built("p", "q")], (0, 0), id="2 overlays of 2"),
        pytest.param([built("p")], [built("p", "q")], (0, 0), id="an overlay more"),
        pytest.param([built("p", "q")], [built("q")], (0, 1), id="an overlay less"),
        pytest.param([built("p")], [built("q")], (1, 1), id="another overlay"),
        pytest.param([built("p"), built("q")], [built("p", "q")], (0, 0), id="2 findings that are 1 now"),
    ],
)
def test_builds(known: list[Finding], now: list[Finding], expected: tuple[int, int]) -> None:
    """A finding of several overlays is known if it is of one of them."""
    new, gone = Baseline.of(known).new(now)

    assert expected == (len(new), gone)


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        pytest.param("", 1, id="empty"),
        pytest.param("[]", 1, id="a list"),
        pytest.param('{"version": 2, "findings": []}', 1, id="another version"),
        pytest.param('{"version": 1, "findings": [1, {"rule": 2, "count": 0}]}', 3, id="3 mistakes"),
        pytest.param("{", 1, id="no JSON"),
    ],
)
def test_broken(content: str, problems: int) -> None:
    """Every problem is told at once, with its file."""
    with pytest.raises(DocumentError) as caught:
        read_baseline(content.encode(), "base.json")

    assert problems == len(caught.value.problems)
    assert all(problem.startswith("base.json") for problem in caught.value.problems)
