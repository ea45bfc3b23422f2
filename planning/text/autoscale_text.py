"""Text of an autoscaler's steps: the nodes that come, loop by loop, and why none comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.simulation.autoscaled import (
    DAEMONS,
    Autoscaled,
    AutoscalerName,
    GroupSize,
    Loop,
    Unhelped,
)
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_SENTENCE, IN_TABLE, listed, more, plural
from policies.reports.terminal import add_rows, numbers, plain_table, section

#: What is said of groups that no document describes.
_ORIGINS = {
    "managed": "by the labels of managed groups",
    "deduced": "from nodes that are alike",
}


def autoscaled_text(scaled: Autoscaled) -> Iterator[RenderableType]:
    """Yield which nodes come and where, and what gets none."""
    yield from section(f"Nodes that {scaled.autoscaler} adds", _nodes(scaled))
    if scaled.loops:
        loops = plain_table(*numbers("LOOP"), "NODES", *numbers("FOR PODS"), "")
        yield from section(
            f"In {plural(len(scaled.loops), 'loop')}",
            [add_rows(loops, map(_loop, count(1), scaled.loops), rest_in=1)],
        )
    if scaled.given_up:
        rows = ((one_line(each.preference), f"{each.pods:,}") for each in scaled.given_up)
        preferences = add_rows(plain_table("PREFERENCE", *numbers("OF PODS")), rows)
        yield from section("Preferences that Karpenter gave up", [preferences])
    if scaled.unhelped:
        others = " for the others" if scaled.nodes else ""
        yield from section(f"Why no node comes{others}", unhelped_text(scaled.unhelped))
    for text in scaled_notes(scaled):
        yield from ("", Text(text, "yellow"))


def _nodes(scaled: Autoscaled) -> Iterator[RenderableType]:
    if not scaled.nodes:
        yield Text("None.")
        return
    yield Text(f"{plural(len(scaled.nodes), 'node')}: {listed([node.name for node in scaled.nodes])}")
    if scaled.autoscaler is AutoscalerName.KARPENTER:
        yield _by_type(scaled)
        if scaled.cost_per_hour is not None:
            yield Text(f"They cost {scaled.cost_per_hour:,.3f} an hour.")
        return
    table = plain_table("NODE GROUP", "ZONE", *numbers("NODES", "ADDED", "MAX"))
    yield add_rows(table, (_grown(group) for group in scaled.groups if group.added))


def new_node_lines(scaled: Autoscaled | None) -> Iterator[str]:
    """Yield which nodes come for pods, and why no node comes for others; nothing without an autoscaler."""
    if scaled is None:
        return
    if scaled.nodes:
        yield f"{scaled.autoscaler} adds {plural(len(scaled.nodes), 'node')}: {new_nodes_by_group(scaled)}"
    for entry in scaled.unhelped[:IN_SENTENCE]:
        yield f"no node comes for {plural(len(entry.pods), 'pod')}: {'; '.join(no_node_reasons(entry))}"
    if (rest := len(scaled.unhelped) - IN_SENTENCE) > 0:
        yield more(rest)


def new_nodes_by_group(scaled: Autoscaled) -> str:
    """Return how many nodes each node group or NodePool gets, by zone.

    >>> from types import SimpleNamespace
    >>> nodes = [SimpleNamespace(group="web", zone=zone) for zone in "aab"]
    >>> new_nodes_by_group(SimpleNamespace(nodes=nodes))
    '2 web in a, 1 web in b'
    """
    added = Counter((node.group, node.zone) for node in scaled.nodes)
    return listed(
        [
            f"{number:,} {one_line(group)}{f' in {one_line(zone)}' if zone else ''}"
            for (group, zone), number in added.items()
        ]
    )


def _grown(group: GroupSize) -> tuple[str, ...]:
    known = group.origin == "document" and group.max_size is not None
    limit = f"{group.max_size:,}" if known else "not known"
    return one_line(group.name), one_line(group.zone), f"{group.size:,}", f"{group.added:,}", limit


def _by_type(scaled: Autoscaled) -> Table:
    """Return how many nodes of each instance type Karpenter adds, by NodePool and zone."""
    table = plain_table("NODEPOOL", "INSTANCE TYPE", "CAPACITY", "ZONE", *numbers("ADDED"))
    added = Counter((each.group, each.instance_type, each.capacity_type, each.zone) for each in scaled.nodes)
    return add_rows(table, ((*map(one_line, row), f"{number:,}") for row, number in added.items()))


def _loop(number: int, loop: Loop) -> tuple[str, ...]:
    others = [name for name in loop.tied if name != loop.group]
    chance = f"or, as likely, {listed(others, IN_SENTENCE)}" if others else ""
    nodes = listed(f"{added:,} {one_line(name)}" for name, added in loop.nodes.items())
    return f"{number:,}", nodes or "none", f"{loop.pods:,}", chance


def unhelped_text(unhelped: Sequence[Unhelped]) -> Iterator[RenderableType]:
    """Yield pods for which no node was added, with the reasons of node groups or NodePools."""
    for entry in unhelped[:IN_TABLE]:
        yield Text(f"{len(entry.pods):,}: {listed(entry.pods)}")
        yield from (Text(f"   {reason}") for reason in no_node_reasons(entry))
    if (rest := len(unhelped) - IN_TABLE) > 0:
        yield Text(more(rest))


def no_node_reasons(entry: Unhelped) -> Iterator[str]:
    """Yield why no node was added for pods, each reason with the node groups or NodePools that have it."""
    by_reason: dict[str, list[str]] = {}
    for group, text in entry.why.items():
        by_reason.setdefault(text, []).append(group)
    for text, groups in by_reason.items():
        names = f"{listed(list(filter(None, groups)))}: " if any(groups) else ""
        yield f"{names}{one_line(text)}"
    if not by_reason:
        yield "there is no node group"


def scaled_notes(scaled: Autoscaled) -> Iterator[str]:
    """Yield where node groups come from, and what of an autoscaler is not modeled."""
    origins = sorted({group.origin for group in scaled.groups} & _ORIGINS.keys(), reverse=True)
    if origins:
        how = " and ".join(_ORIGINS[origin] for origin in origins)
        unknown = "How large or small they may become is not known."
        yield f"The node groups are deduced {how}, one for each zone. {unknown}"
    if scaled.karpenter_nodes:
        yield (
            f"Karpenter has {plural(scaled.karpenter_nodes, 'node')} here, and is not a part of this: a file "
            "with its NodePools makes it one."
        )
    if besides := [text for text in scaled.not_modeled if text != DAEMONS]:
        yield f"Not modeled: {'; '.join(map(one_line, besides))}."
    if not scaled.complete:
        yield "Not played to the end: further nodes may come."
    if scaled.nodes:
        yield "New nodes are empty: what pods of DaemonSets take of them is not counted."
