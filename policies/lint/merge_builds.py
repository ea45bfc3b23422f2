"""One finding of those that several builds have of one line of a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from policies.lint.exemptions import Suppressed, SuppressedBy
from policies.lint.run import LintResult
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Build, Finding, Location

#: A number of a message that may differ from build to build, and not one of a name or a release.
_NUMBER: Final = re.compile(r"(?<![\w./-])(\d+)(?![\w/-]|\.\d)")


def merge_builds(result: LintResult) -> None:
    """Make one finding of those that several builds have of one line, and of those with the same message."""
    exempt = {_key(entry.finding, 0) for entry in result.suppressed if entry.finding.builds}
    result.findings = [
        # What one build is exempt from must not be fixed where all are written.
        replace(found, fixable=False) if found.fixable and _key(found, 0) in exempt else found
        for found in _merged(result.findings)
    ]
    reasons: dict[tuple[str, SuppressedBy], list[Finding]] = {}
    for entry in result.suppressed:
        reasons.setdefault((entry.reason, entry.by), []).append(entry.finding)
    result.suppressed = [
        Suppressed(finding, reason, by)
        for (reason, by), findings in reasons.items()
        for finding in _merged(findings)
    ]


_Key = tuple[str, Location, FieldPath, str, str, int]


def _key(finding: Finding, number: int) -> _Key:
    """Return the key of findings that are reported as one."""
    if finding.location.line and finding.builds:
        return finding.rule, finding.location, finding.path, finding.title, "", number
    return finding.rule, finding.location, finding.path, finding.title, finding.message, 0


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    groups: dict[object, list[Finding]] = {}
    seen: Counter[tuple[_Key, Build | None]] = Counter()
    for position, finding in enumerate(findings):
        if finding.location.line and not finding.builds:
            groups[position] = [finding]
            continue
        # A rule may report a field twice: the second problem of each build goes with the second of others.
        place = _key(finding, 0), replace(finding.builds[0], message="") if finding.builds else None
        groups.setdefault(_key(finding, seen[place]), []).append(finding)
        seen[place] += 1
    return [_one(group) if len(group) > 1 else group[0] for group in groups.values()]


def _one(group: list[Finding]) -> Finding:
    worst = min(group, key=lambda finding: finding.severity.rank)
    builds = dict.fromkeys(build for finding in group for build in finding.builds)
    return replace(
        worst,
        message=common_message([finding.message for finding in group]),
        fixable=all(finding.fixable for finding in group),
        builds=tuple(sorted(builds, key=lambda build: (build.file, build.title, str(build.path)))),
    )


def common_message(messages: Sequence[str]) -> str:
    """Return one message for several: numbers that differ as a range, else the most frequent message.

    >>> common_message(["of 3 replicas 1 is left", "of 5 replicas 1 is left"])
    'of 3 to 5 replicas 1 is left'
    """
    counts = Counter(messages)
    parts = [_NUMBER.split(message) for message in counts]
    if len({tuple(part[::2]) for part in parts}) > 1:
        return max(counts, key=lambda message: counts[message])
    return "".join(
        column[0] if number % 2 == 0 else _range(list(map(int, column)))
        for number, column in enumerate(zip(*parts, strict=True))
    )


def _range(numbers: list[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"
