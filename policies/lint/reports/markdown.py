"""A run of the linter as a Markdown table, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policies.lint.reports.run import LintRun
from policies.lint.reports.summary import (
    asides,
    checked_inputs,
    counts,
    message,
    skipped_count,
    skipped_groups,
)
from policies.manifests.findings import Finding
from policies.manifests.words import more
from policies.reports.markdown import code, text, within

_HEADER: Final = "| severity | where | rule | what |\n|---|---|---|---|\n"


def render(run: LintRun) -> str:
    """Return a heading, a row a finding as far as a comment holds them, and further notes."""
    findings = run.findings
    rows = list(within(map(_row, findings)))
    heading = f"{', '.join(counts(run).values()) or 'no findings'} in {checked_inputs(run)}"
    parts = [f"### evenkeel: {'; '.join(filter(None, (heading, skipped_count(run))))}\n"]
    if rows:
        parts.append(f"{_HEADER}{''.join(rows)}")
    if len(rows) < len(findings):
        parts.append(f"{more(len(findings) - len(rows))}\n")
    parts += _skipped(run)
    parts += [f"{text(line)}\n" for line in asides(run)]
    return "\n".join(parts)


def _skipped(run: LintRun) -> Iterator[str]:
    """Yield a list of what was skipped."""
    if groups := skipped_groups(run.skipped, run.severity_of):
        yield "".join(f"- {each.severity}: {code(each.places)}: {text(each.message)}\n" for each in groups)


def _row(finding: Finding) -> str:
    what = [text(message(finding))]
    if finding.path.segments:
        what.insert(0, code(str(finding.path)))
    if finding.title:
        what.insert(0, f"**{text(finding.title)}**")
    cells = (str(finding.severity), code(str(finding.location)), code(finding.rule), " ".join(what))
    return f"| {' | '.join(cells)} |\n"
