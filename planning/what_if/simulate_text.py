"""How a simulation ends, in a sentence."""

from __future__ import annotations

from rich.text import Text

from planning.simulation.recovery import PodOutcome
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.simulated_queue import SimulatedQueue
from planning.text import rollout_text
from planning.text.words import (
    endings,
    evictions_text,
    revision_note,
    workload_title,
)
from policies.manifests.words import plural


def verdict(found: SimulatedQueue | SimulatedRollout) -> str:
    """Return how a simulation ends, in a sentence."""
    if isinstance(found, SimulatedRollout):
        return rollout_text.headline(found).plain
    ends, happened = found.ends, found.what_if
    if ends is None or happened is None:
        return headline(found).plain
    text = f"{ends.running:,} of {plural(ends.running + ends.pending, 'replica')} have a node at the end"
    others = [entry for entry in happened.recovery.displaced if not entry.own]
    if not others:
        return f"{text}; no pod of another workload loses its node"
    stuck = sum(entry.outcome is PodOutcome.PENDING for entry in others)
    left = sum(entry.outcome in {PodOutcome.NOT_TRIED, PodOutcome.NOT_RECREATED} for entry in others)
    more = f", {left:,} are not scheduled again" if left else ""
    lose = "loses its node" if len(others) == 1 else "lose theirs"
    return f"{text}; {plural(len(others), 'pod')} of other workloads {lose}: {stuck:,} stay pending{more}"


def headline(simulated: SimulatedQueue) -> Text:
    """Return how many pods of a queue got a node."""
    queue, simulation = simulated.queue, simulated.simulation
    count, placed = simulation.queued, len(simulation.steps) - simulation.pending
    what = "pod" if queue.replicas is None else "replica"
    text = Text("" if queue.prepared is None else f"{workload_title(queue.prepared)}: ")
    if not count:
        if not simulated.is_judged:
            return text.append("nothing is judged: there is no node", "bold red")
        nothing = "nothing to schedule" if simulated.what_if is None else "nothing to schedule besides"
        return text.append(nothing, "bold")
    at_most = "at most " if simulation.unmodeled and placed else ""
    got = f"{at_most}{placed:,} of {plural(count, what)} placed"
    good = simulation.complete and not simulation.pending
    text.append(got, "bold green" if good else "bold red")
    untried = count - len(simulation.steps)
    if simulation.pending:
        so_far = "" if simulation.complete or untried else " so far"
        text.append(f", {simulation.pending:,} pending{so_far}", "bold red")
    if untried:
        text.append(f", {untried:,} not tried", "bold red")
    text.append(f" ({plural(queue.cluster.node_count, 'node')}, Kubernetes {queue.version})")
    if queue.rollout is not None:
        evicts = evictions_text(queue.rollout.courses.worst.evicted)
        return text.append(f", after {endings(queue.rollout)}{evicts and f'; {evicts}'}")
    return text if queue.prepared is None else text.append(revision_note(queue.prepared))
