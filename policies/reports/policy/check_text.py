"""Findings as lines of text, one each, in the form that editors and CI systems jump to."""

from __future__ import annotations

from collections.abc import Iterable

from policies.manifests.findings import Finding, Severity
from policies.reports.lint.order import in_order


def render(findings: Iterable[Finding]) -> str:
    """Return one line a finding, ``file:line: field: problem``; what is no error says so after the line.

    >>> from policies.manifests.fields import FieldPath
    >>> from policies.manifests.findings import Location
    >>> where = Location("web.yaml", 3)
    >>> print(render([Finding(Severity.WARNING, where, FieldPath(("spec",)), "is odd", "odd-spec")]), end="")
    web.yaml:3: warning: spec: is odd
    """
    return "".join(f"{_line(finding)}\n" for finding in in_order(findings))


def _line(finding: Finding) -> str:
    if finding.severity is Severity.ERROR:
        return str(finding)
    where, rest = str(finding.location), str(finding).removeprefix(str(finding.location))
    return f"{where}: {finding.severity}{rest}"
