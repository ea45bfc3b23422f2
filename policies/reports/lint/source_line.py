"""A line of a manifest with a caret under the field that a finding is about."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from policies.manifests.fields import FieldPath

#: Columns of a source line that are shown; more only where the line is longer (JSON on one line).
WIDTH = 100
#: Columns that are shown on the left of the caret where a line is cut.
LEAD = 40
#: Names whose patterns are kept: findings are about a few fields.
_KEPT = 256
#: The sign where characters were left out, and for a character that cannot be printed.
CUT, UNPRINTABLE = "…", "\ufffd"


@dataclass(frozen=True, slots=True)
class Marked:
    """A line that can be printed, and what is underlined in it."""

    text: str  #: The line, or the part of it around the field.
    blanks: int  #: Columns on the left of the caret.
    carets: int  #: Columns that are underlined, at least 1.


def mark(line: str, path: FieldPath) -> Marked:
    """Return a line with the field, or its nearest ancestor in the line, underlined.

    >>> marked = mark("      - maxSkew: 0", FieldPath(("constraints", 0, "maxSkew")))
    >>> marked.blanks, marked.carets
    (8, 7)
    """
    start, end = span(line, path)
    start_shown = max(start - LEAD, 0) if len(line) > WIDTH else 0
    shown = line[start_shown : start_shown + WIDTH]
    end = max(min(end, start_shown + len(shown)), start + 1)
    before, field = line[start_shown:start], line[start:end]
    front = CUT if start_shown else ""
    back = CUT if start_shown + len(shown) < len(line) else ""
    text = f"{front}{_printable(shown)}{back}".rstrip()
    return Marked(text, _columns(front + _printable(before)), max(_columns(_printable(field)), 1))


def span(line: str, path: FieldPath) -> tuple[int, int]:
    """Return where the field's key is in the line, from and up to; else the line's first word."""
    for segment in reversed(path.segments):
        if isinstance(segment, int):
            # The line may be the entry's first; its dash is then the nearest thing to the field.
            dash = re.match(r"\s*(-)(?=\s|$)", line)
            if dash:
                return dash.span(1)
            continue
        found = list(_key(segment).finditer(line)) if segment in line else []
        if len(found) == 1:
            return found[0].span("key")
        if found:
            # Several entries on one line: no caret is better than one under the wrong entry.
            break
    word = re.search(r"\S+", line)
    return word.span() if word else (0, 1)


@lru_cache(_KEPT)
def _key(name: str) -> re.Pattern[str]:
    """Return a pattern that finds a key of a block mapping, a flow mapping or JSON."""
    quoted = rf"""(?P<key>(?P<quote>["'])?{re.escape(name)}(?(quote)(?P=quote)))"""
    # A bare key ends with a colon and a blank: ``image: app:1`` has no key ``app``.
    return re.compile(rf"(?:^|(?<=[\s{{,\[])){quoted}\s*:(?(quote)|(?=[\s,}}\]]|$))")


def _printable(text: str) -> str:
    """Return a text whose characters are where they were; tabs are one blank wide."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\t" else UNPRINTABLE for char in text)


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
