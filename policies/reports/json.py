"""Findings as one JSON object for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from policies.findings import Finding
from policies.reports.order import in_order

#: The version of the form; it changes when a field is renamed or goes away.
VERSION = 1


def render(findings: Iterable[Finding]) -> str:
    """Return ``{"version", "findings": [{"severity", "rule", "file", "line", "field", "message"}]}``.

    ``line`` counts from 1 and is null where the whole file is meant; ``field`` is empty for a whole document.
    """
    report = {"version": VERSION, "findings": [finding_fields(finding) for finding in in_order(findings)]}
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def finding_fields(finding: Finding) -> dict[str, Any]:
    """Return what every JSON report says of a finding."""
    return {
        "severity": str(finding.severity),
        "rule": encodable(finding.rule),
        "file": encodable(finding.location.file),
        "line": finding.location.line or None,
        "field": encodable(str(finding.path)),
        "message": encodable(finding.message),
    }


def encodable(text: str) -> str:
    """Return text that UTF-8 can hold; file names may have bytes that are no characters."""
    return text.encode(errors="backslashreplace").decode()
