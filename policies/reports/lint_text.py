"""A run of the linter for people: each finding with its line, a caret under the field, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from policies.findings import Finding, Severity
from policies.reports.builds import overlays
from policies.reports.lint_run import LintRun, plural
from policies.reports.lint_summary import asides, counts, looked_at
from policies.reports.manual import remedy
from policies.reports.printable import one_line
from policies.reports.source_line import mark

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def render(run: LintRun, *, color: bool = False) -> str:
    """Return every finding, file by file, and a summary.

    Args:
        run: What to tell.
        color: Whether to use the terminal's colors.
    """
    style = _Style(color=color)
    parts = [_finding(finding, run, style) for finding in run.findings]
    return "".join(f"{part}\n\n" for part in parts) + _summary(run, style)


def summary(run: LintRun, *, color: bool = False) -> str:
    """Return the summary alone: what a person reads who wrote the findings to a file."""
    return _summary(run, _Style(color=color))


@dataclass(frozen=True, slots=True)
class _Style:
    """Colors text where colors are wanted."""

    color: bool

    def __call__(self, text: str, **looks: Any) -> str:
        return click.style(text, **looks) if self.color else text


def _finding(finding: Finding, run: LintRun, style: _Style) -> str:
    margin = style(_margin(finding), dim=True)
    lines = [_head(finding, style), *_source(finding, run, style)]
    if finding.title:
        lines.append(f"{margin} in {one_line(finding.title)}")
    if told := overlays(finding):
        lines.append(f"{margin} {told}")
    rule = run.rules.get(finding.rule)
    if rule is not None and remedy(rule):
        how = "fix (evenkeel fix writes it)" if finding.fixable else "fix"
        lines.append(f"{margin} {style(how, bold=True)}: {remedy(rule)}")
    return "\n".join(lines)


def _head(finding: Finding, style: _Style) -> str:
    """Return ``file:line: severity rule: field: message``."""
    place = one_line(str(finding.location))
    # GitHub's runner would take a line that starts so for a command.
    where = style(f"./{place}" if place.lstrip().startswith("::") else place, bold=True)
    severity = style(finding.severity, fg=_COLORS[finding.severity], bold=True)
    field = f"{one_line(str(finding.path))}: " if finding.path.segments else ""
    return f"{where}: {severity} {one_line(finding.rule)}: {field}{one_line(finding.message)}"


def _source(finding: Finding, run: LintRun, style: _Style) -> Iterator[str]:
    lines, number = run.source(finding.location.file), finding.location.line
    if not 1 <= number <= len(lines):
        return
    marked = mark(lines[number - 1], finding.path)
    caret = style("^" * marked.carets, fg=_COLORS[finding.severity], bold=True)
    yield f"{style(_margin(finding, number), dim=True)} {marked.text}"
    yield f"{style(_margin(finding), dim=True)} {' ' * marked.blanks}{caret}"


def _margin(finding: Finding, number: int | None = None) -> str:
    """Return what stands left of a line of source, or of what is said of it."""
    width = len(str(finding.location.line))
    return f" {number or '':{width}} |"


def _summary(run: LintRun, style: _Style) -> str:
    told = [style(text, fg=_COLORS[severity]) for severity, text in counts(run).items()]
    if told:
        files = len({finding.location.file for finding in run.result.findings})
        first = f"{', '.join(told)} in {plural(files, 'file')} (looked at {looked_at(run)})"
    else:
        first = f"{style('No findings', fg='green')} in {looked_at(run)}"
    return "".join(f"{line}\n" for line in (first, *asides(run)))
