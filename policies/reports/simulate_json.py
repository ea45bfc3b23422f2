"""A simulation as JSON: what becomes of each pod, and the domains before and after."""

from __future__ import annotations

import orjson

from policies.placement.scheduling_queue import SchedulingQueue, SimulatedQueue
from policies.placement.simulate import DomainChange
from policies.reports import simulate_answer
from policies.reports.score_json import constraint_fields, replicas_from, revision_fields
from policies.reports.what_if_json import what_if_fields
from policies.scheduler.binding import Step


def render(simulated: SimulatedQueue) -> bytes:
    """Return a simulation as one line of JSON, without its end."""
    queue, simulation, happened = simulated.queue, simulated.simulation, simulated.what_if
    answer: simulate_answer.SimulateAnswer = {
        "kubernetesVersion": str(queue.version),
        "nodes": queue.cluster.node_count,
        "nodesToFind": simulated.nodes_to_find,
        "revision": None if queue.prepared is None else revision_fields(queue.prepared),
        "replicas": _replica_fields(queue),
        "seed": simulated.settings.used_seed,
        "steps": [step_fields(step) for step in simulation.steps],
        "complete": simulation.complete,
        "pending": simulation.pending,
        "domains": [domain_fields(change) for change in simulation.domains],
        "allDomains": simulation.all_counted,
        "runs": _run_fields(simulated),
        "whatIf": None if happened is None else what_if_fields(happened),
        "rollout": None,
        "notModeled": list(simulated.unmodeled),
        "notLookedAt": list(simulated.not_looked_at),
    }
    return orjson.dumps(answer)


def _replica_fields(queue: SchedulingQueue) -> simulate_answer.ReplicasBefore | None:
    """Return how many replicas the workload wants, and how many had a node before; None if not known."""
    replicas = queue.replicas
    if replicas is None:
        return None
    workload = None if queue.prepared is None else queue.prepared.workload
    return {
        "wanted": replicas.wanted,
        "wantedFrom": replicas_from(workload),
        "placed": replicas.placed,
    }


def step_fields(step: Step) -> simulate_answer.BoundStep | simulate_answer.PendingStep:
    """Return what becomes of one pod."""
    if step.node is None:
        return {
            "name": step.name,
            "namespace": step.namespace,
            "message": step.message,
            "condition": step.condition,
        }
    bound: simulate_answer.BoundStep = {
        "name": step.name,
        "namespace": step.namespace,
        "node": step.node,
        "feasible": step.feasible,
        "tied": list(step.tied),
    }
    if step.score is not None:
        bound["score"] = step.score
    return bound


def domain_fields(change: DomainChange) -> simulate_answer.SimulatedDomains:
    """Return the domains of a constraint before and after."""
    return {
        "pod": change.pod,
        "constraint": change.constraint,
        **constraint_fields(change.applied),
        "before": dict(change.before),
        "after": dict(change.after),
        "skew": change.skew,
    }


def _run_fields(simulated: SimulatedQueue) -> simulate_answer.SimulationRuns | None:
    """Return what became of the pods every time; None if they were scheduled once."""
    found = simulated.distribution
    if found is None:
        return None
    return {
        "wanted": simulated.settings.runs,
        "done": found.runs,
        "pending": [{"pods": pods, "runs": runs} for pods, runs in found.pending.items()],
        "domains": [
            {
                "least": dict(spread.least),
                "median": dict(spread.median),
                "most": dict(spread.most),
                "skews": [{"skew": skew, "runs": runs} for skew, runs in spread.skews.items()],
            }
            for spread in found.domains
        ],
    }
