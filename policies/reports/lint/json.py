"""A run of the linter as one JSON object for programs, of the form ``lint.schema.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, NotRequired, TypeAlias, TypedDict

from policies.config.type_schema import Count, Keywords
from policies.manifests.findings import Build, Finding, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, in_order
from policies.manifests.wire import dumps
from policies.reports.lint.rule_manual import how_to_fix
from policies.reports.lint.run import LintRun

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/lint/v1"
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


class BuildFinding(TypedDict):
    """A kustomization that has a finding.

    Attributes:
        file: The kustomization.
        object: Kind and name of the object as it was built.
        field: The field in the object as it was built.
        message: What was found there, with its numbers.
    """

    file: str
    object: str
    field: str
    message: str


class LintFinding(FindingFields, TypedDict):
    """One finding about one field.

    Attributes:
        object: Kind and name of the object; empty where there is none.
        fixable: Whether ``evenkeel fix`` can fix it.
        suggestion: How to fix it, in one sentence; null for findings without a rule, such as a file that
            cannot be read.
        see: Where the problem that the rule prevents is described; null for what no rule found.
        builds: The kustomizations in whose built objects it was found; empty where none was built.
        usedInBuilds: How many of the kustomizations that were built use the file; 0 where that is not known.
    """

    object: str
    fixable: bool
    suggestion: str | None
    see: str | None
    builds: list[BuildFinding]
    usedInBuilds: Count


class SuppressedFinding(LintFinding, TypedDict):
    """A finding that an annotation takes out of force.

    Attributes:
        reason: The reason that the annotation gives.
    """

    reason: str


class SkippedSource(TypedDict):
    """Something that was not read, or not as it is used.

    Attributes:
        severity: How bad it is: an error if the run fails by it.
        kind: What it is.
        file: The file, or the folder where there is no file to name.
        line: The line of the object, from 1; null where the whole file is meant.
        object: Kind and name of the object; empty where the whole file is meant.
        named: Whether the user names it, on the command line or in ``evenkeel.yaml``, or nothing else of what
            is named holds a workload.
        reason: Why it was skipped. Later releases may add reasons.
        message: Why it was skipped, in words, with the error of the tool.
        needs: What would have to be downloaded.
        suggestion: What to do about it; null where the user chose it.
    """

    severity: Severity
    kind: SourceKind
    file: str
    line: Line
    object: str
    named: bool
    reason: SkipReason
    message: str
    needs: list[str]
    suggestion: str | None


class RuleStatistics(TypedDict):
    """A rule that has findings.

    Attributes:
        rule: The id of the rule.
        count: How many findings it has.
    """

    rule: str
    count: Annotated[int, Keywords(minimum=1)]


class SkippedRule(TypedDict):
    """A rule that did not run.

    Attributes:
        rule: The id of the rule.
        reason: Why it did not run.
    """

    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersion:
    """The tool that wrote the report.

    Attributes:
        name: Its name.
        version: Its version.
    """

    name: Annotated[str, Keywords(const="evenkeel")] = "evenkeel"
    version: str


class LintSummary(TypedDict):
    """How much was checked and found.

    Attributes:
        files: Files that were read.
        workloads: Pods and workloads that were checked.
        customResources: Other custom resources with constraints: only the API's rules were run on them, since
            their controllers make the pods.
        errors: Findings in force that are errors.
        warnings: Findings in force that are warnings.
        notes: Findings in force that are notes.
        suppressed: Findings that annotations, exceptions of policies or ``--autoscale`` take out of force.
        inBaseline: Findings that were left out because a baseline holds them.
        hidden: Findings that ``--min-severity`` hides; the run may fail by them.
        skippedSources: Files, charts and other sources that were not read.
        failed: Whether a finding is as bad as ``--fail-on`` says, or worse, or something was skipped that
            ``--fail-on-skipped`` does not allow.
    """

    files: Count
    workloads: Count
    customResources: Count
    errors: Count
    warnings: Count
    notes: Count
    suppressed: Count
    inBaseline: Count
    hidden: NotRequired[Count]
    skippedSources: NotRequired[Count]
    failed: bool


class LintReport(TypedDict):
    """The result of ``evenkeel lint`` of this release.

    Later releases may add fields; within v1 none is renamed or goes away.

    Attributes:
        schema: The form's name and version.
        tool: What wrote the report.
        kubernetesVersion: The release of Kubernetes that the rules ran with.
        summary: How much was checked and found.
        findings: The findings in force, by file and line, the worst first at one line.
        suppressed: The findings that annotations and exceptions of policies take out of force, and those of
            rules of thumb that do not happen with the nodes of ``--autoscale``.
        skipped: Rules that did not run.
        statistics: How many findings in force each rule has, the most first.
        skippedSources: Files, charts and other sources that were not read, and objects that were not checked
            to their end, by file and line.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]
    tool: ToolVersion
    kubernetesVersion: Annotated[str, Keywords(pattern=r"^\d+\.\d+$(?!\n)")]
    summary: LintSummary
    findings: list[LintFinding]
    suppressed: list[SuppressedFinding]
    skipped: list[SkippedRule]
    statistics: NotRequired[list[RuleStatistics]]
    skippedSources: NotRequired[list[SkippedSource]]


def render(run: LintRun) -> str:
    """Return the run as indented JSON; ``line`` is null where a whole file is meant."""
    report: LintReport = {
        "schema": SCHEMA,
        "tool": ToolVersion(version=run.tool_version),
        "kubernetesVersion": str(run.kubernetes_version),
        "summary": _summary(run),
        "findings": [_finding(finding, run) for finding in run.findings],
        "suppressed": [{**_finding(entry.finding, run), "reason": entry.reason} for entry in run.suppressed],
        "skipped": [{"rule": rule, "reason": why} for rule, why in sorted(run.result.skipped.items())],
        "statistics": [{"rule": rule, "count": count} for rule, count in run.statistics],
        "skippedSources": [_skipped(entry, run) for entry in in_order(run.skipped)],
    }
    return dumps(report, indent=True).decode()


def _summary(run: LintRun) -> LintSummary:
    return {
        "files": len(run.files),
        "workloads": run.result.workloads,
        "customResources": run.result.custom_resources,
        "errors": run.count(Severity.ERROR),
        "warnings": run.count(Severity.WARNING),
        "notes": run.count(Severity.NOTE),
        "suppressed": len(run.result.suppressed),
        "inBaseline": run.known,
        "hidden": len(run.hidden),
        "skippedSources": len(set(run.skipped)),
        "failed": run.failed,
    }


def _skipped(entry: Skipped, run: LintRun) -> SkippedSource:
    return {
        "severity": run.severity_of(entry),
        "kind": entry.kind,
        "file": entry.location.file,
        "line": entry.location.line or None,
        "object": entry.title,
        "named": entry.named,
        "reason": entry.reason,
        "message": entry.message,
        "needs": list(entry.needs),
        "suggestion": entry.suggestion or None,
    }


def _finding(finding: Finding, run: LintRun) -> LintFinding:
    rule = run.rules.get(finding.rule)
    return {
        **finding_fields(finding),
        "object": finding.title,
        "fixable": finding.fixable,
        "suggestion": how_to_fix(rule) if rule else None,
        "see": rule.see if rule else None,
        "builds": [_build(build) for build in finding.builds],
        "usedInBuilds": finding.used_in_builds,
    }


def _build(build: Build) -> BuildFinding:
    return {
        "file": build.file,
        "object": build.title,
        "field": str(build.path),
        "message": build.message,
    }


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
