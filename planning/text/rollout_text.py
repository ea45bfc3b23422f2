"""A rollout or a scale for a person in a terminal: how it ends, the domains on the way, every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from planning.simulation.rollout.courses import Course, RolloutEnd
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion, RolloutSuggestions
from planning.text.autoscale_text import autoscaled_text
from planning.text.domains import domain_table
from planning.text.rollout_words import (
    assumptions,
    delete_commands,
    left_over,
    not_looked_at,
    strategy,
    suggestion_cost,
    trace_lines,
    trace_table,
    waits_for,
)
from planning.text.suggestion_text import given_up_lines, numbered_changes
from planning.text.what_if_text import evicted_text
from planning.text.words import (
    constraint_title,
    dropped,
    endings,
    evictions_text,
    lost_volumes_text,
    replica_origin_text,
    search_ended,
    unmodeled_note,
    workload_title,
)
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.reports.patch import edit_text
from policies.reports.terminal import both_ends, indented, item, print_all, section, sentence
from policies.scheduler.skew import skew_of

MOST_TRACED: Final = 24
#: What makes a skew on the way larger than that of the likely course, where pods go and come together.
_OTHER_ORDER: Final = "as pods are deleted and bound in another order, or by other choices"
#: What the worst course differs by from the likely one.
_OTHER_CHOICES: Final = "if other pods or nodes are chosen among equal ones"


def render(simulated: SimulatedRollout, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(simulated), width=width, color=color)


def _parts(simulated: SimulatedRollout) -> Iterator[RenderableType]:
    rollout, suggestions = simulated.rollout, simulated.suggestions
    yield headline(simulated)
    if not rollout.scaled:
        yield from replica_origin_text(rollout.prepared.workload)
    yield Text(_summary(rollout))
    yield from _constraints(rollout)
    likely, worst = rollout.ends
    yield from _course("What happens", likely, rollout)
    evicts, at_worst = (evictions_text(course.evicted) for course in (likely, worst))
    if worst.outcome is not likely.outcome or evicts != at_worst:
        yield from _course(f"What can happen {_OTHER_CHOICES}", worst, rollout)
    if simulated.autoscaled is not None:
        yield from autoscaled_text(simulated.autoscaled)
    if suggestions.found or (
        not rollout.scaled and rollout.outcome in {RolloutEnd.PENDING, RolloutEnd.DEADLOCK}
    ):
        yield from _suggestions(simulated)
    yield from _notes(simulated)


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


def _summary(rollout: Rollout) -> str:
    if rollout.scaled:
        return f"Replicas: from {rollout.running or rollout.placed:,} to {rollout.replicas:,}"
    replicas = plural(rollout.replicas, "replica")
    return f"{replicas}, {strategy(rollout)}"


def _constraints(rollout: Rollout) -> Iterator[RenderableType]:
    prepared = rollout.prepared
    if prepared.why_none:
        yield from ("", Text(f"No constraint is in force: {prepared.why_none}."))
    for position, applied in enumerate(prepared.request.constraints):
        yield ""
        yield item(position + 1, constraint_title(applied, prepared.policy))
        yield indented(_skews(rollout, position))
        likely = rollout.courses.likely
        columns = (likely.before[position], likely.peaks[position].counts, likely.after[position])
        if columns[-1]:
            titles = ("BEFORE", "WORST", "AFTER")
            yield indented(domain_table(titles, columns, shown=2))
    yield from dropped(prepared)


def _skews(rollout: Rollout, position: int) -> Text:
    courses = rollout.courses
    likely, worst = courses.likely, courses.worst_skews[position]
    if not likely.after[position]:
        return Text("no eligible node has the key")
    applied, before = rollout.prepared.request.constraints[position], likely.before[position]
    peak, after = likely.peaks[position], likely.skews[position]
    text = Text(f"skew {skew_of(applied, before):,} before, ")
    if peak.step:
        text.append(f"{peak.skew:,} at worst (after step {peak.step:,}), ")
    text.append(f"{after:,} after")
    if (most := courses.worst_peaks[position]) > max(peak.skew, worst):
        text.append(f"; up to {most:,} for a moment {_OTHER_ORDER}", "yellow")
    if worst > after:
        text.append(f"; up to {worst:,} {_OTHER_CHOICES}", "yellow")
    if applied.is_hard and max(after, worst) > applied.constraint.max_skew:
        text.append(f"; above maxSkew {applied.constraint.max_skew}", "bold yellow")
    if not courses.exact:
        text.append(f"; {courses.count:,} courses were tried, not all there are", "dim")
    return text


def _course(title: str, course: Course, rollout: Rollout) -> Iterator[RenderableType]:
    yield from ("", Text(title, "bold"))
    if not course.steps:
        yield Text("Nothing.")
    lines = list(map(trace_table, trace_lines(course.steps, scaled=rollout.scaled)))
    first, last = both_ends(lines, MOST_TRACED)
    yield from first
    if left := len(lines) - len(first) - len(last):
        yield Text(f"... {plural(left, 'more line')}; -o json has the steps", "dim")
    yield from last
    if course.pending:
        yield Text(
            f"{plural(len(course.pending), 'pod')} pending in the end: {listed(course.pending, IN_PHRASE)}",
            "red",
        )
        yield sentence(course.message)
        yield from map(Text, lost_volumes_text(course.lost_volumes))
    if course.outcome is RolloutEnd.DEADLOCK:
        yield Text(_why_stuck(course, rollout), "red")
    yield from evicted_text(course.evicted)


def _why_stuck(course: Course, rollout: Rollout) -> str:
    """Return why no old pod goes."""
    stay = f"{left_over(course)} stay{'s' if course.old == 1 else ''}"
    if rollout.stateful is not None:
        return f"{stay}: the controller waits for the pending pod before it replaces another."
    update = rollout.update
    if update is None:
        return f"{stay}."
    least = rollout.replicas - update.unavailable
    return f"{stay}: at least {least:,} must be available (maxUnavailable {update.unavailable})."


def _suggestions(simulated: SimulatedRollout) -> Iterator[RenderableType]:
    complete = simulated.rollout.outcome is RolloutEnd.COMPLETE
    title = f"What would {'keep it within maxSkew' if complete else 'make it complete'}"
    with_nodes = simulated.autoscaled is not None and bool(simulated.autoscaled.nodes)
    yield from section(
        title, completing_text(simulated.rollout, simulated.suggestions, with_nodes=with_nodes)
    )


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


def _notes(simulated: SimulatedRollout) -> Iterator[RenderableType]:
    """Yield notes on what the numbers leave out."""
    rollout = simulated.rollout
    yield ""
    for text in assumptions(rollout):
        yield Text(text, "dim")
    if unmodeled := rollout.unmodeled:
        yield Text(unmodeled_note(unmodeled), "yellow")
    yield Text(f"Not looked at: {', '.join(not_looked_at(simulated))}.", "dim")
