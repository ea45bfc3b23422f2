"""Advice for a person in a terminal: the constraints to write, why, and the proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.advise.advise import Advice
from planning.advise.goal import Goal
from planning.advise.goal_trial import PlacedReplicas, RolledOut
from planning.advise.played_goal import of_workload
from planning.advise.words import (
    best_text,
    constraint_reasons,
    domain_text,
    failure_text,
    goal_text,
    not_proven,
    others_text,
    ties,
    verdict,
)
from planning.simulation.outcome import Outcome
from planning.simulation.rollout.courses import RolloutEnd
from planning.text.outcome import counts_table, losses_tables, survival_table, verdict_line
from planning.text.suggestion_text import given_up_text
from planning.text.words import constraint_title, dropped, unmodeled_note, workload_title
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_TABLE, more, plural
from policies.reports.terminal import indented, item, numbers, plain_table, print_all, section
from policies.scheduler.request import ConstraintOrigin, apply_constraint


def render(advice: Advice, *, width: int, color: bool) -> str:
    """Return the report as text, no line longer than the width but the scheduler's messages."""
    return print_all(_parts(advice), width=width, color=color)


def _parts(advice: Advice) -> Iterator[RenderableType]:
    prepared = advice.trial.prepared
    is_good = advice.is_met and (advice.chosen is not None or advice.is_met_now)
    style = "bold red" if not is_good else "bold yellow" if advice.trial.evicts else "bold green"
    yield Text.assemble(
        workload_title(prepared), " ", (verdict(advice), style), f" (Kubernetes {prepared.version})"
    )
    yield Text(f"Goal {goal_text(advice.goal)}.")
    if advice.chosen is not None and (failure := advice.as_is.failure(advice.goal)) is not None:
        yield Text(f"As it is, {failure_text(failure, advice.goal)}.")
    elif advice.chosen is not None:
        evicted = plural(advice.as_is.evicts, "pod")
        yield Text(f"As it is, it reaches the goal and evicts up to {evicted} of other workloads.")
    if best := best_text(advice):
        yield Text(best)
    if advice.now is not None:
        yield Text(_now(advice.now, advice.goal))
    yield from dropped(prepared)
    yield from _constraints(advice)
    yield from section("Proof", _proof(advice))
    if advice.outcome is not None:
        yield from section("Once it is applied to the cluster as it is", _applied(advice, advice.outcome))
    yield ""
    yield from (Text(line, "yellow") for line in (*_of_constraints(advice), *_left_out(advice)))


def _now(now: PlacedReplicas, goal: Goal) -> str:
    """Return where the replicas are that run now; advice is about those that replace them."""
    run = f"{plural(now.replicas, 'replica')} run{'s' if now.replicas == 1 else ''}"
    text = f"Now {run}, {now.count:,} of them in {domain_text(now.domain, goal)}"
    allowed = goal.allowed(now.replicas)
    more = f", {allowed:,} allowed: that changes only when they are replaced" if now.count > allowed else ""
    return f"{text}{more}."


def _constraints(advice: Advice) -> Iterator[RenderableType]:
    if advice.chosen is None:
        return
    behavior, labels = advice.trial.prepared.request.behavior, advice.workload.template.labels
    yield from section("Constraints to write (--diff prints the change)", ())
    for number, constraint in enumerate(advice.chosen.wanted, start=1):
        applied = apply_constraint(constraint, labels, origin=ConstraintOrigin.POD, behavior=behavior)
        text = constraint_title(applied, None)
        yield item(number, text[: text.plain.rindex(",")])
        for _, why in constraint_reasons(constraint, advice):
            yield indented(Text(why))
    if text_of_others := others_text(advice):
        yield Text(text_of_others)
    for each in advice.given_up:
        yield Text(given_up_text(each), "yellow")


def _proof(advice: Advice) -> Iterator[RenderableType]:
    trial, goal = advice.trial, advice.goal
    yield Text(
        f"The replicas are placed one after another with kube-scheduler's whole profile, {ties(trial)}."
    )
    if trial.placed and goal.limit is not None:
        yield _placed_table(advice, _shown(trial.placed, advice))
    if not trial.message:
        added = f"; {trial.added:,} of them on a node that is added" if trial.added == 1 else ""
        added = f"; {trial.added:,} nodes are added for them" if trial.added > 1 else added
        all_of = "The replica gets" if trial.fitting == 1 else f"All {trial.fitting:,} replicas get"
        yield Text(f"{all_of} a node{added}.")
    if trial.evicted:
        evicted = plural(trial.evicted, "pod")
        yield Text(f"For them it evicts up to {evicted} of other workloads, of lower priority.", "yellow")
    yield from map(_rollout, trial.rollouts)


def _shown(placed: Sequence[PlacedReplicas], advice: Advice) -> list[PlacedReplicas]:
    """Return some numbers of replicas: all if they are few, else the ends and those with least to spare."""
    if len(placed) <= IN_TABLE:
        return list(placed)
    tightest = sorted(placed[1:-1], key=lambda each: advice.goal.allowed(each.replicas) - each.count)
    chosen = {each.replicas for each in (placed[0], placed[-1], *tightest[: IN_TABLE - 2])}
    return [each for each in placed if each.replicas in chosen]


def _placed_table(advice: Advice, placed: list[PlacedReplicas]) -> Table:
    table = plain_table(*numbers("REPLICAS", "IN THE FULLEST", "ALLOWED", folded=True), "DOMAIN")
    for each in placed:
        allowed = advice.goal.allowed(each.replicas)
        style = "red" if each.count > allowed else ""
        table.add_row(
            f"{each.replicas:,}",
            Text(f"{each.count:,}", style),
            f"{allowed:,}",
            domain_text(each.domain, advice.goal),
        )
    if left_out := len(advice.trial.placed) - len(placed):
        table.add_row(more(left_out))
    return table


def _rollout(rollout: RolledOut) -> Text:
    courses = f"{plural(rollout.courses, 'way')} to choose nodes and pods"
    ways = f"all {courses}" if rollout.exact else f"the {courses} that were tried"
    ends = {
        RolloutEnd.COMPLETE: f"completes in {ways}",
        RolloutEnd.WAITS_FOR_DELETION: "leaves old pods until they are deleted (OnDelete)",
        RolloutEnd.PENDING: "leaves pods pending",
        RolloutEnd.DEADLOCK: "deadlocks",
    }
    text = f"A rollout of {plural(rollout.replicas, 'replica')} {ends[rollout.outcome]}"
    evicted = f", and it evicts up to {plural(rollout.evicted, 'pod')} of other workloads"
    return Text(f"{text}; the fullest domain has {rollout.count:,} then{evicted if rollout.evicted else ''}.")


def _applied(advice: Advice, outcome: Outcome) -> Iterator[RenderableType]:
    """Yield what ``what-if`` says of it."""
    yield verdict_line(outcome.verdict)
    if outcome.outcomes:
        yield from losses_tables(outcome, wide=False)
    elif (found := of_workload(outcome, advice.workload)) is not None:
        yield counts_table([found])
        if (table := survival_table([found])) is not None:
            yield table


def _lacks(advice: Advice, loss: Outcome) -> bool:
    """Return whether replicas stay pending after a loss."""
    found = of_workload(loss, advice.workload)
    return found is not None and found.pending > 0


def _of_constraints(advice: Advice) -> Iterator[str]:
    """Yield notes on the constraints: effects that they lack, or have besides."""
    constraints = advice.trial.prepared.request.constraints
    if advice.is_met and advice.goal.limit is not None and not any(each.is_hard for each in constraints):
        yield "Nothing enforces it: it holds in this cluster as it is. --enforce wants DoNotSchedule."
    if not (advice.is_met or advice.goal.allow_soft) and any(e.is_hard for e in advice.workload.constraints):
        yield "Its DoNotSchedule constraints were not weakened; --allow-soft allows it."
    pinned = advice.chosen is not None and any(each.min_domains > 1 for each in advice.chosen.wanted)
    losses = () if advice.outcome is None else advice.outcome.outcomes
    if pinned and any(_lacks(advice, loss) for loss in losses):
        yield "With minDomains, what does not fit elsewhere stays pending until there are that many again."


def _left_out(advice: Advice) -> Iterator[str]:
    """Yield notes on the parts that were not simulated."""
    if advice.workload.replicas == 0:
        yield "It has 0 replicas now, of which nothing can be lost."
    if advice.is_met and not advice.trial.rollouts:
        yield f"Rollouts of a {one_line(advice.workload.kind.kind)} are not simulated."
    yield f"Not looked at: {'; '.join(not_proven(advice))}."
    if unmodeled := advice.trial.prepared.request.unmodeled:
        yield unmodeled_note(unmodeled)
    if not advice.complete:
        yield f"Ended early: {advice.tried:,} of {advice.considered:,} sets of constraints were tried."
