"""A run of the linter as a Markdown table, for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from policies.manifests.findings import Finding
from policies.manifests.sanitize import one_line
from policies.manifests.words import more
from policies.reports.lint.run import LintRun
from policies.reports.lint.summary import (
    asides,
    checked_inputs,
    counts,
    message,
    skipped_count,
    skipped_groups,
)

#: Characters of all rows: GitHub takes comments of 65,536 characters, and this leaves room.
MAX_LENGTH: Final = 50_000
#: Characters of a text in a row, before it is escaped: longer rows cannot be read.
MAX_CELL: Final = 500
_HEADER: Final = "| severity | where | rule | what |\n|---|---|---|---|\n"
#: What Markdown, or a service's reading of it (``:emoji:``, ``#12``), would take for markup.
_MARKUP: Final = re.compile(r"[\\`*_\[\]#!|~$]|:(?=\S)")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
#: Users named after an at sign would be notified of the comment: an empty comment of HTML keeps them apart.
_AT: Final = "@<!-- -->"


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


def within(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the first blocks of a report, as far as a comment holds them."""
    room = MAX_LENGTH
    for block in blocks:
        room -= len(block)
        if room < 0:
            return
        yield block


def _row(finding: Finding) -> str:
    what = [text(message(finding))]
    if finding.path.segments:
        what.insert(0, code(str(finding.path)))
    if finding.title:
        what.insert(0, f"**{text(finding.title)}**")
    cells = (str(finding.severity), code(str(finding.location)), code(finding.rule), " ".join(what))
    return f"| {' | '.join(cells)} |\n"


def text(text: str) -> str:
    r"""Return text that reads as itself.

    >>> print(text("a|b <i> *c*"))
    a\|b &lt;i&gt; \*c\*
    """
    marked = _MARKUP.sub(r"\\\g<0>", one_line(text, MAX_CELL))
    return "".join(_ENTITIES.get(char, char) for char in marked).replace("@", _AT)


def code(text: str) -> str:
    r"""Return text as code, which has no markup but the end of it and the end of a cell.

    >>> print(code("a|`b`"))
    `` a\|`b` ``
    """
    line = one_line(text, MAX_CELL).replace("|", r"\|")
    if not line:
        return ""  # Two fences with nothing between them would open a longer one.
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"
