"""The pods of domains at several times: as a table with bars for a terminal, or on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

from planning.text.words import domain_name
from policies.manifests.words import ON_LINE, more, plural

#: Columns of the longest bar, and of the longest in a narrow terminal.
LONGEST_BAR: Final = 20
SHORTEST_BAR: Final = 5
#: Columns that a line has besides its bar: leaves zones room in 80 columns.
BESIDES_BAR: Final = 60
#: What bars are made of.
BLOCK: Final = "█"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that fills a share of the room that a terminal has for it; whatever is not zero can be seen."""

    share: float  #: From 0 to 1.
    fits: bool | None = None  #: Whether a pod fits there; None where that is not the question.

    def __rich_console__(self, console: Console, _options: ConsoleOptions) -> Iterator[Text]:
        """Yield the bar in its color."""
        style = {True: "green", False: "red", None: "cyan"}[self.fits]
        yield Text(BLOCK * self._columns(console), style)

    def __rich_measure__(self, console: Console, _options: ConsoleOptions) -> Measurement:
        """Return how many columns it takes, whatever others take."""
        return Measurement(self._columns(console), self._columns(console))

    def _columns(self, console: Console) -> int:
        room = min(max(console.width - BESIDES_BAR, SHORTEST_BAR), LONGEST_BAR)
        return ceil(self.share * room)


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
