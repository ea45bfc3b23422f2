"""A rollout or a scale for a person in a terminal: how it ends, the domains on the way, every step."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion, RolloutSuggestions
from planning.text.rollout_words import (
    delete_commands,
    suggestion_cost,
    waits_for,
)
from planning.text.suggestion_text import given_up_lines, numbered_changes
from planning.text.words import (
    endings,
    evictions_text,
    search_ended,
    workload_title,
)
from policies.manifests.words import plural
from policies.reports.patch import edit_text


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


def completing_text(
    rollout: Rollout, suggestions: RolloutSuggestions, *, with_nodes: bool = False
) -> Iterator[RenderableType]:
    """Yield the changes with which a rollout completes, or that there is none.

    Args:
        rollout: The rollout.
        suggestions: The changes.
        with_nodes: Whether an autoscaler has added nodes for it.
    """
    namespace = rollout.prepared.workload.namespace
    if not suggestions.found:
        yield Text(f"No single change of the manifest that Evenkeel knows ({suggestions.tried:,} tried).")
    for number, suggestion in enumerate(suggestions.found, start=1):
        changes = [edit_text(edit) for edit in suggestion.edits]
        changes += delete_commands(suggestion, namespace)
        yield from numbered_changes(number, changes, _outcome(suggestion))
        yield from given_up_lines(suggestion.given_up)
    if suggestions.found:
        new = " with the new nodes" if with_nodes else ""
        yield Text(
            f"Each was verified alone: rolled out on this cluster{new}. The first gives up least.", "dim"
        )
    if suggestions.found and (waits := waits_for(rollout)):
        yield Text(waits, "dim")
    if not suggestions.complete:
        yield search_ended(plural(suggestions.tried, "rollout"))


def _outcome(suggestion: RolloutSuggestion) -> Iterator[Text]:
    if suggestion.worst_skews:
        skews = ", ".join(f"{skew:,}" for skew in suggestion.worst_skews)
        yield Text(f"then it completes, skew {'at most ' if suggestion.exact else ''}{skews} after")
    if suggestion.evicted:
        evicted = plural(suggestion.evicted, "pod")
        yield Text(f"then it evicts up to {evicted} of other workloads", "yellow")
    yield Text(f"costs: {suggestion_cost(suggestion)}")
