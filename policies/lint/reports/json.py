"""A run of the linter as one JSON object for programs, of the form ``lint.schema.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, NotRequired, TypeAlias, TypedDict

from policies.lint.reports.rule_manual import how_to_fix
from policies.lint.reports.run import LintRun
from policies.manifests.findings import Build, Finding, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind, in_order
from policies.manifests.wire import Count, Keywords, dumps

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/lint/v1"
#: A line of a file, or None.
Line: TypeAlias = Annotated[int | None, Keywords(minimum=1)]


class FindingFields(TypedDict):
    """The fields of a finding in every JSON report."""

    severity: Severity  #: How bad it is, after the policies' settings.
    rule: str  #: The id of the rule; of a file that cannot be read, ``unreadable``.
    file: str  #: The file, as it was named on the command line or found below a folder that was.
    #: The line of the field or of its nearest ancestor, from 1; null where the whole file is meant.
    line: Line
    field: str  #: The field in its object, as Kubernetes writes paths; empty for the whole object.
    message: str  #: What was found, with its numbers.


class BuildFinding(TypedDict):
    """A kustomization that has a finding."""

    file: str  #: The kustomization.
    object: str  #: Kind and name of the object as it was built.
    field: str  #: The field in the object as it was built.
    message: str  #: What was found there, with its numbers.


class LintFinding(FindingFields, TypedDict):
    """One finding about one field."""

    object: str  #: Kind and name of the object; empty where there is none.
    fixable: bool  #: Whether ``evenkeel lint --fix`` can fix it.
    #: How to fix it, in one sentence; null for findings without a rule, such as a file that cannot be read.
    suggestion: str | None
    see: str | None  #: Where the problem that the rule prevents is described; null for what no rule found.
    #: The kustomizations in whose built objects it was found; empty where none was built.
    builds: list[BuildFinding]
    #: How many of the kustomizations that were built use the file; 0 where that is not known.
    usedInBuilds: Count


class SuppressedFinding(LintFinding, TypedDict):
    """A finding that an annotation takes out of force."""

    reason: str  #: The reason that the annotation gives.


class SkippedSource(TypedDict):
    """Something that was not read, or not as it is used."""

    severity: Severity  #: How bad it is: an error if the run fails by it.
    kind: SourceKind  #: What it is.
    file: str  #: The file, or the folder where there is no file to name.
    line: Line  #: The line of the object, from 1; null where the whole file is meant.
    object: str  #: Kind and name of the object; empty where the whole file is meant.
    #: Whether the user names it, on the command line or in ``evenkeel.yaml``, or nothing else of what is
    #: named holds a workload.
    named: bool
    reason: SkipReason  #: Why it was skipped. Later releases may add reasons.
    message: str  #: Why it was skipped, in words, with the error of the tool.
    needs: list[str]  #: What would have to be downloaded.
    suggestion: str | None  #: What to do about it; null where the user chose it.


class RuleStatistics(TypedDict):
    """A rule that has findings."""

    rule: str  #: The id of the rule.
    count: Annotated[int, Keywords(minimum=1)]  #: How many findings it has.


class SkippedRule(TypedDict):
    """A rule that did not run."""

    rule: str  #: The id of the rule.
    reason: str  #: Why it did not run.


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersion:
    """The tool that wrote the report."""

    name: Annotated[str, Keywords(const="evenkeel")] = "evenkeel"  #: Its name.
    version: str  #: Its version.


class LintSummary(TypedDict):
    """How much was checked and found."""

    files: Count  #: Files that were read.
    workloads: Count  #: Pods and workloads that were checked.
    #: Other custom resources with constraints: only the API's rules were run on them, since their controllers
    #: make the pods.
    customResources: Count
    errors: Count  #: Findings in force that are errors.
    warnings: Count  #: Findings in force that are warnings.
    notes: Count  #: Findings in force that are notes.
    #: Findings that annotations, exceptions of policies or ``--autoscale`` take out of force.
    suppressed: Count
    inBaseline: Count  #: Findings that were left out because a baseline holds them.
    hidden: NotRequired[Count]  #: Findings that ``--min-severity`` hides; the run may fail by them.
    skippedSources: NotRequired[Count]  #: Files, charts and other sources that were not read.
    #: Whether a finding is as bad as ``--fail-on`` says, or worse, or something was skipped that
    #: ``--fail-on-skipped`` does not allow.
    failed: bool


class LintReport(TypedDict):
    """The result of ``evenkeel lint`` of this release.

    Later releases may add fields; within v1 none is renamed or goes away.
    """

    schema: Annotated[str, Keywords(const=SCHEMA)]  #: The form's name and version.
    tool: ToolVersion  #: What wrote the report.
    #: The release of Kubernetes that the rules ran with.
    kubernetesVersion: Annotated[str, Keywords(pattern=r"^\d+\.\d+$(?!\n)")]
    summary: LintSummary  #: How much was checked and found.
    findings: list[LintFinding]  #: The findings in force, by file and line, the worst first at one line.
    #: The findings that annotations and exceptions of policies take out of force, and those of rules of thumb
    #: that do not happen with the nodes of ``--autoscale``.
    suppressed: list[SuppressedFinding]
    skipped: list[SkippedRule]  #: Rules that did not run.
    #: How many findings in force each rule has, the most first.
    statistics: NotRequired[list[RuleStatistics]]
    #: Files, charts and other sources that were not read, and objects that were not checked to their end, by
    #: file and line.
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
