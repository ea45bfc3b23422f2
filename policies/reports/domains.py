"""The domains of a constraint, as bars for a terminal or on one line that many do not make long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Final

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from policies.manifests.words import IN_TABLE, ON_LINE, more, plural
from policies.reports.terminal import both_ends, indented, numbers, plain_table
from policies.reports.words import domain_name
from policies.scheduler.domain_stats import ConstraintStats, DomainStats, EqualDomains

#: Columns of the longest bar, and of the longest in a narrow terminal.
LONGEST_BAR: Final = 20
SHORTEST_BAR: Final = 5
#: Columns that a line has besides its bar: leaves zones room in 80 columns.
BESIDES_BAR: Final = 60
#: What bars are made of.
BLOCK: Final = "█"
#: Lines of a histogram on either side of what maxSkew allows.
MOST_LINES: Final = 4


def domain_bars(stats: ConstraintStats, *, width: int) -> Iterator[RenderableType]:
    """Yield every domain with a bar of its matching pods; where they are many, how many are alike, too.

    Args:
        stats: The constraint.
        width: Columns of the terminal.
    """
    room = bar_room(width)
    if stats.histogram and not stats.all_listed:
        yield indented(_histogram(stats, room))
    if stats.domains:
        yield indented(_domains(stats, room))


def _domains(stats: ConstraintStats, room: int) -> Table:
    hard = stats.minimum is not None
    table = _table("DOMAIN" if stats.all_listed else "WORST AND BEST", hard=hard)
    longest = max(domain.matching for domain in stats.domains)
    for domain in stats.domains:
        nodes = f"{domain.nodes:,}" if domain.counted else "not counted"
        table.add_row(
            domain_name(domain.value),
            bar(domain.matching / (longest or 1), room, fits=domain.fits),
            f"{domain.matching:,}",
            nodes,
            *_result(domain),
        )
    return table


def _result(domain: DomainStats) -> tuple[Text, ...]:
    if domain.skew is None:
        return ()
    return Text(f"{domain.skew:,}"), _fits(
        fits=bool(domain.fits), domains=1, feasible=min(domain.feasible, 1)
    )


def _histogram(stats: ConstraintStats, room: int) -> Table:
    """Return how many domains have how many pods, in few lines."""
    applied, minimum = stats.applied, stats.minimum
    table = _table("DOMAINS", hard=minimum is not None, nodes=False)
    above = -1 if minimum is None else applied.constraint.max_skew + minimum - applied.self_match
    lines = [
        line
        for side in (
            [alike for alike in stats.histogram if minimum is None or alike.matching <= above],
            [alike for alike in stats.histogram if minimum is not None and alike.matching > above],
        )
        for line in _few(side)
    ]
    longest = max((sum(alike.domains for alike in line) for line in lines), default=0)
    for line in lines:
        domains, least, most = sum(alike.domains for alike in line), line[0].matching, line[-1].matching
        fits = None if minimum is None else least <= above
        cells = [
            Text(f"{domains:,}"),
            bar(domains / (longest or 1), room, fits=fits),
            Text(_span(least, most)),
        ]
        if minimum is not None:
            added = applied.self_match - minimum
            feasible = sum(alike.feasible for alike in line)
            fitting = _fits(fits=bool(fits), domains=domains, feasible=feasible)
            cells += [Text(_span(least + added, most + added)), fitting]
        table.add_row(*cells)
    return table


def _few(alike: list[EqualDomains]) -> list[list[EqualDomains]]:
    """Return neighbors together, so that few lines remain."""
    size = -(-len(alike) // MOST_LINES) or 1
    return [alike[start : start + size] for start in range(0, len(alike), size)]


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _table(first: str, *, hard: bool, nodes: bool = True) -> Table:
    counts = numbers("MATCHING PODS", *(["NODES"] if nodes else []), *(["SKEW"] if hard else []))
    return plain_table(first, Column("", no_wrap=True), *counts, *([Column("FITS")] if hard else []))


def _fits(*, fits: bool, domains: int, feasible: int) -> Text:
    """Return whether the pod can go to domains: by the constraint, and by everything else."""
    if not fits:
        return Text("no", "red")
    if not feasible:
        return Text("no, other reasons", "red")
    return Text("yes" if feasible == domains else f"{feasible:,} of {domains:,}", "green")


def bar_room(width: int) -> int:
    """Return the columns of the longest bar in a terminal of a width."""
    return min(max(width - BESIDES_BAR, SHORTEST_BAR), LONGEST_BAR)


def bar(share: float, room: int, *, fits: bool | None) -> Text:
    """Return a bar that fills a share of its room; whatever is not zero can be seen."""
    return Text(BLOCK * ceil(share * room), {True: "green", False: "red", None: "cyan"}[fits])


def domain_table(
    titles: Iterable[str], columns: Sequence[Mapping[str, int]], *, shown: int, room: int
) -> Table:
    """Return how many pods each domain has one time after another; of many, how many domains are alike.

    Args:
        titles: Of the times.
        columns: The pods of each domain, by time; the domains are those of the last.
        shown: The time that bars show.
        room: Columns of the bar of the fullest domain of the last time.
    """
    # A domain that came with new nodes had no pods before.
    rows = {value: tuple(column.get(value, 0) for column in columns) for value in columns[-1]}
    few = len(rows) <= IN_TABLE
    lines = [(domain_name(value), row) for value, row in rows.items()]
    if not few:
        alike = sorted(Counter(rows.values()).items(), key=lambda entry: entry[0][::-1], reverse=True)
        lines = [(f"{count:,}", row) for row, count in alike]
    table = plain_table("DOMAIN" if few else "DOMAINS", *numbers(*titles), Column("", no_wrap=True))
    fullest = max(columns[-1].values()) or 1
    for name, row in chain(*both_ends(lines, IN_TABLE)):
        table.add_row(name, *(f"{count:,}" for count in row), bar(row[shown] / fullest, room, fits=None))
    return table


#: Entries of the line; those of domains that change come first.
MAX_ENTRIES: Final = 12


def domain_counts(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return the pods of each domain, of many with equal numbers as one entry.

    >>> domain_counts({"a": 1, "b": 1}, {"a": 1, "b": 2})
    'b 1 → 2, a 1'
    >>> domain_counts({f"n{at}": 0 for at in range(9)}, {"n3": 2})
    'n3 0 → 2, n0 and 7 others 0'
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for name in sorted({*before, *after}):
        alike.setdefault((before.get(name, 0), after.get(name, 0)), []).append(name)
    entries: list[tuple[bool, str, int, str]] = []
    for (was, becomes), names in alike.items():
        numbers = f"{was:,} → {becomes:,}" if was != becomes else f"{was:,}"
        groups = [[name] for name in names] if len(names) <= ON_LINE else [names]
        for group in groups:
            others = f" and {plural(len(group) - 1, 'other')}" if len(group) > 1 else ""
            shown = f"{domain_name(group[0])}{others} {numbers}"
            entries.append((was == becomes, group[0], len(group), shown))
    entries.sort()
    rest = sum(domains for _, _, domains, _ in entries[MAX_ENTRIES:])
    text = ", ".join(shown for *_, shown in entries[:MAX_ENTRIES])
    return f"{text} {more(rest, 'domain')}" if rest else text or "no domains"
