"""A run of the linter for people: each finding with its line, a caret under the field, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Final

import click

from policies.lint.reports.rule_manual import how_to_fix
from policies.lint.reports.run import LintRun, mark
from policies.lint.reports.summary import (
    asides,
    checked_inputs,
    counts,
    overlays,
    skipped_count,
    skipped_groups,
)
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.words import plural

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


#: The fewest columns that text is wrapped to: words would be one below the other.
_NARROWEST: Final = 20
#: How lines are wrapped: a word that is too long is a path or a name, which people copy.
_AT_WORDS: Final[dict[str, Any]] = {"break_long_words": False, "break_on_hyphens": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The parts of a text report, and its form."""

    color: bool = False  #: Whether to use the terminal's colors.
    #: Columns after which lines go on in the next, at words; None for lines of any length.
    width: int | None = None
    quiet: bool = False  #: Whether the summary is left out; what was skipped is reported all the same.
    verbose: bool = False  #: Whether the rules are named that did not run.
    statistics: bool = False  #: Whether it shows how many findings each rule has.

    def __call__(self, text: str, **looks: Any) -> str:
        """Return a text in colors where they are wanted."""
        return click.style(text, **looks) if self.color else text

    def wrapped(self, head: str, text: str, *, further: str = "") -> Iterator[str]:
        """Yield a text in lines of the terminal's width, wrapped at words; what is longer stays whole.

        Args:
            head: The text before it, perhaps colored.
            text: The text, without colors.
            further: The text before the other lines.
        """
        if self.width is None:
            yield f"{head} {text}" if head else text
            return
        before, rest = (len(click.unstyle(entry)) for entry in (head, further))
        room = max(self.width - rest, _NARROWEST)
        if head and before + 1 + len(text.partition(" ")[0]) > self.width:
            yield head
            head = ""
        # The first line has less room: blanks represent its head meanwhile.
        lines = wrap(text, room, initial_indent=" " * max(before + 1 - rest, 0) if head else "", **_AT_WORDS)
        if head:
            yield f"{head} {''.join(lines[:1]).lstrip()}"
        yield from (further + line for line in (lines[1:] if head else lines))


#: For a file or a pipe: no colors, lines of any length.
PLAIN: Final = Details()


def render(run: LintRun, details: Details = PLAIN) -> str:
    """Return every finding, file by file, and a summary."""
    parts = [_finding(finding, run, details) for finding in run.findings]
    return "".join(f"{part}\n\n" for part in parts) + summary(run, details)


def summary(run: LintRun, details: Details = PLAIN) -> str:
    """Return the summary alone: what a person reads who wrote the findings to a file."""
    lines = list(_skipped(run, details))
    if details.statistics:
        lines += _statistics(run)
    if not details.quiet:
        lines += _summary(run, details)
    return "".join(f"{line}\n" for line in lines)


def skipped(run: LintRun) -> str:
    """Return the skipped sources, and why, a line for each cause."""
    return "".join(f"{line}\n" for line in _skipped(run, PLAIN))


def _finding(finding: Finding, run: LintRun, style: Details) -> str:
    margin = style(_margin(finding), dim=True)
    lines = [*_head(finding, style), *_source(finding, run, style, margin)]
    if finding.title:
        lines.append(f"{margin} in {one_line(finding.title)}")
    if told := overlays(finding):
        lines.append(f"{margin} {told}")
    rule = run.rules.get(finding.rule)
    if rule is not None and (sentence := how_to_fix(rule)):
        how = "fix (evenkeel lint --fix writes it)" if finding.fixable else "fix"
        lines += style.wrapped(f"{margin} {style(how, bold=True)}:", sentence, further=f"{margin}   ")
    return "\n".join(lines)


def _head(finding: Finding, style: Details) -> Iterator[str]:
    """Return ``file:line: severity rule: field: message``."""
    where = style(_place(one_line(str(finding.location))), bold=True)
    severity = style(finding.severity, fg=_COLORS[finding.severity], bold=True)
    field = f"{one_line(str(finding.path))}: " if finding.path.segments else ""
    head = f"{where}: {severity} {one_line(finding.rule)}:"
    return style.wrapped(head, f"{field}{one_line(finding.message)}", further="    ")


def _place(text: str) -> str:
    # GitHub's runner would take a line that starts so for a command.
    return f"./{text}" if text.lstrip().startswith("::") else text


def _source(finding: Finding, run: LintRun, style: Details, margin: str) -> Iterator[str]:
    lines, number = run.source(finding.location.file), finding.location.line
    if not 1 <= number <= len(lines):
        return
    marked = mark(lines[number - 1], finding.path)
    caret = style("^" * marked.carets, fg=_COLORS[finding.severity], bold=True)
    yield f"{style(_margin(finding, number), dim=True)} {marked.text}"
    yield f"{margin} {' ' * marked.blanks}{caret}"


def _margin(finding: Finding, number: int | None = None) -> str:
    """Return the left margin of a line of source, or of a note on it."""
    width = len(str(finding.location.line))
    return f" {number or '':{width}} |"


def _statistics(run: LintRun) -> Iterator[str]:
    """Yield a line for each rule that has findings: how many, and the rule."""
    counted = run.statistics
    width = max((len(f"{count:,}") for _, count in counted), default=0)
    for rule, count in counted:
        yield f"{count:>{width},}  {one_line(rule)}"
    if counted:
        yield ""


def _skipped(run: LintRun, style: Details) -> Iterator[str]:
    for group in skipped_groups(run.skipped, run.severity_of):
        shown = style(group.severity, fg=_COLORS[group.severity], bold=True)
        head = f"{style(_place(group.places), bold=True)}: {shown}:"
        yield from style.wrapped(head, one_line(group.message), further="    ")
    if run.skipped:
        yield ""


def _summary(run: LintRun, style: Details) -> Iterator[str]:
    told = [style(text, fg=_COLORS[severity]) for severity, text in counts(run).items()]
    skipped = skipped_count(run)
    if told:
        files = len({finding.location.file for finding in run.result.findings})
        first = f"{', '.join(told)} in {plural(files, 'file')} (checked {checked_inputs(run)})"
    else:
        # Green is for inputs that were checked completely.
        first = f"{style('No findings', fg='yellow' if skipped else 'green')} in {checked_inputs(run)}"
    yield f"{first}; {skipped}" if skipped else first
    for line in asides(run, verbose=style.verbose):
        yield from style.wrapped("", line)
