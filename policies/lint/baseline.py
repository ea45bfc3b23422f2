"""The findings that a repository had when the linter was introduced: they are not reported again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from policies.manifests.documents import load_strictly
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    invalid_value,
    unsupported_value,
)
from policies.manifests.findings import Finding, Severity

#: The version of the file; it changes when a field is renamed or goes away.
VERSION = 1
#: The rule that an invalid entry breaks.
BASELINE_INVALID = "baseline-invalid"


class Fingerprint(NamedTuple):
    """The identity of a finding: it stays when files are renamed, lines move and messages are reworded."""

    rule: str
    object: str
    field: str

    @classmethod
    def of(cls, finding: Finding) -> Fingerprint:
        """Return the fingerprint of a finding.

        >>> from policies.manifests.findings import Location, Severity
        >>> where = Location("web.yaml", 3)
        >>> Fingerprint.of(Finding(Severity.NOTE, where, FieldPath(("spec",)), "see line 9", "odd", "Pod a"))
        Fingerprint(rule='odd', object='Pod a', field='spec')
        """
        # A finding about a whole file has no object.
        return cls(finding.rule, finding.title or finding.location.file, str(finding.path))

    @classmethod
    def each(cls, finding: Finding) -> list[Fingerprint]:
        """Return the fingerprints of a finding: one for each build that has it."""
        builds = (replace(finding, title=build.title, path=build.path) for build in finding.builds)
        return [cls.of(each) for each in builds] or [cls.of(finding)]


@dataclass(frozen=True, slots=True)
class Baseline:
    """How often each finding is known."""

    counts: Counter[Fingerprint]

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Baseline:
        """Return the baseline that knows some findings."""
        return cls(Counter(each for finding in findings for each in Fingerprint.each(finding)))

    def new(self, findings: Iterable[Finding]) -> tuple[list[Finding], int]:
        """Return the findings that are not known, and how many known ones are gone.

        Of like ones those are new that are beyond the known number. A finding of several builds is known if
        it is of one of them: an overlay that comes later makes no other finding of it.
        """
        left = self.counts.copy()
        found = []
        for finding in findings:
            counts = Counter(Fingerprint.each(finding))
            if not any(left[fingerprint] for fingerprint in counts):
                found.append(finding)
            for fingerprint, count in counts.items():
                left[fingerprint] -= min(count, left[fingerprint])
        return found, left.total()

    def document(self) -> dict[str, Any]:
        """Return the file's content, in an order that is always the same."""
        entries = [
            {**fingerprint._asdict(), "count": count} for fingerprint, count in sorted(self.counts.items())
        ]
        return {"version": VERSION, "findings": entries}


class RaisedFinding(NamedTuple):
    """A finding that there was before, and that is worse now."""

    finding: Finding  #: The finding.
    was: Severity  #: Its severity before.


def raised_findings(before: Iterable[Finding], after: Iterable[Finding]) -> list[RaisedFinding]:
    """Return the findings that are known and have become worse; of like ones the worst are compared first."""
    known: dict[Fingerprint, list[Severity]] = {}
    for finding in _worst_last(before):
        for fingerprint in Fingerprint.each(finding):
            known.setdefault(fingerprint, []).append(finding.severity)
    raised = []
    for finding in reversed(_worst_last(after)):
        left = [known[fingerprint] for fingerprint in Fingerprint.each(finding) if known.get(fingerprint)]
        was = [severities.pop() for severities in left]
        if was and not any(severity.is_as_bad(finding.severity) for severity in was):
            raised.append(RaisedFinding(finding, was[0]))
    return raised


def _worst_last(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -finding.severity.rank)


def read_baseline(content: bytes, file: str) -> Baseline:
    """Read the file that ``document`` is the content of.

    Raises:
        DocumentError: It is none; every problem is ``file:line: field: problem``.
    """
    documents = load_strictly(content, file)
    if len(documents) != 1:
        raise DocumentError([f"{file}: must hold one JSON object, as --write-baseline writes it"])
    found, value = ErrorList(), documents[0].value
    top = found.mapping(value, FieldPath())
    if not found.errors and top.get("version") != VERSION:
        version = top.get("version")
        found.add(unsupported_value(FieldPath(("version",)), version, [str(VERSION)], BASELINE_INVALID))
    counts: Counter[Fingerprint] = Counter()
    for path, entry in found.objects(top.get("findings"), FieldPath(("findings",))):
        texts = [found.text(entry.get(name), path.child(name)) for name in Fingerprint._fields]
        count = entry.get("count", 1)
        if type(count) is not int or count < 1:
            text = "must be an integer greater than zero"
            found.add(invalid_value(path.child("count"), count, text, BASELINE_INVALID))
            continue
        counts[Fingerprint(*texts)] += count
    if found.errors:
        raise DocumentError(documents[0].problems(found.errors))
    return Baseline(counts)
