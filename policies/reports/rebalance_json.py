"""What brings a workload back within maxSkew, as one JSON object: ``rebalance.schema.json`` says its form."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from policies.placement.placement import PreparedPod
from policies.placement.rebalance import Eviction, RebalancePlan
from policies.reports import rebalance_answer
from policies.reports.rebalance_text import certainty, commands
from policies.reports.score_json import constraint_fields
from policies.reports.simulate_json import step_fields


def render(prepared: PreparedPod, plan: RebalancePlan, unread: Sequence[str] = ()) -> bytes:
    """Return a plan as one line of JSON, without its end; what could not be read for it is in its notes."""
    workload = prepared.workload
    answer: rebalance_answer.RebalanceAnswer = {
        "schema": rebalance_answer.SCHEMA,
        "object": {
            "kind": workload.kind.name,
            "namespace": workload.namespace,
            "name": workload.name,
        },
        "whyNoPlan": plan.why_none,
        "evictions": [_eviction(eviction) for eviction in plan.evictions],
        "fewest": plan.least,
        "proven": plan.proven,
        "certainty": None if plan.why_none is not None else certainty(plan),
        "stuck": None if plan.stuck is None else _eviction(plan.stuck),
        "constraints": [
            {
                **constraint_fields(prepared.request.constraints[position]),
                "before": dict(before),
                "after": dict(plan.after[position]),
            }
            for position, before in plan.before.items()
        ],
        "commands": commands(prepared, plan),
        "budgets": dict(plan.budgets),
        "notModeled": list(prepared.request.pod.unmodeled),
        "notes": list(unread),
    }
    return orjson.dumps(answer)


def _eviction(eviction: Eviction) -> rebalance_answer.PlannedEviction:
    return {"pod": eviction.pod, "node": eviction.node, "replacement": step_fields(eviction.replacement)}
