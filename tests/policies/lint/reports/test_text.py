"""A run of the linter for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import click
import pytest
from hypothesis import given

from policies.lint.reports.run import LintRun
from policies.lint.reports.text import Details, render, skipped, summary
from policies.lint.run import LintResult
from policies.manifests.findings import Location
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN


def test_render(golden: Callable[[str, str], str]) -> None:
    """Each finding with its line, a caret, its object and its suggestion; then the summary."""
    actual = render(RUN)

    assert golden("lint.txt", actual) == actual


def test_color() -> None:
    """Colors are wanted or not; the text is the same."""
    colored = render(RUN, Details(color=True))

    assert "\x1b[31m" in colored
    assert render(RUN) == click.unstyle(colored)


def test_clean() -> None:
    """No findings are one line."""
    assert "No findings in 1 file, 0 workloads\n" == render(CLEAN) == summary(CLEAN)


def test_summary() -> None:
    """The summary alone is how the whole report ends."""
    assert render(RUN).endswith(f"\n\n{summary(RUN)}")


def test_a_file_that_looks_like_a_command() -> None:
    """No line starts as GitHub's workflow commands do."""
    found = replace(RUN.findings[0], location=Location("::stop-commands::x.yaml", 1))

    assert render(replace(RUN, result=LintResult([found]))).startswith("./::stop-commands::x.yaml:1: error ")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_width(width: int) -> None:
    """Lines are wrapped at words: the words stay, lines fit where words do, and sources stay as they are."""
    narrow, wide = render(RUN, Details(width=width)), render(RUN)
    margins = str.maketrans(dict.fromkeys("|", " "))

    assert narrow.translate(margins).split() == wide.translate(margins).split()
    assert [] == [line for line in narrow.splitlines() if len(line) > width and _could_be_cut(line)]


def _could_be_cut(line: str) -> bool:
    """Tell whether a line is text that has a blank where it could go on in the next line."""
    head, _, text = line.strip().lstrip("|").strip().partition(" ")
    return "|" not in line and " " in text.partition(": ")[2] and not head.startswith("^")


def test_color_and_width() -> None:
    """Colors take no columns."""
    colored, plain = (render(RUN, Details(color=color, width=60)) for color in (True, False))

    assert plain == click.unstyle(colored)


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        pytest.param(Details(), 3, id="summary"),
        pytest.param(Details(quiet=True), 0, id="quiet"),
        pytest.param(Details(quiet=True, statistics=True), 3, id="quiet with statistics"),
    ],
)
def test_details_of_the_summary(details: Details, expected: int) -> None:
    """A quiet run has no summary, but what was asked for."""
    result = LintResult(RUN.findings[:2], skipped={"single-domain": "needs nodes"})
    run = replace(RUN, result=result, skipped_sources=())

    assert expected == len(summary(run, details).splitlines())
    assert ("single-domain" in summary(run, replace(details, verbose=True))) is (not details.quiet)


def test_a_quiet_run_tells_what_was_skipped() -> None:
    """Silence would look as if all had been read."""
    assert skipped(RUN) == summary(replace(RUN, result=LintResult()), Details(quiet=True))


def test_statistics() -> None:
    """The rule with the most findings comes first."""
    findings = [replace(RUN.findings[0], rule=rule) for rule in ["b", *["c"] * 12, "a"]]
    run = replace(RUN, result=LintResult(findings), skipped_sources=())

    assert ["12  c", " 1  a", " 1  b"] == summary(run, Details(statistics=True)).splitlines()[:3]


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, every line can be printed and a finding has five at most."""
    lines = render(run).splitlines()

    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert len(lines) <= 6 * len(run.findings) + len(run.skipped) + 5
    assert all(len(line) < 20_000 for line in lines)
