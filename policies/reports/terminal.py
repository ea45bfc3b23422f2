"""The layout of reports for a terminal: lines, sections, tables, and items of lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Final, TypeVar

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from policies.manifests.sanitize import MAX_LENGTH, one_line
from policies.manifests.words import IN_TABLE, more

#: What a report lists.
_Entry = TypeVar("_Entry")

#: How a verdict is shown: whether all is well; None where that is not known.
VERDICT_STYLES: Final = {True: "bold green", False: "bold red", None: "bold yellow"}

#: Characters of a sentence of kube-scheduler's that are repeated: those of thousands of nodes are long.
MAX_MESSAGE: Final = 10 * MAX_LENGTH


def print_all(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """Return parts as lines of text, without blanks at their ends.

    None is longer than a width but what ``sentence`` returned.

    Args:
        parts: One after the other.
        width: Columns of the terminal.
        color: Whether to use its colors.
    """
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        _environ={},
    )
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap)
    # rich fills up lines to their width.
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def sentence(text: str) -> Text:
    """Return a sentence of kube-scheduler's as one line, however long: people search events for it."""
    return Text(one_line(text, MAX_MESSAGE), no_wrap=True)


def section(title: str, lines: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield an empty line, a title, and what belongs to it."""
    yield ""
    yield Text(title, "bold")
    yield from lines


def numbers(*titles: str, folded: bool = False) -> list[Column]:
    """Return columns of numbers, which are on the right; long ones are cut off, or folded as texts are."""
    return [Column(title, justify="right", overflow="fold" if folded else "ellipsis") for title in titles]


def plain_table(*columns: str | Column) -> Table:
    """Return a table without lines between its columns: those of text by their titles, which are folded."""
    headers = (Column(each, overflow="fold") if isinstance(each, str) else each for each in columns)
    return Table(*headers, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def add_rows(
    table: Table,
    rows: Iterable[Sequence[RenderableType]],
    *,
    rest_in: int = 0,
    most: int = IN_TABLE,
    noun: str = "",
) -> Table:
    """Add the first rows to a table of a terminal, and how many more there are.

    Args:
        table: The table, which is returned.
        rows: The rows.
        rest_in: The number of the column that says how many more there are.
        most: How many rows are added.
        noun: What each row is about, where that is said of the others.
    """
    every = list(rows)
    for row in every[:most]:
        table.add_row(*row)
    if (rest := len(every) - most) > 0:
        table.add_row(*[""] * rest_in, more(rest, noun))
    return table


def both_ends(entries: Sequence[_Entry], most: int) -> tuple[Sequence[_Entry], Sequence[_Entry]]:
    """Return the first entries and the last, where there are more than are listed; else all, and none."""
    if len(entries) <= most:
        return entries, ()
    return entries[: most // 2], entries[-(most // 2) :]


def indented(part: RenderableType, columns: int = 3) -> Padding:
    """Return a part that is further in: by three columns what belongs to an item of a numbered list."""
    return Padding(part, (0, 0, 0, columns))


def item(number: int, text: Text) -> Table:
    """Return an item of a numbered list, whose further lines are as far in as the first."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(f"{number}.", text)
    return grid
