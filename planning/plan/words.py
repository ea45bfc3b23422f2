"""The words on a plan that the reports for people share: what is done, and what becomes of pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from planning.plan.placement_plan import PlacementPlan, PlannedWorkload
from planning.plan.plan_differences import PlanAction
from planning.plan.plan_domains import PlannedDomains
from planning.plan.plan_pods import MOST_SCHEDULED
from planning.plan.run import PlanRun
from planning.simulation.object_differences import Difference
from planning.simulation.rollout.courses import RolloutEnd
from planning.text.autoscale_text import scaled_notes
from planning.text.domains import domain_counts
from planning.text.rollout_words import left_over, not_in_rollouts, placed_first, strategy, trace_lines
from planning.text.words import NO_NAME, end_of_evicted, ending, evictions_text, lost_volumes_text
from policies.lint.reports.summary import skipped_groups
from policies.manifests.findings import Finding, Severity
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, listed, more, plural
from policies.model.workload_ref import WorkloadRef
from policies.reports.terminal import both_ends
from policies.scheduler.request import ConstraintOrigin

#: Lines of a trace that are listed, half of them from its start.
MAX_TRACED: Final = 20
#: The sign before a workload, as in a diff.
SIGNS: Final = {
    PlanAction.REMOVE: "-",
    PlanAction.REPLACE: "-/+",
    PlanAction.CHANGE: "~",
    PlanAction.ADD: "+",
}
#: The words for numbers of workloads in the summary.
_COUNTED: Final = (PlanAction.ADD, PlanAction.CHANGE, PlanAction.REPLACE, PlanAction.REMOVE)


def summary(run: PlanRun) -> str:
    """Return the plan in one line."""
    plan = run.plan
    counts = [
        f"{plan.count(action):,} to {action}"
        for action in _COUNTED
        if action is not PlanAction.REPLACE or plan.count(action)
    ]
    parts = [", ".join((*counts, f"{plan.unchanged:,} unchanged"))]
    adds = f" if {plan.autoscaler} adds {plural(plan.new_nodes, 'node')}" if plan.new_nodes else ""
    parts.append(f"{plural(plan.pending, 'pod')} pending{adds}")
    if evicts := evictions_text(plan.evicted):
        parts.append(evicts)
    if plan.deadlocks:
        parts.append(f"{plural(plan.deadlocks, 'rollout')} may deadlock")
    refused = sum(bool(workload.errors) for workload in plan.workloads)
    if refused:
        parts.append(f"{plural(refused, 'workload')} that Kubernetes refuses")
    if run.unplanned:
        parts.append(f"{plural(run.unplanned, 'changed workload')} not planned")
    if run.is_empty:
        parts.append("no workload was read, so nothing was planned")
    if run.incomplete:
        parts.append("incomplete, because something was not read")
    if run.new or run.gone:
        parts.append(f"{len(run.new):,} new and {len(run.gone):,} gone lint findings")
    if run.raised:
        parts.append(f"{plural(len(run.raised), 'finding')} worse than before")
    return f"Plan: {'; '.join(parts)}"


def title(key: WorkloadRef) -> str:
    """Return a workload's kind, namespace and name."""
    return f"{one_line(key.kind)} {one_line(key.namespace)}/{one_line(key.name) or NO_NAME}"


def severity_text(finding: Finding, was: Severity | None = None) -> str:
    """Return how bad a finding is, and how bad it was if that is less."""
    return str(finding.severity) if was is None else f"{finding.severity} (was {was})"


def builds_text(workload: PlannedWorkload) -> str:
    """Return which builds are meant of an object that there are several of; empty for one of its own."""
    builds = [one_line(build) for build in workload.builds]
    if len(builds) < 2 and not workload.alternative:
        return ""
    if not builds:
        return "of the cluster"
    return f"{listed(builds, 1)} that are identical" if len(builds) > 1 else builds[0]


def what_differs(workload: PlannedWorkload) -> str:
    """Return the differences in a workload, in words; empty for one that is added or removed."""
    words = [
        "constraints of policies or the scheduler"
        if found is Difference.CONSTRAINTS and Difference.TEMPLATE not in workload.differences
        else str(found)
        for found in workload.differences
    ]
    if workload.action is PlanAction.REPLACE:
        return f"{', '.join(words)}: must be deleted and created again"
    return ", ".join(words)


def pods_text(workload: PlannedWorkload) -> str:
    """Return the changes of a workload's pods, in words."""
    pods = workload.pods
    now = f"{plural(pods.running, 'pod')} now"
    if workload.errors:
        return f"Kubernetes refuses it{f'; {now}, which stay' if pods.running else ''}"
    scheduled = sum(step.node is not None for step in pods.steps)
    parts = [now if workload.action is PlanAction.REMOVE else f"{now}, {pods.wanted:,} wanted"]
    if pods.removed:
        parts.append(f"{pods.removed:,} deleted")
    if pods.steps:
        parts.append(f"{scheduled:,} scheduled")
    if workload.pending:
        parts.append(f"{len(workload.pending):,} pending")
    if pods.untried:
        parts.append(f"{pods.untried:,} not tried")
    if pods.stay and pods.running:
        parts.append("those that run stay as they are")
    if pods.next_only:
        parts.append("only its next pod was placed")
    if pods.recreated:
        parts.append("its rollout is not simulated: all pods were deleted first")
    return "; ".join(parts)


def rollout_text(workload: PlannedWorkload) -> str:
    """Return how pods are replaced or deleted, and how that ends; empty where neither is."""
    rollout = workload.pods.rollout
    if rollout is None:
        return ""
    likely, worst = rollout.courses.likely.outcome, rollout.outcome
    ends = ending(rollout, likely)
    if worst is not likely:
        ends += f", but with other choices among equal pods and nodes {ending(rollout, worst)}"
    if rollout.scaled and rollout.courses.free:
        ends += "; of equal pods and nodes Kubernetes takes any"
        courses = rollout.courses
        if any(most > skew for most, skew in zip(courses.worst_skews, courses.likely.skews, strict=True)):
            ends += f", with a skew of up to {max(courses.worst_skews):,}"
    return f"scale: {ends}" if rollout.scaled else f"rollout ({strategy(rollout)}): {ends}"


def trace(workload: PlannedWorkload) -> Iterator[str]:
    """Yield the steps to the worst end of a rollout, as far as they are listed; none if it completes."""
    rollout = workload.pods.rollout
    if rollout is None or workload.outcome is RolloutEnd.COMPLETE:
        return
    yield from placed_first(rollout)
    course = rollout.courses.worst
    first, last = both_ends(list(trace_lines(course.steps, scaled=rollout.scaled)), MAX_TRACED)
    yield from map(str, first)
    if last:
        yield f"… {plural(last[0].first - first[-1].last - 1, 'more step')}"
    yield from map(str, last)
    if course.outcome is RolloutEnd.DEADLOCK:
        yield f"{left_over(course)} left over: no new pod fits, and no old one may go"


def pending_messages(workload: PlannedWorkload) -> Iterator[tuple[int, str]]:
    """Yield how many pods stay pending for each of the scheduler's messages, as far as they are listed."""
    counts: dict[str, int] = {}
    for step in workload.pending:
        counts[step.message] = counts.get(step.message, 0) + 1
    for message in list(counts)[:IN_SENTENCE]:
        yield counts[message], message


def lost_volume_lines(workload: PlannedWorkload) -> Iterator[str]:
    """Yield which volumes keep pods pending since no node reaches them, as far as they are listed."""
    yield from lost_volumes_text(lost for step in workload.pending for lost in step.lost_volumes)


def evicted_lines(workload: PlannedWorkload) -> Iterator[str]:
    """Yield whom the pods of a workload evict, and what becomes of those, as far as they are listed."""
    evicted = workload.pods.evicted
    for entry in evicted[:IN_SENTENCE]:
        name, end = f"{entry.namespace}/{entry.name}", end_of_evicted(entry)
        yield one_line(f"evicts {name} from {entry.lost_node} for {entry.preemptor}; then: {end}")
    if (rest := len(evicted) - IN_SENTENCE) > 0:
        yield more(rest)


def domains_text(domains: PlannedDomains) -> str:
    """Return the matching pods of each domain now and after the plan, on one line.

    >>> from types import SimpleNamespace
    >>> domains_text(SimpleNamespace(now={"a": 1, "b": 1}, after={"a": 1, "b": 2}, skew_now=0, skew=1))
    'b 1 → 2, a 1; skew 0 → 1'
    """
    text = domain_counts(domains.now, domains.after)
    if not domains.now and not domains.after:
        return text
    was, becomes = domains.skew_now, domains.skew
    return f"{text}; skew {was:,} → {becomes:,}" if was != becomes else f"{text}; skew {was:,}"


def told_domains(workload: PlannedWorkload) -> list[PlannedDomains]:
    """Return the domains that are shown: of kube-scheduler's own constraints those that change."""
    return [
        domains
        for domains in workload.domains
        if domains.now != domains.after or domains.applied.origin is not ConstraintOrigin.SCHEDULER_SYSTEM
    ]


def force_text(domains: PlannedDomains) -> str:
    """Return whether a constraint is new, changed or gone, as the end of its title."""
    if domains.is_gone:
        return "no longer in force"
    if domains.is_new and domains.changes:
        return ", ".join(f"{each.field} {each.before} → {each.after}" for each in domains.changes)
    return "new" if domains.is_new else ""


def asides(run: PlanRun) -> Iterator[str]:
    """Yield the limits of the plan: sources not read, workloads not planned, parts not modeled."""
    if run.plan.assumed:
        yield (
            "The cluster has no pods: those of the manifests that are compared with were placed first"
            " and count as now."
        )
    if run.keeps_others:
        yield "Workloads of the cluster that no manifest has are left alone."
    for group in skipped_groups(run.skipped):
        yield f"Not read: {group.places}: {one_line(group.message)}"
    if run.skipped:
        yield "Workloads of what was not read may be missing, or seem added or removed."
    if any(workload.alternative for workload in run.plan.workloads):
        yield (
            "Builds of one object that differ, such as overlays for several environments, are planned one by"
            " one, each without the others."
        )
    for changed, what in ((True, "Changed, but not planned"), (False, "Not planned, and not changed")):
        names = [title(entry.key) for entry in run.unfinished if entry.changed is changed]
        yield from _listed(f"{what}, because placeholders are not filled in", names)
    yield from _listed(
        "Changed, but not planned, because the work was ended", [title(key) for key in run.plan.stopped]
    )
    if any(workload.pods.untried for workload in run.plan.workloads) and not run.plan.stopped:
        yield f"Not tried: at most {MOST_SCHEDULED:,} pods of one plan are scheduled."
    yield from dict.fromkeys(chain.from_iterable(map(scaled_notes, run.plan.autoscaled)))
    unmodeled = sorted({name for workload in run.plan.workloads for name in workload.unmodeled})
    yield from _listed("Not modeled, so more pods may stay pending", unmodeled)
    if any(workload.outcome is not RolloutEnd.COMPLETE for workload in run.plan.workloads):
        yield "Every step, and what would make a rollout complete: evenkeel what-if -f FILE -o wide"
    if run.plan.workloads:
        yield f"Not looked at: {', '.join(not_looked_at(run.plan))}."


def not_looked_at(plan: PlacementPlan) -> tuple[str, ...]:
    """Return influences on a real cluster that are not part of a plan."""
    return not_in_rollouts(plan.evicted, scales=plan.autoscaler is not None)


def _listed(why: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{why}: {listed(names, IN_SENTENCE)}"
