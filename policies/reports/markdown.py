"""A report as Markdown: for the summary of a CI job, or a comment on a pull request.

Text is escaped so that it reads as itself, and cut where a comment holds no more; a report for a terminal
becomes a heading, tables and lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from policies.manifests.sanitize import one_line

#: Characters of all rows: GitHub takes comments of 65,536 characters, and this leaves room.
MAX_LENGTH: Final = 50_000
#: Characters of a text in a row, before it is escaped: longer rows cannot be read.
MAX_CELL: Final = 500
#: What Markdown, or a service's reading of it (``:emoji:``, ``#12``), would take for markup.
_MARKUP: Final = re.compile(r"[\\`*_\[\]#!|~$]|:(?=\S)")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
#: Users named after an at sign would be notified of the comment: an empty comment of HTML keeps them apart.
_AT: Final = "@<!-- -->"
#: The verdicts as signs, which people find in a long page.
SIGNS: Final = {True: "✅", False: "❌", None: "⚠️"}


def render(
    title: str,
    *,
    verdict: bool | None,
    parts: Iterable[RenderableType],
    details: Iterable[RenderableType] = (),
) -> str:
    """Return a bold sentence, and the parts of the report as far as a comment holds them.

    Args:
        title: The first sentence.
        verdict: Whether all is well; None if that is not known.
        parts: The report as the terminal has it.
        details: What is folded in behind it.
    """
    folded = "".join(map(block, details))
    # Markdown has an empty line between all parts.
    return "".join(
        (
            f"**{SIGNS[verdict]} {text(title)}**\n",
            *within(map(block, (part for part in parts if part != ""))),
            f"\n<details><summary>How it was found</summary>\n{folded}\n</details>\n" if folded else "",
        )
    )


def block(part: RenderableType) -> str:
    """Return a part of a report as the terminal has it."""
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


def within(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the first blocks of a report, as far as a comment holds them."""
    room = MAX_LENGTH
    for block in blocks:
        room -= len(block)
        if room < 0:
            return
        yield block


def text(text: str) -> str:
    r"""Return text that reads as itself.

    >>> print(text("a|b <i> *c*"))
    a\|b &lt;i&gt; \*c\*
    """
    marked = _MARKUP.sub(r"\\\g<0>", one_line(text, MAX_CELL))
    return "".join(_ENTITIES.get(char, char) for char in marked).replace("@", _AT)


def code(text: str) -> str:
    r"""Return text as code, which has no markup but the end of it and the end of a cell.

    >>> print(code("a|`b`"))
    `` a\|`b` ``
    """
    line = one_line(text, MAX_CELL).replace("|", r"\|")
    if not line:
        return ""  # Two fences with nothing between them would open a longer one.
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"
