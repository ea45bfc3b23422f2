"""A simulation as JSON: what becomes of each pod, and the domains before and after."""

from __future__ import annotations

from typing import Any

import orjson

from policies.placement.simulate import DomainChange, Simulation
from policies.reports.score_json import constraint_fields
from policies.scheduler.binding import Step


def render(simulation: Simulation) -> bytes:
    """Return a simulation as one line of JSON, without its end.

    ``{"steps", "pending", "domains", "allDomains", "notModeled"}``; a step has ``node``, ``score`` (absent
    where one node alone was feasible), ``feasible`` and ``tied``, or ``message`` and ``condition``.
    """
    return orjson.dumps(
        {
            "steps": [step_fields(step) for step in simulation.steps],
            "pending": simulation.pending,
            "domains": [_domain_fields(change) for change in simulation.domains],
            "allDomains": simulation.all_counted,
            "notModeled": list(simulation.unmodeled),
        }
    )


def step_fields(step: Step) -> dict[str, Any]:
    """Return what becomes of one pod."""
    pod = {"name": step.name, "namespace": step.namespace}
    if step.node is None:
        return pod | {"message": step.message, "condition": step.condition}
    bound = {"node": step.node, "feasible": step.feasible, "tied": list(step.tied)}
    return pod | bound | ({} if step.score is None else {"score": step.score})


def _domain_fields(change: DomainChange) -> dict[str, Any]:
    return {
        "pod": change.pod,
        "constraint": change.constraint,
        **constraint_fields(change.applied),
        "before": dict(change.before),
        "after": dict(change.after),
        "skew": change.skew,
    }
