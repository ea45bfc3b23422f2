"""A plan as one JSON object for programs, whose form ``plan.schema.json`` says."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

from policies.manifests.findings import Finding
from policies.manifests.skipped import Skipped, in_order
from policies.placement.plan import PlannedWorkload
from policies.placement.plan_differences import PlanAction, WorkloadKey
from policies.placement.plan_domains import PlannedDomains
from policies.placement.rollout import Rollout
from policies.reports.plan_run import PlanRun
from policies.reports.policy_json import encodable, finding_fields
from policies.reports.rollout_words import NOT_IN_ROLLOUT, assumptions, strategy
from policies.reports.score_json import constraint_fields

#: The form's name; its number changes when a field is renamed, goes away or means something else.
SCHEMA: Final = "evenkeel.dev/plan/v1"
#: The JSON Schema of the form, in this package.
SCHEMA_FILE: Final = "plan.schema.json"
#: Steps of the worst course that are listed.
MAX_TRACED: Final = 200


def render(run: PlanRun) -> str:
    """Return the plan as indented JSON."""
    return orjson.dumps(fields(run), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


@cache
def schema_text() -> str:
    """Return the JSON Schema of the form."""
    return resources.files(__package__).joinpath(SCHEMA_FILE).read_text(encoding="utf-8")


def fields(run: PlanRun) -> dict[str, Any]:
    """Return the plan as JSON has it."""
    plan = run.plan
    return {
        "schema": SCHEMA,
        "tool": {"name": "evenkeel", "version": run.tool_version},
        "kubernetesVersion": str(run.kubernetes_version),
        "comparedWith": encodable(run.compared_with),
        "summary": {
            **{str(action): plan.count(action) for action in PlanAction},
            "unchanged": plan.unchanged,
            "pending": plan.pending,
            "deadlocks": plan.deadlocks,
            "newFindings": len(run.new),
            "goneFindings": len(run.gone),
            "raisedFindings": len(run.raised),
            "unplanned": run.unplanned,
            "incomplete": run.incomplete,
            "failed": run.failed,
        },
        "workloads": [_workload(workload) for workload in plan.workloads],
        "newFindings": [_finding(finding) for finding in run.new_findings],
        "goneFindings": [_finding(finding) for finding in run.gone_findings],
        "raisedFindings": [
            _finding(raised.finding) | {"severityBefore": str(raised.was)} for raised in run.raised_findings
        ],
        "skippedSources": [_skipped(entry) for entry in in_order(run.skipped)],
        "notPlanned": [
            *(_unplanned(entry.key, "placeholders", changed=entry.changed) for entry in run.unfinished),
            *(_unplanned(key, "stopped") for key in plan.stopped),
        ],
        "placedFirst": plan.assumed,
        "notLookedAt": list(NOT_IN_ROLLOUT),
    }


def _unplanned(key: WorkloadKey, reason: str, *, changed: bool = True) -> dict[str, Any]:
    name = encodable(f"{key.kind} {key.namespace}/{key.name}")
    return {"workload": name, "reason": reason, "changed": changed}


def _workload(workload: PlannedWorkload) -> dict[str, Any]:
    pods, key = workload.pods, workload.key
    return {
        "action": str(workload.action),
        "kind": encodable(key.kind),
        "namespace": encodable(key.namespace),
        "name": encodable(key.name),
        "builds": list(map(encodable, workload.builds)),
        "alternative": workload.alternative,
        "differences": [str(found) for found in workload.differences],
        "policy": None if workload.policy is None else encodable(workload.policy),
        "pods": {
            "now": pods.running,
            "wanted": pods.wanted,
            "deleted": pods.removed,
            "scheduled": len(pods.steps) - len(workload.pending),
            "pending": len(workload.pending),
            "notTried": pods.untried,
            "nextOnly": pods.next_only,
            "recreated": pods.recreated,
        },
        "rollout": None if pods.rollout is None else _rollout(pods.rollout),
        "domains": [_domains(domains) for domains in workload.domains],
        "pending": [
            {"name": encodable(step.name), "message": encodable(step.message)} for step in workload.pending
        ],
        "errors": [
            {"field": encodable(str(error.path)), "message": encodable(error.problem)}
            for error in workload.errors
        ],
        "notModeled": [encodable(name) for name in workload.unmodeled],
    }


def _rollout(rollout: Rollout) -> dict[str, Any]:
    worst = rollout.courses.worst
    return {
        "kind": "scale" if rollout.scaled else "rollout",
        "strategy": strategy(rollout),
        "likely": str(rollout.courses.likely.outcome),
        "worst": str(worst.outcome),
        "assumptions": list(assumptions(rollout)),
        "steps": len(worst.steps),
        "trace": [
            {
                "action": str(step.action),
                "pod": encodable(step.pod),
                "new": step.new,
                "node": None if step.node is None else encodable(step.node),
            }
            for step in worst.steps[:MAX_TRACED]
        ],
    }


def _domains(domains: PlannedDomains) -> dict[str, Any]:
    return {
        **constraint_fields(domains.applied),
        "new": domains.is_new,
        "gone": domains.is_gone,
        "now": {encodable(name): count for name, count in sorted(domains.now.items())},
        "after": {encodable(name): count for name, count in sorted(domains.after.items())},
        "skew": domains.skew,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return finding_fields(finding) | {"object": encodable(finding.title)}


def _skipped(entry: Skipped) -> dict[str, Any]:
    return {
        "kind": str(entry.kind),
        "file": encodable(entry.location.file),
        "line": entry.location.line or None,
        "object": encodable(entry.title),
        "reason": str(entry.reason),
        "message": encodable(entry.message),
        "needs": [encodable(need) for need in entry.needs],
    }
