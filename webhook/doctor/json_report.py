"""A diagnosis as one JSON object for programs, whose form ``doctor.schema.json`` says."""

from __future__ import annotations

from typing import Any

import orjson

from webhook.doctor.diagnosis import Diagnosis
from webhook.doctor.facts import Known
from webhook.doctor.finding import Finding, Status

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA = "evenkeel.dev/doctor/v1"


def render(diagnosis: Diagnosis) -> str:
    """Return the diagnosis as indented JSON."""
    facts = diagnosis.facts
    version = str(facts.version.value) if isinstance(facts.version, Known) else None
    report = {
        "schema": SCHEMA,
        "tool": {"name": "evenkeel", "version": facts.tool_version},
        "server": diagnosis.url,
        "kubernetesVersion": version,
        "namespace": facts.names.namespace,
        "service": facts.names.service,
        "webhooks": facts.names.webhooks,
        "summary": {
            "problems": diagnosis.count(Status.PROBLEM),
            "warnings": diagnosis.count(Status.WARNING),
            "skipped": diagnosis.count(Status.SKIPPED),
            "ok": diagnosis.count(Status.OK),
        },
        "findings": list(map(_finding, diagnosis.findings)),
    }
    return orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _finding(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    return {
        "group": finding.group,
        "check": finding.check,
        "status": str(verdict.status),
        "evidence": verdict.evidence,
        "remedy": verdict.remedy or None,
    }
