"""Whether a whole cluster survives losses, for a person in a terminal, and in sentences for all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from planning.simulation.survive.damage import Damage, DomainImpact, WorkloadDamage
from planning.text.autoscale_text import new_node_lines, uncounted_note
from planning.text.words import domain_name, unmodeled_note
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_MESSAGE, listed, plural


def verdict_on(report: ClusterSurvivalReport, what: str) -> str:
    """Return the verdict on something that happened to the cluster, in one sentence."""
    worst = report.worst
    if worst is None or not (worst.impact.pods or worst.evicted):
        return f"No pod loses its node by {what}."
    found = damage(worst)
    match report.verdict:
        case True:
            return f"The cluster survives {what}{f': {found}' if found else ''}."
        case False:
            return f"The cluster does not survive {what}: {found}."
    return f"No verdict on {what}: {_why_open(report)}."


def _why_open(report: ClusterSurvivalReport) -> str:
    if not report.complete:
        tried = sum(loss.complete for loss in report.losses)
        return f"ended early, {tried:,} of {plural(len(report.impacts), 'domain')} tried to the end"
    if any(each.untried for each in _workloads(report)):
        return "not every displaced pod could be scheduled again"
    return "PodDisruptionBudgets were not read"


def damage(loss: ClusterLoss) -> str:
    """Return the damage of a loss as a list of clauses; empty if there is none."""
    counts = loss.counts
    clauses = {
        Damage.DOWN: "down",
        Damage.BELOW_BUDGET: "below a PodDisruptionBudget",
        Damage.PENDING: f"short of {plural(loss.missing, 'pod')}",
        Damage.INTERRUPTED: "interrupted",
        Damage.SKEWED: "above maxSkew",
    }
    found = [(counts[each], text) for each, text in clauses.items() if counts[each]]
    first = [f"{plural(count, 'workload')} {text}" for count, text in found[:1]]
    return ", ".join([*first, *(f"{count:,} {text}" for count, text in found[1:])])


def impact(gone: DomainImpact) -> str:
    """Return the nodes and pods that are gone with a domain."""
    pods = f"{plural(gone.pods, 'pod')} of {plural(gone.workloads, 'workload')}"
    return f"Losing {domain_name(gone.domain)}: {plural(gone.nodes, 'node')} with {pods}"


def about(found: WorkloadDamage) -> str:
    """Return the damages of a workload, with its numbers."""
    return "; ".join(_about(found))


def _about(found: WorkloadDamage) -> Iterator[str]:
    for each in found.damages:
        match each:
            case Damage.DOWN:
                yield "down"
            case Damage.BELOW_BUDGET:
                named = (f"{one_line(b.name)} ({b.running:,} of {b.required:,})" for b in found.budgets)
                yield f"below {listed(named)}"
            case Damage.PENDING:
                yield f"short of {plural(found.missing, 'pod')}"
            case Damage.INTERRUPTED:
                yield "interrupted"
            case Damage.SKEWED:
                skews = (f"{one_line(s.key)} {s.after:,} > {s.max_skew:,}" for s in found.skews)
                yield f"skew {listed(skews)}"


def notes(report: ClusterSurvivalReport) -> Iterator[str]:
    """Yield notes on what was assumed, and on what was not read, not judged or not scheduled."""
    yield from _unjudged(report)
    yield from _unscheduled(report)
    if report.key and not report.unreachable:
        yield REMOVED_NODES
    if scaled := next((loss.autoscaled.scaled for loss in report.losses if loss.autoscaled), None):
        yield uncounted_note(scaled)
    if report.unmodeled:
        yield unmodeled_note(report.unmodeled)
    yield from map(one_line, report.unread)
    if not report.complete:
        tried = sum(loss.complete for loss in report.losses)
        yield f"Ended early: losses that were tried to the end: {tried:,} of {len(report.impacts):,}."


def never_lost(key: str, nodes: int) -> str:
    """Return the note on nodes without a topology key."""
    return f"Never lost, for lack of {one_line(key)}: {plural(nodes, 'node')}."


def new_nodes(loss: ClusterLoss) -> Iterator[str]:
    """Yield which nodes come for the pods that a loss leaves pending, and how many stay so; none without."""
    if loss.autoscaled is None:
        return
    yield from new_node_lines(loss.autoscaled.scaled)
    yield f"{plural(loss.autoscaled.pending, 'pod')} of {loss.pending:,} would stay pending"


def _unjudged(report: ClusterSurvivalReport) -> Iterator[str]:
    if report.namespace:
        yield f"Only workloads of namespace {one_line(report.namespace)} are judged."
    if report.without_key:
        yield never_lost(report.key, report.without_key)
    if not report.budgets_known:
        yield "PodDisruptionBudgets were not read: no workload is known to be below one."
    gone = max(report.impacts, key=lambda each: sum(each.not_recreated.values()), default=None)
    if gone is not None and gone.not_recreated:
        what = listed((f"{count:,} {name}" for name, count in gone.not_recreated.items()), IN_MESSAGE)
        yield f"Not judged, since nothing creates them on other nodes: up to {what} of a loss."


def _unscheduled(report: ClusterSurvivalReport) -> Iterator[str]:
    if untried := max((loss.untried for loss in report.losses), default=0):
        yield f"Not scheduled again, so that they take no room: up to {plural(untried, 'pod')} of a loss."
    reasons = dict.fromkeys(chain.from_iterable(each.reasons for each in _workloads(report)))
    if reasons:
        yield f"Why pods were not scheduled again: {listed(reasons, between='; ')}."
    if evicted := max((loss.evicted for loss in report.losses), default=0):
        yield f"Evicted for displaced pods of higher priority: up to {plural(evicted, 'pod')} of a loss."
    if report.waiting:
        yield f"Pending before, and not scheduled here: {plural(report.waiting, 'pod')}."


def _workloads(report: ClusterSurvivalReport) -> Iterable[WorkloadDamage]:
    return chain.from_iterable(loss.workloads for loss in report.losses)


#: The note on verdicts of losses whose nodes do not stay.
REMOVED_NODES: Final = (
    "Lost nodes are removed from the cluster. In an outage they may stay in it: try --unreachable."
)
