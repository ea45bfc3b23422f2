"""Findings of ``evenkeel policy check``: JSON of the form ``policy_check.schema.json``, or a line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, TypeAlias, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.manifests.findings import Finding, Severity
from policies.manifests.wire import dumps
from policies.reports.lint.run import in_order

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/policy-check/v1"
#: The number of the form's name, from before it had one.
VERSION: Final = 1
#: A line of a file, or None.
Line: TypeAlias = Annotated[int | None, Keywords(minimum=1)]


class FindingFields(TypedDict):
    """The fields of a finding in every JSON report.

    Attributes:
        severity: How bad it is, after the policies' settings.
        rule: The id of the rule; of a file that cannot be read, ``unreadable``.
        file: The file, as it was named on the command line or found below a folder that was.
        line: The line of the field or of its nearest ancestor, from 1; null where the whole file is meant.
        field: The field in its object, as Kubernetes writes paths; empty for the whole object.
        message: What was found, with its numbers.
    """

    severity: Severity
    rule: str
    file: str
    line: Line
    field: str
    message: str


class PolicyCheckReport(TypedDict):
    """The result of ``evenkeel policy check``.

    Attributes:
        schema: The form's name; its number changes when a field is renamed, goes away or means something
            else.
        version: The number of the form's name, from before it had one.
        documents: How many SpreadPolicy, KubeSchedulerConfiguration, NodeGroups and InstanceTypes documents
            were checked.
        findings: What was found, by file and line.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    version: Annotated[int, Keywords(const=VERSION)]
    documents: Count
    findings: list[FindingFields]


def render_json(findings: Iterable[Finding], documents: int) -> str:
    """Return the findings in a number of documents as indented JSON."""
    report: PolicyCheckReport = {
        "schema": SCHEMA,
        "version": VERSION,
        "documents": documents,
        "findings": [finding_fields(finding) for finding in in_order(findings)],
    }
    return dumps(report, indent=True).decode()


def finding_fields(finding: Finding) -> FindingFields:
    """Return the fields of a finding in every JSON report."""
    return {
        "severity": finding.severity,
        "rule": finding.rule,
        "file": finding.location.file,
        "line": finding.location.line or None,
        "field": str(finding.path),
        "message": finding.message,
    }


def render_text(findings: Iterable[Finding]) -> str:
    """Return one line a finding, ``file:line: field: problem``; what is no error says so after the line.

    >>> from policies.manifests.fields import FieldPath
    >>> from policies.manifests.findings import Location
    >>> where = Location("web.yaml", 3)
    >>> finding = Finding(Severity.WARNING, where, FieldPath(("spec",)), "is odd", "odd-spec")
    >>> print(render_text([finding]), end="")
    web.yaml:3: warning: spec: is odd
    """
    return "".join(f"{_line(finding)}\n" for finding in in_order(findings))


def _line(finding: Finding) -> str:
    if finding.severity is Severity.ERROR:
        return str(finding)
    where, rest = str(finding.location), str(finding).removeprefix(str(finding.location))
    return f"{where}: {finding.severity}{rest}"
