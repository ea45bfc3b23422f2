"""An audit as one JSON object, for programs."""

from __future__ import annotations

from typing import Any

import orjson

from policies.manifests.fields import FieldError
from policies.placement.audit import ConstraintSkew, WorkloadAudit
from policies.reports.audit_run import AuditRun
from policies.reports.audit_wording import is_bound, why
from policies.reports.score_json import constraint_fields


def render(run: AuditRun) -> bytes:
    """Return an audit as one line of JSON, without its end.

    ``{"kubernetesVersion", "nodes", "pods", "total", "left", "risks", "origins", "workloads"}``; workloads by
    risk, the worst first.
    """
    return orjson.dumps(
        {
            "kubernetesVersion": str(run.version),
            "nodes": run.nodes,
            "pods": run.pods,
            "total": run.total,
            "left": run.left,
            "risks": {str(risk): count for risk, count in sorted(run.problems.items())},
            "origins": {
                "none" if origin is None else str(origin): count for origin, count in run.origins.items()
            },
            "workloads": [_workload(found) for found in run.workloads],
        }
    )


def _workload(found: WorkloadAudit) -> dict[str, Any]:
    where, room = found.concentration, found.room
    return {
        "namespace": found.namespace,
        "kind": found.kind,
        "name": found.name,
        "replicas": found.wanted,
        "running": found.running,
        "pending": found.pending,
        "problems": [
            {
                "risk": str(problem.risk),
                "severity": str(problem.severity),
                "constraint": problem.constraint,
                "message": why(problem, found),
            }
            for problem in found.problems
        ],
        "constraints": [_constraint(skew) for skew in found.constraints],
        "whyNoConstraints": None if found.why_none is None else str(found.why_none),
        "policy": found.policy,
        "allIn": None
        if where is None
        else {"topologyKey": where.key, "domain": where.domain, "domains": where.domains},
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


def _constraint(skew: ConstraintSkew) -> dict[str, Any]:
    return constraint_fields(skew.applied) | {
        "domains": skew.domains,
        "globalMinimum": skew.minimum,
        "most": skew.most,
        "fullest": skew.fullest,
        "skew": skew.skew,
        "within": skew.within,
        "neverBinds": skew.never_binds,
    }


def _error(error: FieldError) -> dict[str, str]:
    return {"field": str(error.path), "rule": error.rule, "message": error.problem}
