"""A simulation for a person in a terminal: domains before and after, where pods went, what stays pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from policies.manifests.sanitize import one_line
from policies.placement.scheduling_queue import SchedulingQueue, SimulatedQueue
from policies.placement.simulate import MOST_COUNTED, NOT_LOOKED_AT, DomainChange, Simulation
from policies.reports.domain_bars import bar, bar_room
from policies.reports.wording import (
    as_revision,
    constraint_title,
    dropped,
    item,
    nodes,
    print_all,
    sentence,
    workload_title,
)
from policies.scheduler.binding import Step

#: Lines of a table of domains, nodes or messages: what a terminal shows at once.
MOST_LINES: Final = 12
#: Names that a line lists.
MOST_NAMES: Final = 4


def render(simulated: SimulatedQueue, *, width: int, color: bool) -> str:
    """Return what a person reads.

    Args:
        simulated: What to report.
        width: Columns of the terminal; no line but the scheduler's sentences is longer.
        color: Whether to use the terminal's colors.
    """
    return print_all(_parts(simulated, width), width=width, color=color)


def _parts(simulated: SimulatedQueue, width: int) -> Iterator[RenderableType]:
    queue, simulation = simulated.queue, simulated.simulation
    yield _headline(queue, simulation)
    yield from _replicas(queue)
    yield from _constraints(queue, simulation, width)
    if simulation.pending < len(simulation.steps):
        yield from _section("Where they went", [_by_node(simulation.steps)])
    if simulation.pending:
        yield from _section("What stays pending", _pending(simulation.steps))
    yield from _notes(simulation, simulated.seed)


def _section(title: str, lines: Iterable[RenderableType]) -> Iterator[RenderableType]:
    yield ""
    yield Text(title, "bold")
    yield from lines


def _headline(queue: SchedulingQueue, simulation: Simulation) -> Text:
    count, placed = len(queue.pods), len(queue.pods) - simulation.pending
    what = "pod" if queue.replicas is None else "replica"
    text = Text("" if queue.prepared is None else f"{workload_title(queue.prepared)}: ")
    if not count:
        return text.append("nothing to schedule", "bold")
    at_most = "at most " if simulation.unmodeled and placed else ""
    got = f"{at_most}{placed:,} of {count:,} {what}{'' if count == 1 else 's'} placed"
    text.append(got, "bold red" if simulation.pending else "bold green")
    if simulation.pending:
        text.append(f", {simulation.pending:,} pending", "bold red")
    text.append(f" ({nodes(queue.cluster.node_count)}, Kubernetes {queue.version})")
    return text if queue.prepared is None else text.append(as_revision(queue.prepared))


def _replicas(queue: SchedulingQueue) -> Iterator[Text]:
    """Yield how many replicas ran before."""
    replicas = queue.replicas
    if replicas is None:
        return
    of_revision = " of this revision" if queue.prepared is not None and queue.prepared.revision else ""
    of_wanted = f"{replicas.placed:,} of {replicas.wanted:,} replicas{of_revision}"
    more = "had a node before." if queue.pods else "have a node: --replicas N schedules N more."
    yield Text(f"{of_wanted} {more}")


def _constraints(queue: SchedulingQueue, simulation: Simulation, width: int) -> Iterator[RenderableType]:
    prepared = queue.prepared
    if prepared is not None and prepared.why_none:
        yield from ("", Text(f"No constraint is in force: {prepared.why_none}."))
    for number, change in enumerate(simulation.domains, start=1):
        title = constraint_title(change.applied, None if prepared is None else prepared.policy)
        if prepared is None:
            title.append(f", of pod {one_line(change.pod)}", "dim")
        yield ""
        yield item(number, title)
        yield Padding(_skew(change), (0, 0, 0, 3))
        if change.after:
            yield Padding(_domains(change, bar_room(width)), (0, 0, 0, 3))
    if not simulation.all_counted:
        yield from (
            "",
            Text(f"Of more than {MOST_COUNTED} different pods only the first are counted.", "yellow"),
        )
    if prepared is not None:
        yield from dropped(prepared)


def _skew(change: DomainChange) -> Text:
    if not change.after:
        return Text("no eligible node has the key")
    return Text(f"skew {_skew_of(change.before.values()):,} before, {change.skew:,} after")


def _skew_of(counts: Iterable[int]) -> int:
    counts = list(counts)
    return max(counts) - min(counts)


def _domains(change: DomainChange, room: int) -> Table:
    """Return the domains with their pods; of many, how many domains changed alike."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    few = len(change.after) <= MOST_LINES
    table.add_column("DOMAIN" if few else "DOMAINS", overflow="fold")
    table.add_column("BEFORE", justify="right")
    table.add_column("AFTER", justify="right")
    table.add_column("", no_wrap=True)
    longest = max(change.after.values()) or 1
    if few:
        lines = [
            (one_line(value) or "(empty)", was, change.after[value]) for value, was in change.before.items()
        ]
    else:
        alike = Counter((change.before[value], now) for value, now in change.after.items())
        ordered = sorted(alike.items(), key=lambda entry: (-entry[0][1], -entry[0][0]))
        lines = [(f"{count:,}", was, now) for (was, now), count in ordered]
    for name, was, now in _ends(lines):
        table.add_row(name, f"{was:,}", f"{now:,}", bar(now / longest, room, fits=None))
    return table


def _ends(lines: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return the first lines and the last, if there are too many."""
    half = MOST_LINES // 2
    return lines if len(lines) <= MOST_LINES else [*lines[:half], *lines[-half:]]


def _by_node(steps: Iterable[Step]) -> Table:
    """Return the pods of each node, or how many nodes got as many."""
    went: dict[str, list[str]] = {}
    for step in steps:
        if step.node is not None:
            went.setdefault(step.node, []).append(step.name)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    if len(went) <= MOST_LINES:
        table.add_column("NODE", overflow="fold")
        table.add_column("PODS", justify="right")
        table.add_column("", overflow="fold")
        for node, names in sorted(went.items()):
            table.add_row(one_line(node), f"{len(names):,}", _listed(names))
        return table
    table.add_column("NODES", justify="right")
    table.add_column("PODS ON EACH", justify="right")
    table.add_column("", overflow="fold")
    by_count: dict[int, list[str]] = {}
    for node, names in sorted(went.items()):
        by_count.setdefault(len(names), []).append(node)
    for count, found in sorted(by_count.items(), reverse=True)[:MOST_LINES]:
        table.add_row(f"{len(found):,}", f"{count:,}", _listed(found))
    return table


def _listed(names: list[str]) -> str:
    listed = ", ".join(map(one_line, names[:MOST_NAMES]))
    return listed if len(names) <= MOST_NAMES else f"{listed} and {len(names) - MOST_NAMES:,} more"


def _pending(steps: Iterable[Step]) -> Iterator[RenderableType]:
    """Yield the scheduler's words on the pods that it leaves, those of equal words together."""
    left: dict[str, list[str]] = {}
    for step in steps:
        if step.node is None:
            left.setdefault(step.message, []).append(step.name)
    for message, names in list(left.items())[:MOST_LINES]:
        yield Text(f"{len(names):,}: {_listed(names)}")
        yield sentence(message)
    if (rest := len(left) - MOST_LINES) > 0:
        yield Text(f"and {rest:,} other messages")


def _notes(simulation: Simulation, seed: int | None) -> Iterator[RenderableType]:
    """Yield what the numbers leave out."""
    ties = sum(len(step.tied) > 1 for step in simulation.steps)
    if ties:
        taken = "here it is the first by name" if seed is None else f"as was done here (seed {seed})"
        some = f"{ties:,} of {len(simulation.steps):,} pods had several best nodes"
        yield from ("", Text(f"{some}: kube-scheduler chooses one of them at random, {taken}."))
    if simulation.unmodeled:
        asked = ", ".join(simulation.unmodeled)
        yield from ("", Text(f"Not modeled, although kube-scheduler checks it: {asked}.", "yellow"))
    if simulation.steps:
        yield from ("", Text(f"Not looked at: {', '.join(NOT_LOOKED_AT)}.", "dim"))
