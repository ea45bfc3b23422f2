"""Deletion costs for a scale-down, as one JSON object: ``deletion_costs.schema.json`` says its form."""

from __future__ import annotations

import orjson

from policies.placement.deletion_costs import DeletionCosts
from policies.reports.deletion_costs_answer import SCHEMA, DeletionCostsAnswer
from policies.reports.deletion_costs_text import commands
from policies.reports.score_json import constraint_fields, replicas_from


def render(found: DeletionCosts) -> bytes:
    """Return what was found as one line of JSON, without its end."""
    workload, request = found.prepared.workload, found.prepared.request
    answer: DeletionCostsAnswer = {
        "schema": SCHEMA,
        "object": {
            "kind": workload.kind.name,
            "namespace": workload.namespace,
            "name": workload.name,
        },
        "running": found.running,
        "replicas": found.replicas,
        "replicasFrom": replicas_from(workload) if found.replicas == workload.replicas else None,
        "whyNoCosts": found.why_none,
        "deleted": [{"pod": pod.name, "node": pod.node} for pod in found.deleted],
        "costs": dict(found.costs),
        "constraints": [
            {
                **constraint_fields(request.constraints[position]),
                "before": dict(before),
                "after": dict(found.after[position]),
            }
            for position, before in found.before.items()
        ],
        "commands": commands(found),
        "notModeled": list(request.pod.unmodeled),
    }
    return orjson.dumps(answer)
