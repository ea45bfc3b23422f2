"""The answer to a simulate request: pods that were scheduled, or a workload that was rolled out."""

from __future__ import annotations

from collections.abc import Mapping

from policies.placement.rollout.simulated_rollout import SimulatedRollout
from policies.placement.simulate.simulated_queue import SimulatedQueue
from policies.reports.rollout import text as rollout_text
from policies.reports.simulate import json as simulate_json
from policies.reports.simulate import text as simulate_text


def render_json(found: SimulatedQueue | SimulatedRollout) -> bytes:
    """Return the answer for programs."""
    return simulate_json.render(found)


def render_text(found: SimulatedQueue | SimulatedRollout, *, width: int, color: bool) -> str:
    """Return the answer for people."""
    if isinstance(found, SimulatedRollout):
        return rollout_text.render(found, width=width, color=color)
    return simulate_text.render(found, width=width, color=color)


def counts(found: SimulatedQueue | SimulatedRollout) -> Mapping[str, int]:
    """Return the counts to log."""
    if isinstance(found, SimulatedRollout):
        cluster, pods = found.rollout.prepared.cluster, found.rollout.replicas
    else:
        cluster, pods = found.queue.cluster, len(found.queue.pods)
    return {"nodes": cluster.node_count, "pods": pods, "pending": found.pending}
