"""A placement as text for a person in a terminal: does it fit, by which constraints, where and why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from planning.explain.score_profile import profile_text, unmodeled_text
from planning.text.words import (
    constraint_title,
    domain_name,
    dropped,
    headline,
    unmodeled_note,
    unread_text,
)
from policies.manifests.sanitize import one_line
from policies.model.topology_keys import HOSTNAME
from policies.pods.placement import Placement
from policies.reports.terminal import indented, item, print_all, sentence
from policies.scheduler.node_table import MISSING
from policies.scheduler.profile import Plugin
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import DomainCounts, FilterResult, SchedulingResult, ScoreResult

#: Domains of a constraint that are listed: a cloud region has three to six zones.
MOST_DOMAINS = 6
#: Topology keys that get a column: people spread over zones, racks and hosts.
MOST_KEYS = 4


class _Row(NamedTuple):
    """The fields of a node's line."""

    feasible: bool
    score: int | None
    reasons: tuple[str, ...]
    domains: tuple[str, ...]
    raw: int | None
    total: int | None


def render(placement: Placement, *, width: int, color: bool) -> str:
    """Return the report as text, as ``print_all`` does."""
    return print_all(_parts(placement), width=width, color=color)


def _parts(placement: Placement) -> Iterator[RenderableType]:
    yield headline(placement)
    yield from map(Text, profile_text(placement.result.request.profile))
    yield from _constraints(placement)
    if placement.result.names:
        yield ""
        yield _nodes(placement.result)
    for note in _notes(placement.result):
        yield ""
        yield note


def _constraints(placement: Placement) -> Iterator[RenderableType]:
    """Yield the constraints in force, or why there is none."""
    yield Text()
    if placement.why_none:
        yield Text(f"No constraint is in force: {placement.why_none}.")
        return
    if placement.result.request.pinned:
        yield Text("Each pod is created for one node, so constraints only reject nodes without their label.")
    for number, result in enumerate(placement.result.results, start=1):
        yield item(number, constraint_title(result.applied, placement.policy))
        for line in _operands(result):
            yield indented(Text(line))
    yield from dropped(placement)


def _operands(result: FilterResult | ScoreResult) -> Iterator[str]:
    yield _selected(result.applied)
    yield f"matching pods: {_existing_counts(result.domains)}"
    if isinstance(result, FilterResult):
        limit = result.applied.constraint.max_skew + result.minimum - result.applied.self_match
        yield f"global minimum {result.minimum}: a domain with more than {limit} cannot take this pod"


def _selected(applied: AppliedConstraint) -> str:
    if applied.selector is None:
        return "counts no pods: it has no labelSelector"
    selector = one_line(str(applied.selector)) or "all of the namespace, as {} selects"
    return f"counts pods: {selector}{'' if applied.self_match else ' (not this pod itself)'}"


def _existing_counts(domains: DomainCounts) -> str:
    """Return the counts of the existing domains, the emptiest first."""
    matching = domains.matching.tolist()
    existing = [domain for domain, exists in enumerate(domains.exists.tolist()) if exists]
    existing.sort(key=lambda domain: (matching[domain], domains.values[domain]))
    if not existing:
        return "no eligible node carries the key"
    if len(existing) > MOST_DOMAINS:
        least, most = matching[existing[0]], matching[existing[-1]]
        counts = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"{counts} in each of {len(existing):,} domains"
    return ", ".join(f"{domain_name(domains.values[domain])} {matching[domain]:,}" for domain in existing)


def _nodes(result: SchedulingResult) -> Table:
    by_key = {spread.applied.constraint.topology_key: spread.domains for spread in result.results}
    # A node's name is its host, which has no column of its own.
    keys = [key for key in by_key if key != HOSTNAME][:MOST_KEYS]
    rows = zip(result.names, _rows(result, [by_key[key] for key in keys]), strict=True)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("NODE", overflow="fold")
    for key in keys:
        table.add_column(_heading(key, keys), overflow="fold")
    table.add_column("FITS")
    for heading in ("SCORE", "RAW", "TOTAL"):
        table.add_column(heading, justify="right")
    table.add_column("WHY NOT", overflow="fold")
    for name, row in sorted(rows, key=lambda entry: _rank(entry[1])):
        fits = Text("yes", "green") if row.feasible else Text("no", "red")
        scores = ["" if score is None else str(score) for score in (row.score, row.raw, row.total)]
        table.add_row(
            Text(one_line(name)), *map(Text, row.domains), fits, *scores, Text("\n".join(row.reasons))
        )
    return table


def _heading(key: str, keys: list[str]) -> str:
    """Return the last word of a key if no other has the same."""
    word = key.rpartition("/")[2]
    alone = [other.rpartition("/")[2] for other in keys].count(word) == 1
    return one_line(word.upper() if alone else key)


def _rank(row: _Row) -> tuple[bool, int]:
    """Return the sort key of lines: the best first."""
    return not row.feasible, -(row.total or row.score or 0)


def _rows(result: SchedulingResult, columns: list[DomainCounts]) -> Iterator[_Row]:
    """Yield the row of each node, in their order."""
    totals, scores, raw_scores = result.total.tolist(), result.scores, result.raw_scores
    for node, feasible in enumerate(result.feasible.tolist()):
        yield _Row(
            feasible,
            int(scores[node]) if feasible and scores is not None else None,
            () if feasible else tuple(_reasons(result, node)),
            tuple(_domain(domains, node) for domains in columns),
            int(raw_scores[node]) if feasible and raw_scores is not None else None,
            totals[node] if feasible else None,
        )


def _domain(domains: DomainCounts, node: int) -> str:
    """Return the value of a topology key that a node carries, as kubectl shows an absent one."""
    number = int(domains.of_node[node])
    return "<none>" if number == MISSING else domain_name(domains.values[number])


def _reasons(result: SchedulingResult, node: int) -> Iterator[str]:
    """Yield why plugins refuse a node: in the scheduler's words, but for spreading its numbers."""
    for rejections in result.rejections:
        number = int(rejections.of_node[node])
        if not number:
            continue
        if rejections.plugin is not Plugin.POD_TOPOLOGY_SPREAD:
            yield str(rejections.reasons[number - 1])
            continue
        for position, spread in enumerate(result.results, start=1):
            if isinstance(spread, FilterResult) and not spread.satisfied[node]:
                yield f"constraint {position}: {_shortfall(spread, node)}"


def _shortfall(result: FilterResult, node: int) -> str:
    applied, domains = result.applied, result.domains
    domain = int(domains.of_node[node])
    if domain == MISSING:
        return f"no label {one_line(applied.constraint.topology_key)}"
    # Every node is a domain of its own here; named, no two of them would be alike.
    where = "" if applied.constraint.topology_key == HOSTNAME else f"{one_line(domains.values[domain])} "
    skew = f"{domains.matching[domain]} + {applied.self_match} - {result.minimum} = {result.skew[node]}"
    return f"{where}{skew}, above {applied.constraint.max_skew}"


def _notes(result: SchedulingResult) -> Iterator[Text]:
    if any(isinstance(spread, FilterResult) and not spread.satisfied.all() for spread in result.results):
        legend = "constraint N: matching pods + this one - global minimum = skew, above maxSkew"
        yield Text(legend, style="dim")
    if result.scores is not None:
        text = "SCORE is PodTopologySpread's, 0 to 100; the highest TOTAL of all plugins wins"
        yield Text(text, style="dim")
    if result.message:
        yield sentence(result.message)
    if unmodeled := result.request.pod.unmodeled:
        yield Text(unmodeled_note(unmodeled), style="yellow")
    for text in (*unread_text(result.why_unread), *unmodeled_text(result.request.profile)):
        yield Text(text, style="yellow")
