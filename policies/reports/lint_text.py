"""A run of the linter for people: each finding with its line, a caret under the field, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from policies.findings import Finding, Severity
from policies.reports.lint_run import LintRun, plural
from policies.reports.lint_summary import asides, counts, looked_at, skipped_count, skipped_groups
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


def skipped(run: LintRun) -> str:
    """Return what was skipped, and why, a line for each reason."""
    return "".join(f"{line}\n" for line in _skipped(run, _Style(color=False)))


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
    rule = run.rules.get(finding.rule)
    if rule is not None and remedy(rule):
        # What has no line was rendered, and that is not the place to mend it.
        written = finding.fixable and finding.location.line
        how = "fix (evenkeel fix writes it)" if written else "fix"
        lines.append(f"{margin} {style(how, bold=True)}: {remedy(rule)}")
    return "\n".join(lines)


def _head(finding: Finding, style: _Style) -> str:
    """Return ``file:line: severity rule: field: message``."""
    where = style(_place(one_line(str(finding.location))), bold=True)
    severity = style(finding.severity, fg=_COLORS[finding.severity], bold=True)
    field = f"{one_line(str(finding.path))}: " if finding.path.segments else ""
    return f"{where}: {severity} {one_line(finding.rule)}: {field}{one_line(finding.message)}"


def _place(text: str) -> str:
    # GitHub's runner would take a line that starts so for a command.
    return f"./{text}" if text.lstrip().startswith("::") else text


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


def _skipped(run: LintRun, style: _Style) -> Iterator[str]:
    for severity, places, message in skipped_groups(run):
        shown = style(severity, fg=_COLORS[severity], bold=True)
        yield f"{style(_place(places), bold=True)}: {shown}: {message}"
    if run.skipped:
        yield ""


def _summary(run: LintRun, style: _Style) -> str:
    told = [style(text, fg=_COLORS[severity]) for severity, text in counts(run).items()]
    skipped = skipped_count(run)
    if told:
        files = len({finding.location.file for finding in run.result.findings})
        first = f"{', '.join(told)} in {plural(files, 'file')} (looked at {looked_at(run)})"
    else:
        # Green is for what was looked at as a whole.
        first = f"{style('No findings', fg='yellow' if skipped else 'green')} in {looked_at(run)}"
    if skipped:
        first += f"; {skipped}"
    return "".join(f"{line}\n" for line in (*_skipped(run, style), first, *asides(run)))
