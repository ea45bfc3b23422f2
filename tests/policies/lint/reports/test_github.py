"""A run of the linter as workflow commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given

from policies.lint.reports.github import render
from policies.lint.reports.run import LintRun
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.skipped import in_groups
from tests.policies.lint.reports.lint_runs import CLEAN, HOSTILE_RUNS, RUN

COMMAND = re.compile(r"::(error|warning|notice) file=([^:,]*),line=(\d+),title=([^:,]*)::(.*)")


def test_render(golden: Callable[[str, str], str]) -> None:
    """A command a finding."""
    actual = render(RUN)

    assert golden("lint.github.txt", actual) == actual


def test_clean() -> None:
    """No findings are no commands."""
    assert "" == render(CLEAN)


def test_escapes() -> None:
    """Characters that would end a property or the command are escaped as the runner reads them."""
    found = Finding(Severity.ERROR, Location("a,b:c%.yaml", 3), FieldPath(), "is 5%,\n::warning::x", "odd")

    assert ("::error file=a%2Cb%3Ac%25.yaml,line=3,title=odd::is 5%25,\\n::warning::x\n") == render(
        replace(CLEAN, result=LintResult([found]))
    )


def _as_read(text: str) -> str:
    """Return an escaped text as the runner reads it."""
    for escape, meant in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, meant)
    return text


@given(HOSTILE_RUNS)
def test_hostile(run: LintRun) -> None:
    """Whatever a manifest contains, a finding is one command with the right texts."""
    lines = render(run).splitlines()
    commands = [match for match in map(COMMAND.fullmatch, lines) if match]

    assert len(run.findings) + len(in_groups(run.skipped)) == len(lines) == len(commands)
    for finding, command in zip(run.findings, commands, strict=False):
        assert one_line(finding.location.file.removeprefix("./")) == _as_read(command[2])
        assert one_line(finding.rule) == _as_read(command[4])
    for command in commands:
        assert all(line.isprintable() for line in _as_read(command[5]).split("\n"))
