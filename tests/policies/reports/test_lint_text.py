"""A run of the linter for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import click
from hypothesis import given

from policies.evaluation.linting import LintResult
from policies.findings import Location
from policies.reports.lint_run import LintRun
from policies.reports.lint_text import render, summary
from tests.policies.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN


def test_render(golden: Callable[[str, str], str]) -> None:
    """Each finding with its line, a caret, its object and its remedy; then the summary."""
    actual = render(RUN)

    assert golden("lint.txt", actual) == actual


def test_color() -> None:
    """Colors are wanted or not; the text is the same."""
    colored = render(RUN, color=True)

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


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever stands in a manifest, every line can be printed and a finding has five at most."""
    lines = render(run).splitlines()

    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert len(lines) <= 6 * len(run.findings) + len(run.skipped) + 5
    assert all(len(line) < 20_000 for line in lines)
