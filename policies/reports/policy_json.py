"""Findings of ``evenkeel policy check`` as one JSON object, whose form ``policy_check.schema.json`` says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from policies.manifests.findings import Finding
from policies.reports.finding_order import in_order

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA = "evenkeel.dev/policy-check/v1"
#: The number of the form's name, from before it had one.
VERSION = 1


def render(findings: Iterable[Finding], documents: int) -> str:
    """Return the findings in so many documents as indented JSON."""
    report = {
        "schema": SCHEMA,
        "version": VERSION,
        "documents": documents,
        "findings": [finding_fields(finding) for finding in in_order(findings)],
    }
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
