"""A run of the linter as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

import orjson

from policies.lint.exemptions import SuppressedBy
from policies.lint.reports.rule_manual import explained, section
from policies.lint.reports.run import LintRun, span
from policies.lint.reports.summary import message, skipped_groups
from policies.manifests.findings import Build, Finding, Severity
from policies.manifests.skipped import Skipped
from policies.manifests.wire import encodable
from policies.manifests.words import IN_PHRASE

#: The address of the form's schema, as the standard gives it.
SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The name of our fingerprints; its number changes when they are made of something else.
FINGERPRINT: Final = "evenkeelFinding/v1"
#: Hexadecimal digits of a fingerprint: 128 bits.
FINGERPRINT_LENGTH: Final = 32
#: What GitHub's code scanning calls severities.
_GITHUB_SEVERITY: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "recommendation",
}
#: The texts of a finding that no rule made, such as an unreadable file; GitHub requires all three.
_NO_RULE: Final = {
    "shortDescription": {"text": "A reason why rules did not run."},
    "fullDescription": {"text": "A file, a document or an annotation that cannot be used as it is."},
    "help": {"text": "The message says what was found and what is allowed."},
}
#: Bytes of a path that represent themselves in a URI: RFC 3986's unreserved ones, and the slash.
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def render(run: LintRun) -> str:
    """Return the run as indented JSON; what is exempt is there, and marked as suppressed."""
    suppressed = run.suppressed
    told = [*run.findings, *(entry.finding for entry in suppressed)]
    rules = {rule: index for index, rule in enumerate(sorted({finding.rule for finding in told}))}
    results = [_result(finding, run) | {"ruleIndex": rules[finding.rule]} for finding in told]
    for result, fingerprint in zip(results, _fingerprints(told), strict=True):
        result["partialFingerprints"] = {FINGERPRINT: fingerprint}
    for result, entry in zip(results[len(told) - len(suppressed) :], suppressed, strict=True):
        kind = "inSource" if entry.by is SuppressedBy.ANNOTATION else "external"
        result["suppressions"] = [{"kind": kind, "justification": encodable(entry.reason)}]
    report = {
        "tool": {"driver": _driver(run, rules)},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(run)],
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [report]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def uri(file: str) -> str:
    """Return a file's name as a URI, relative where the name is.

    >>> uri("a b/ä%.yaml"), uri("./c:d.yaml"), uri("/srv/x.yaml")
    ('a%20b/%C3%A4%25.yaml', 'c%3Ad.yaml', 'file:///srv/x.yaml')
    """
    # A second slash at the start would make the first name of the path a host.
    path = f"/{file.lstrip('/')}" if file.startswith("/") else file.removeprefix("./")
    text = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in encodable(path).encode())
    return f"file://{text}" if text.startswith("/") else text


def _driver(run: LintRun, rules: Iterable[str]) -> dict[str, Any]:
    return {
        "name": "evenkeel",
        "version": run.tool_version,
        "rules": [_descriptor(rule, run) for rule in rules],
        "properties": {"kubernetesVersion": str(run.kubernetes_version)},
    }


def _descriptor(rule_id: str, run: LintRun) -> dict[str, Any]:
    """Return a rule's manual."""
    rule = run.rules.get(rule_id)
    if rule is None:
        return {"id": encodable(rule_id), **_NO_RULE}
    what, why = (" ".join(section(rule, title).split()) for title in ("What it finds", "Why it matters"))
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{what} {why}".strip() or rule.summary},
        "help": {"text": section(rule, "How to fix") or rule.summary, "markdown": explained(rule)},
        "helpUri": rule.see,
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {
            "tags": ["kubernetes", "reliability"],
            "problem.severity": _GITHUB_SEVERITY[rule.severity],
        },
    }


def _result(finding: Finding, run: LintRun) -> dict[str, Any]:
    said = (finding.title, str(finding.path), message(finding))
    result: dict[str, Any] = {
        "ruleId": encodable(finding.rule),
        "level": str(finding.severity),
        "message": {"text": encodable(": ".join(filter(None, said)))},
        "locations": [_location(finding, run)],
    }
    if finding.builds:
        result["relatedLocations"] = [
            _built_in(number, build) for number, build in enumerate(finding.builds, start=1)
        ]
    return result


def _built_in(number: int, build: Build) -> dict[str, Any]:
    said = encodable(": ".join((build.title, str(build.path), build.message)))
    return {"id": number, "physicalLocation": _place(build.file, 1), "message": {"text": said}}


def _location(finding: Finding, run: LintRun) -> dict[str, Any]:
    artifact = _artifact(finding.location.file)
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": artifact, "region": _region(finding, run)}
    }
    field = encodable(str(finding.path))
    if field or finding.title:
        parts = filter(None, (encodable(finding.title), field))
        location["logicalLocations"] = [
            {"name": field or encodable(finding.title), "fullyQualifiedName": ": ".join(parts)}
        ]
    return location


def _artifact(file: str) -> dict[str, str]:
    artifact = {"uri": uri(file)}
    if not encodable(file).startswith("/"):
        artifact["uriBaseId"] = "%SRCROOT%"
    return artifact


def _region(finding: Finding, run: LintRun) -> dict[str, Any]:
    number = finding.location.line
    lines = run.source(finding.location.file)
    if not 1 <= number <= len(lines):
        # GitHub rejects a location without a line; a problem of a whole file is reported at its first.
        return {"startLine": max(number, 1)}
    start, end = span(lines[number - 1], finding.path)
    return {"startLine": number, "startColumn": start + 1, "endColumn": end + 1}


def _fingerprints(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield for each finding what it is known by after lines were moved or numbers of the message changed."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        parts = (finding.rule, finding.location.file, finding.title, str(finding.path))
        text = "\0".join(map(encodable, (*parts, str(seen[parts]))))
        seen[parts] += 1
        yield sha256(text.encode()).hexdigest()[:FINGERPRINT_LENGTH]


def _invocation(run: LintRun) -> dict[str, Any]:
    notifications = [
        {
            "level": "note",
            "message": {"text": f"{rule} did not run: {encodable(why)}"},
            "associatedRule": {"id": rule},
        }
        for rule, why in sorted(run.result.skipped.items())
    ]
    return {
        "executionSuccessful": not run.incomplete,
        "toolConfigurationNotifications": notifications,
        "toolExecutionNotifications": [
            {
                "descriptor": {"id": f"skipped/{group.entries[0].reason}"},
                "level": str(group.severity),
                "message": {"text": encodable(group.message)},
                "locations": [
                    {"physicalLocation": _place(file, line)}
                    # Each place once, as SARIF wants it.
                    for file, line in list(dict.fromkeys(map(_line_of, group.entries)))[:IN_PHRASE]
                ],
            }
            for group in skipped_groups(run.skipped, run.severity_of)
        ],
    }


def _line_of(entry: Skipped) -> tuple[str, int]:
    return entry.location.file, max(entry.location.line, 1)


def _place(file: str, line: int) -> dict[str, Any]:
    """Return a place outside of what rules find in a text, such as a whole file."""
    return {"artifactLocation": _artifact(file), "region": {"startLine": line}}
