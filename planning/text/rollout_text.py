"""A rollout or a scale for a person in a terminal: how it ends, the domains on the way, every step."""

from __future__ import annotations

from rich.text import Text

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.text.words import (
    endings,
    evictions_text,
    workload_title,
)
from policies.manifests.words import plural


def headline(simulated: SimulatedRollout) -> Text:
    """Return how a rollout ends."""
    rollout = simulated.rollout
    likely, worst = rollout.courses.likely.outcome, rollout.outcome
    unmodeled = " as far as the pods are modeled" if rollout.unmodeled else ""
    text = Text(f"{workload_title(rollout.prepared)}: ")
    good = likely is worst is RolloutEnd.COMPLETE and not rollout.evicted_pending
    text.append(endings(rollout) + unmodeled, "bold green" if good else "bold red")
    evicts, at_worst = (evictions_text(course.evicted) for course in rollout.ends)
    if evicts:
        text.append(f"; {evicts}", "bold yellow")
    if at_worst not in {"", evicts}:
        text.append(f"; possibly {at_worst}", "bold yellow")
    if simulated.autoscaled is not None and simulated.autoscaled.nodes:
        text.append(f", with {plural(len(simulated.autoscaled.nodes), 'new node')}")
    text.append(f" ({plural(simulated.nodes, 'node')}, Kubernetes {rollout.prepared.version})")
    return text
