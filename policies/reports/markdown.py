"""A report for a terminal as Markdown: for the summary of a CI job, or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from policies.reports.lint.markdown import text, within

#: The verdicts as signs, which people find in a long page.
_SIGNS = {True: "✅", False: "❌", None: "⚠️"}


def render(title: str, *, verdict: bool | None, parts: Iterable[RenderableType]) -> str:
    """Return a heading, and the parts of the report as far as a comment holds them.

    Args:
        title: The first sentence.
        verdict: Whether all is well; None if that is not known.
        parts: The report as the terminal has it.
    """
    return "".join((f"### {_SIGNS[verdict]} {text(title)}\n", *within(map(_block, _joined(parts)))))


def _joined(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield the parts but the empty lines, which Markdown has between all of them."""
    yield from (part for part in parts if part != "")


def _block(part: RenderableType) -> str:
    match part:
        case Table(show_header=True):
            return f"\n{_table(part)}"
        case Table():
            # An item of a numbered list, and what is said of it.
            return "\n" + "".join(f"{' '.join(map(_cell, row))}\n" for row in _rows(part))
        case Padding():
            return f"   - {_cell(part.renderable)}\n"
        case Text(style="bold"):
            return f"\n**{_cell(part)}**\n"
    return f"\n{_cell(part)}\n"


def _table(table: Table) -> str:
    """Return the rows of a table, with its columns of numbers to the right."""
    rule = ("--:" if column.justify == "right" else "---" for column in table.columns)
    lines = [map(str.lower, (_cell(column.header) for column in table.columns)), rule]
    lines += (map(_cell, row) for row in _rows(table))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(table: Table) -> Iterator[tuple[RenderableType, ...]]:
    yield from zip(*(tuple(column.cells) for column in table.columns), strict=True)


def _cell(part: RenderableType) -> str:
    return text(part.plain if isinstance(part, Text) else str(part))
