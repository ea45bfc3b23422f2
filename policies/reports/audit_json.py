"""An audit as one JSON object, for programs, whose form ``audit.schema.json`` says."""

from __future__ import annotations

import orjson

from policies.manifests.fields import FieldError
from policies.placement.audit import ConstraintSkew, WorkloadAudit
from policies.reports import audit_answer
from policies.reports.audit_run import AuditRun
from policies.reports.audit_wording import is_bound, notes, why
from policies.reports.score_json import constraint_fields


def render(run: AuditRun) -> bytes:
    """Return an audit as one line of JSON, without its end."""
    answer: audit_answer.AuditAnswer = {
        "schema": audit_answer.SCHEMA,
        "tool": {"name": "evenkeel", "version": run.cluster.tool_version},
        "generatedAt": run.cluster.time_text,
        "kubernetesVersion": str(run.cluster.version),
        "namespace": run.cluster.scope.namespace,
        "selector": run.cluster.scope.selector,
        "nodes": run.cluster.nodes,
        "pods": run.cluster.pods,
        "total": run.total,
        "left": run.left,
        "risks": {str(risk): count for risk, count in sorted(run.problems.items())},
        "origins": {
            audit_answer.NO_ORIGIN if origin is None else str(origin): count
            for origin, count in run.origins.items()
        },
        "notes": list(notes(run)),
        "workloads": [workload_fields(found) for found in run.workloads],
    }
    return orjson.dumps(answer)


def workload_fields(found: WorkloadAudit) -> audit_answer.AuditedWorkload:
    """Return what is found of one workload."""
    where, room = found.concentration, found.room
    return {
        "namespace": found.namespace,
        "apiVersion": found.api_version,
        "kind": found.kind,
        "name": found.name,
        "uid": found.uid,
        "replicas": found.wanted,
        "running": found.running,
        "pending": found.pending,
        "problems": [
            {
                "risk": problem.risk,
                "severity": problem.severity,
                "constraint": problem.constraint,
                "message": why(problem, found),
            }
            for problem in found.problems
        ],
        "constraints": [_constraint(skew) for skew in found.constraints],
        "whyNoConstraints": found.why_none,
        "policy": found.policy,
        "allIn": None
        if where is None
        else {"topologyKey": where.key, "domain": where.domain, "domains": where.domains},
        "lostWithWorstZone": None
        if found.worst_zone is None
        else {"zone": found.worst_zone.zone, "pods": found.worst_zone.pods},
        "room": None
        if room is None
        else {
            "pods": room.pods,
            "atMost": is_bound(found),
            "constraint": room.constraint,
            "domain": room.domain or None,
        },
        "feasibleNodes": found.feasible,
        "message": found.message,
        "errors": [_error(error) for error in found.errors],
        "notModeled": list(found.unmodeled),
    }


def _constraint(skew: ConstraintSkew) -> audit_answer.AuditedConstraint:
    return {
        **constraint_fields(skew.applied),
        "domains": skew.domains,
        "globalMinimum": skew.minimum,
        "most": skew.most,
        "fullest": skew.fullest,
        "skew": skew.skew,
        "within": skew.within,
        "neverBinds": skew.never_binds,
    }


def _error(error: FieldError) -> audit_answer.AuditError:
    return {"field": str(error.path), "rule": error.rule, "message": error.problem}
