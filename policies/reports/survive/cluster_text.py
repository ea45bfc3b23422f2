"""Whether a whole cluster survives losses, for a person in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from policies.manifests.words import IN_TABLE, ON_SCREEN, more, object_title, plural
from policies.placement.survive.cluster_loss import ClusterLoss, ClusterSurvivalReport
from policies.placement.survive.damage import Damage, WorkloadDamage
from policies.reports import markdown
from policies.reports.survive.cluster_words import about, new_nodes, notes, verdict
from policies.reports.words import (
    add_rows,
    domain_name,
    lost_volumes_text,
    numbers,
    plain_table,
    print_all,
    section,
    sentence,
)

#: Messages of the scheduler that are repeated.
MOST_MESSAGES: Final = 3
#: A number that is not known.
UNKNOWN: Final = "?"
_STYLES: Final = {True: "bold green", False: "bold red", None: "bold yellow"}


def render(report: ClusterSurvivalReport, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(report), width=width, color=color)


def render_markdown(report: ClusterSurvivalReport) -> str:
    """Return the report for the summary of a CI job or a comment."""
    _, *parts = _parts(report)
    return markdown.render(verdict(report), verdict=report.verdict, parts=parts)


def _parts(report: ClusterSurvivalReport) -> Iterator[RenderableType]:
    yield Text(verdict(report), _STYLES[report.verdict])
    size = f"{plural(report.nodes, 'node')}, {plural(report.pods, 'pod')}"
    yield Text(f"{size} (Kubernetes {report.version}); not survived: {report.fail_on} or worse")
    yield from section("Losses, worst first, and how many workloads have each damage", [_losses(report)])
    worst = report.worst
    if worst is not None:
        damaged = [each for each in worst.workloads if each.damages]
        if damaged:
            title = f"Workloads without {domain_name(worst.impact.domain)}, worst first"
            yield from section(title, [_workloads(damaged)])
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


def _survived(report: ClusterSurvivalReport, loss: ClusterLoss) -> Text:
    survives = report.survives(loss)
    if survives is None:
        return Text("not judged" if loss.complete else "not finished", "yellow")
    return Text("yes", "green") if survives else Text("no", "red")


def _workloads(damaged: list[WorkloadDamage]) -> Table:
    table = plain_table("WORKLOAD", *numbers("BEFORE", "RIGHT AFTER", "IN THE END"), "DAMAGE")
    return add_rows(table, map(_workload, damaged), most=ON_SCREEN, noun="workload")


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
