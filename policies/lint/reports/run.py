"""A run of the linter as every report is given it: what was found, by which tool, and where the text is.

A report of a run is a module with ``render(run) -> str``; ``text`` takes the terminal's colors, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby

from policies.lint.exemptions import Suppressed
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Finding, Severity
from policies.manifests.skipped import FailOnSkipped, Skipped
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.rules.base import Rule, all_rules

#: Columns of a source line that are shown; more only where the line is longer (JSON on one line).
WIDTH = 100
#: Columns that are shown on the left of the caret where a line is cut.
LEAD = 40
#: Names whose patterns are kept: findings are about a few fields.
_KEPT = 256
#: The sign where characters were left out, and for a character that cannot be printed.
CUT, UNPRINTABLE = "…", "\ufffd"


def no_source(_file: str) -> Sequence[str]:
    """Return no lines: what a run without its texts knows of a file."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRun:
    """The result of a run, and the settings of reports."""

    result: LintResult  #: What was found.
    tool_version: str  #: Evenkeel's own version.
    kubernetes_version: KubernetesVersion = KNOWN_VERSION  #: The release that the rules ran with.
    files: Collection[str] = ()  #: The files that were read, as findings name them.
    #: The least finding that makes the run fail; None if none does.
    fail_on: Severity | None = Severity.ERROR
    skipped_sources: Sequence[Skipped] = ()  #: What was not read, and why.
    #: What of it makes the run fail; nothing does where no finding does.
    fail_on_skipped: FailOnSkipped = FailOnSkipped.NAMED
    known: int = 0  #: How many findings were left out because a baseline holds them.
    #: Findings that are not shown, for they are not severe enough; the run may fail by them.
    hidden: Sequence[Finding] = ()
    #: The rules by their ids; findings may have other ids, such as that of an unreadable file.
    rules: Mapping[str, Rule] = field(default_factory=all_rules)
    #: Returns the lines of a file, as its findings name it; empty where they are not known. It is called for
    #: each finding, so it should remember them.
    source: Callable[[str], Sequence[str]] = no_source

    @property
    def findings(self) -> list[Finding]:
        """The findings in force, in the order in which every report lists them."""
        return in_order(self.result.findings)

    @property
    def skipped(self) -> list[Skipped]:
        """The sources that were not read, or not checked to their end, and why."""
        return [*self.skipped_sources, *self.result.cut]

    @property
    def suppressed(self) -> list[Suppressed]:
        """The findings out of force, in the same order."""
        return sorted(self.result.suppressed, key=lambda entry: order(entry.finding))

    def by_file(self) -> Iterator[tuple[str, list[Finding]]]:
        """Yield each file that has findings, with them."""
        for file, findings in groupby(self.findings, key=lambda finding: finding.location.file):
            yield file, list(findings)

    def count(self, severity: Severity) -> int:
        """Return how many findings in force are as bad as this."""
        return sum(finding.severity is severity for finding in self.result.findings)

    def fails(self, least: Severity) -> bool:
        """Return whether a finding is as bad as this or worse."""
        return any(finding.severity.is_as_bad(least) for finding in (*self.result.findings, *self.hidden))

    def without_below(self, least: Severity) -> LintRun:
        """Return the run with the findings hidden that are less bad than a severity."""
        hidden = [finding for finding in self.result.findings if not finding.severity.is_as_bad(least)]
        told = [finding for finding in self.result.findings if finding.severity.is_as_bad(least)]
        return replace(self, result=replace(self.result, findings=told), hidden=hidden)

    @property
    def statistics(self) -> list[tuple[str, int]]:
        """How many findings in force each rule has, the most first."""
        numbers = Counter(finding.rule for finding in self.result.findings)
        return sorted(numbers.items(), key=lambda entry: (-entry[1], entry[0]))

    @property
    def failed(self) -> bool:
        """Whether the run fails, as its exit code shows."""
        return self.fail_on is not None and (self.incomplete or self.fails(self.fail_on))

    @property
    def incomplete(self) -> bool:
        """Whether the run fails because something was skipped."""
        return any(self.severity_of(entry) is Severity.ERROR for entry in self.skipped)

    def severity_of(self, entry: Skipped) -> Severity:
        """Return how bad it is that something was skipped: an error if the run fails by it."""
        return entry.severity(FailOnSkipped.NEVER if self.fail_on is None else self.fail_on_skipped)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by file, line, severity and field; the same findings always in the same order."""
    return sorted(findings, key=order)


def order(finding: Finding) -> tuple[str, int, int, str, str, str]:
    """Return the sort key of a finding."""
    location = finding.location
    rank, path = finding.severity.rank, str(finding.path)
    return location.file, location.line, rank, path, finding.rule, finding.message


@dataclass(frozen=True, slots=True)
class Marked:
    """A line that can be printed, and what is underlined in it."""

    text: str  #: The line, or the part of it around the field.
    blanks: int  #: Columns on the left of the caret.
    carets: int  #: Columns that are underlined, at least 1.


def mark(line: str, path: FieldPath) -> Marked:
    """Return a line with the field, or its nearest ancestor in the line, underlined.

    >>> marked = mark("      - maxSkew: 0", FieldPath(("constraints", 0, "maxSkew")))
    >>> marked.blanks, marked.carets
    (8, 7)
    """
    start, end = span(line, path)
    start_shown = max(start - LEAD, 0) if len(line) > WIDTH else 0
    shown = line[start_shown : start_shown + WIDTH]
    end = max(min(end, start_shown + len(shown)), start + 1)
    before, field = line[start_shown:start], line[start:end]
    front = CUT if start_shown else ""
    back = CUT if start_shown + len(shown) < len(line) else ""
    text = f"{front}{_printable(shown)}{back}".rstrip()
    return Marked(text, _columns(front + _printable(before)), max(_columns(_printable(field)), 1))


def span(line: str, path: FieldPath) -> tuple[int, int]:
    """Return where the field's key is in the line, from and up to; else the line's first word."""
    for segment in reversed(path.segments):
        if isinstance(segment, int):
            # The line may be the entry's first; its dash is then the nearest thing to the field.
            dash = re.match(r"\s*(-)(?=\s|$)", line)
            if dash:
                return dash.span(1)
            continue
        found = list(_key(segment).finditer(line)) if segment in line else []
        if len(found) == 1:
            return found[0].span("key")
        if found:
            # Several entries on one line: no caret is better than one under the wrong entry.
            break
    word = re.search(r"\S+", line)
    return word.span() if word else (0, 1)


@lru_cache(_KEPT)
def _key(name: str) -> re.Pattern[str]:
    """Return a pattern that finds a key of a block mapping, a flow mapping or JSON."""
    quoted = rf"""(?P<key>(?P<quote>["'])?{re.escape(name)}(?(quote)(?P=quote)))"""
    # A bare key ends with a colon and a blank: ``image: app:1`` has no key ``app``.
    return re.compile(rf"(?:^|(?<=[\s{{,\[])){quoted}\s*:(?(quote)|(?=[\s,}}\]]|$))")


def _printable(text: str) -> str:
    """Return a text whose characters are where they were; tabs are one blank wide."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\t" else UNPRINTABLE for char in text)


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
