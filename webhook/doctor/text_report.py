"""A diagnosis for people: group by group, a line for each finding and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import click

from policies.reports.lint_run import plural
from policies.reports.sanitize import one_line
from webhook.doctor.diagnosis import Diagnosis
from webhook.doctor.facts import Known
from webhook.doctor.finding import Finding, Status

_COLORS: Final = {Status.PROBLEM: "red", Status.WARNING: "yellow", Status.SKIPPED: "cyan", Status.OK: "green"}
#: Columns of a status, and how far in a remedy stands.
_WIDTH: Final = max(len(status) for status in Status)


def render(diagnosis: Diagnosis, *, color: bool = False) -> str:
    """Return every finding and a summary.

    Args:
        diagnosis: What to tell.
        color: Whether to use the terminal's colors.
    """
    return "".join(f"{line}\n" for line in _lines(diagnosis, _Style(color=color)))


@dataclass(frozen=True, slots=True)
class _Style:
    """Colors text where colors are wanted."""

    color: bool

    def __call__(self, text: str, **looks: Any) -> str:
        return click.style(text, **looks) if self.color else text


def _lines(diagnosis: Diagnosis, style: _Style) -> Iterator[str]:
    facts = diagnosis.facts
    version = f" (Kubernetes {facts.version.value})" if isinstance(facts.version, Known) else ""
    yield f"Evenkeel in namespace {one_line(facts.names.namespace)} of {one_line(diagnosis.url)}{version}"
    for group, findings in groupby(diagnosis.findings, key=lambda finding: finding.group):
        yield ""
        yield style(group, bold=True)
        for alike in _alike(findings):
            yield from _told(alike, style)
    yield ""
    yield _summary(diagnosis, style)


def _alike(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Yield findings one by one; checks that were skipped for one reason together."""
    for skipped, entries in groupby(findings, key=lambda finding: finding.verdict.status is Status.SKIPPED):
        together: dict[object, list[Finding]] = {}
        for entry in entries:
            together.setdefault(entry.verdict.evidence if skipped else len(together), []).append(entry)
        yield from together.values()


def _told(findings: list[Finding], style: _Style) -> Iterator[str]:
    verdict = findings[0].verdict
    checks = ", ".join(dict.fromkeys(finding.check for finding in findings))
    status = style(
        f"{verdict.status:<{_WIDTH}}",
        fg=_COLORS[verdict.status],
        bold=verdict.status is Status.PROBLEM or None,
    )
    yield f"  {status}  {checks}: {one_line(verdict.evidence)}"
    if verdict.remedy:
        yield f"  {'':{_WIDTH}}  {style('do:', bold=True)} {one_line(verdict.remedy)}"


def _summary(diagnosis: Diagnosis, style: _Style) -> str:
    problems, warnings = diagnosis.count(Status.PROBLEM), diagnosis.count(Status.WARNING)
    fine, skipped = diagnosis.count(Status.OK), diagnosis.count(Status.SKIPPED)
    if diagnosis.blind:
        told_nothing = f"Nothing of the installation could be looked at: {plural(skipped, 'check')} skipped"
        return style(told_nothing, fg="red", bold=True)
    told = [
        style(plural(problems, "problem"), fg="red", bold=True)
        if problems
        else style("No problems", fg="green")
    ]
    if warnings:
        told.append(style(plural(warnings, "warning"), fg="yellow"))
    told.append(f"{fine} ok")
    if skipped:
        told.append(style(f"{skipped} skipped", fg="cyan"))
    return ", ".join(told)
