"""The order in which every report lists findings: by place, the worst first at one place."""

from __future__ import annotations

from collections.abc import Iterable

from policies.manifests.findings import Finding, Severity

_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by file, line, severity and field; the same findings always in the same order."""
    return sorted(findings, key=order)


def order(finding: Finding) -> tuple[str, int, int, str, str, str]:
    """Return the sort key of a finding."""
    location = finding.location
    rank = _RANK[finding.severity]
    return location.file, location.line, rank, str(finding.path), finding.rule, finding.message
