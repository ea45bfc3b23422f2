"""Whether a whole cluster survives losses, for a person in a terminal, and in sentences for all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from planning.simulation.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from planning.simulation.survive.damage import Damage, DomainImpact, WorkloadDamage
from planning.text.autoscale_text import new_node_lines, uncounted_note
from planning.text.words import domain_name, lost_volumes_text, unmodeled_note
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_MESSAGE, IN_TABLE, ON_SCREEN, listed, more, object_title, plural
from policies.model.topology_keys import domain_noun
from policies.reports import markdown
from policies.reports.terminal import (
    VERDICT_STYLES,
    add_rows,
    numbers,
    plain_table,
    print_all,
    section,
    sentence,
)


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


def any_loss(key: str, *, unreachable: bool) -> str:
    """Return the loss of any one domain, as a sentence without its end.

    >>> any_loss("topology.kubernetes.io/zone", unreachable=False)
    'a zone is lost'
    """
    return f"{domain_noun(one_line(key))} is {'unreachable' if unreachable else 'lost'}"


def verdict(report: ClusterSurvivalReport) -> str:
    """Return the verdict on losses, in one sentence."""
    domains, worst = report.impacts, report.worst
    key = one_line(report.key)
    if len(domains) == 1:
        what = f"the loss of {domain_name(domains[0].domain)} ({key})"
        lead = ""
    else:
        what = f"the loss of any one of {plural(len(domains), 'domain')} of {key}"
        lead = "" if worst is None else f"; the worst is {domain_name(worst.impact.domain)}"
    found = "" if worst is None else damage(worst)
    match report.verdict:
        case True:
            return f"The cluster survives {what}{f'{lead}: {found}' if found else ''}."
        case False:
            if len(domains) > 1:
                failed = sum(report.survives(loss) is False for loss in report.losses)
                what = f"the loss of {failed:,} of {plural(len(domains), 'domain')} of {key}"
            return f"The cluster does not survive {what}{lead}: {found}."
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


#: Messages of the scheduler that are repeated.
MOST_MESSAGES: Final = 3
#: The note on verdicts of losses whose nodes do not stay.
REMOVED_NODES: Final = (
    "Lost nodes are removed from the cluster. In an outage they may stay in it: try --unreachable."
)
#: A number that is not known.
UNKNOWN: Final = "?"


def render(report: ClusterSurvivalReport, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(report), width=width, color=color)


def render_markdown(report: ClusterSurvivalReport) -> str:
    """Return the report for the summary of a CI job or a comment."""
    _, *parts = _parts(report)
    return markdown.render(verdict(report), verdict=report.verdict, parts=parts)


def _parts(report: ClusterSurvivalReport) -> Iterator[RenderableType]:
    yield Text(verdict(report), VERDICT_STYLES[report.verdict])
    size = f"{plural(report.nodes, 'node')}, {plural(report.pods, 'pod')}"
    yield Text(f"{size} (Kubernetes {report.version}); not survived: {report.fail_on} or worse")
    yield from section("Losses, worst first, and how many workloads have each damage", [_losses(report)])
    worst = report.worst
    if worst is not None:
        damaged = [each for each in worst.workloads if each.damages]
        if damaged:
            title = f"Workloads without {domain_name(worst.impact.domain)}, worst first"
            table = plain_table("WORKLOAD", *numbers("BEFORE", "RIGHT AFTER", "IN THE END"), "DAMAGE")
            yield from section(
                title, [add_rows(table, map(_workload, damaged), most=ON_SCREEN, noun="workload")]
            )
        yield from _messages(worst)
        if worst.autoscaled is not None:
            title = f"If {worst.autoscaled.scaled.autoscaler} adds nodes"
            yield from section(title, map(Text, new_nodes(worst)))
    yield ""
    yield from (Text(line, "yellow") for line in notes(report))


def _losses(report: ClusterSurvivalReport) -> Table:
    of_damages = (each.replace("-", " ").upper() for each in Damage)
    titles = ["NODES", "PODS", "WORKLOADS", "PENDING PODS", *of_damages]
    table = plain_table("LOST", *numbers(*titles), Column("SURVIVED"))
    tried = sorted(report.losses, key=lambda loss: loss.rank)
    for loss in tried[:IN_TABLE]:
        gone, pending = loss.impact, loss.pending if loss.complete else None
        counts = [gone.nodes, gone.pods, gone.workloads, pending, *report.counts(loss).values()]
        cells = (UNKNOWN if number is None else f"{number:,}" for number in counts)
        table.add_row(domain_name(gone.domain), *cells, _survived(report, loss))
    seen = {loss.impact.domain for loss in tried}
    open_ones = [gone for gone in report.impacts if gone.domain not in seen]
    room = max(IN_TABLE - len(tried), 0)
    for gone in open_ones[:room]:
        known = [f"{number:,}" for number in (gone.nodes, gone.pods, gone.workloads)]
        unknown = [UNKNOWN] * (len(titles) - len(known))
        table.add_row(domain_name(gone.domain), *known, *unknown, "not tried")
    if (rest := len(report.impacts) - IN_TABLE) > 0:
        table.add_row(more(rest))
    return table


def why_open(loss: ClusterLoss) -> str:
    """Return why a loss has no verdict."""
    return "not judged" if loss.complete else "not finished"


def _survived(report: ClusterSurvivalReport, loss: ClusterLoss) -> Text:
    survives = report.survives(loss)
    if survives is None:
        return Text(why_open(loss), "yellow")
    return Text("yes", "green") if survives else Text("no", "red")


def _workload(found: WorkloadDamage) -> tuple[str, ...]:
    counts = (f"{number:,}" for number in (found.before, found.left, found.running))
    return object_title(found.ref.kind, found.ref.namespace, found.ref.name), *counts, about(found)


def _messages(loss: ClusterLoss) -> Iterator[RenderableType]:
    """Yield the scheduler's words on pods that stay pending, those of the worst workloads."""
    by_message: dict[str, WorkloadDamage] = {}
    for each in loss.workloads:
        if each.message:
            by_message.setdefault(each.message, each)
    if not by_message:
        return
    yield from section("Why pods stay pending", ())
    for message, each in list(by_message.items())[:MOST_MESSAGES]:
        yield Text(f"{object_title(each.ref.kind, each.ref.namespace, each.ref.name)}:")
        yield sentence(message)
    if (rest := len(by_message) - MOST_MESSAGES) > 0:
        yield Text(f"and {plural(rest, 'other message')}")
    lost = (volume for each in loss.workloads for volume in each.lost_volumes)
    yield from map(Text, lost_volumes_text(lost))
