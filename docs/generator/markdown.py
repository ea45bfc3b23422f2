"""The few forms of Markdown that generated pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: The note at the top of each generated page.
NOTE = "<!-- Written by `make generate`; edit the source code that it describes. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks and bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: object) -> str:
    """Return a text as code, empty if it is empty.

    >>> code("a"), code("")
    ('`a`', '')
    """
    return f"`{text}`" if str(text) else ""


def page(title: str, *parts: str) -> str:
    """Return a page: its title and its parts, separated by blank lines."""
    return "\n\n".join([f"# {title}", NOTE, *(part.strip() for part in parts if part.strip())]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
