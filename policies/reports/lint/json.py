"""A run of the linter as one JSON object for programs, whose form ``lint.schema.json`` says."""

from __future__ import annotations

from policies.manifests.findings import Build, Finding, Severity
from policies.manifests.skipped import Skipped, in_order
from policies.manifests.wire import dumps
from policies.reports.lint import answer as lint_report
from policies.reports.lint.rule_manual import how_to_fix
from policies.reports.lint.run import LintRun
from policies.reports.policy.check_json import finding_fields


def render(run: LintRun) -> str:
    """Return the run as indented JSON; ``line`` is null where a whole file is meant."""
    report: lint_report.LintReport = {
        "schema": lint_report.SCHEMA,
        "tool": lint_report.ToolVersion(version=run.tool_version),
        "kubernetesVersion": str(run.kubernetes_version),
        "summary": _summary(run),
        "findings": [_finding(finding, run) for finding in run.findings],
        "suppressed": [{**_finding(entry.finding, run), "reason": entry.reason} for entry in run.suppressed],
        "skipped": [{"rule": rule, "reason": why} for rule, why in sorted(run.result.skipped.items())],
        "statistics": [{"rule": rule, "count": count} for rule, count in run.statistics],
        "skippedSources": [_skipped(entry, run) for entry in in_order(run.skipped)],
    }
    return dumps(report, indent=True).decode()


def _summary(run: LintRun) -> lint_report.LintSummary:
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


def _skipped(entry: Skipped, run: LintRun) -> lint_report.SkippedSource:
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


def _finding(finding: Finding, run: LintRun) -> lint_report.LintFinding:
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


def _build(build: Build) -> lint_report.BuildFinding:
    return {
        "file": build.file,
        "object": build.title,
        "field": str(build.path),
        "message": build.message,
    }
