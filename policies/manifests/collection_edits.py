"""Changes of lists and mappings: of YAML blocks, and in the brackets of YAML and JSON.

Entries are added behind the last one, put in place of others, or taken away.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from policies.manifests.emit import (
    BlockLayout,
    JsonLayout,
    block_lines,
    flow_entry,
    flow_text,
    json_text,
    scalar_text,
)
from policies.manifests.nodes import Entry, NodeKind, TextNode
from policies.manifests.splice import CannotEditError, Splicer

#: A line that is blank or a comment: its indentation, and what follows.
_ASIDE = re.compile(r"( *)(#[^\r\n]*)?\r?\n?")
LISTS = (list, tuple)
_COMMENTS = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\n])#[^\n]*)*")
_COLON = re.compile(r'"(\s*:\s*)')


def layout_of(root: TextNode, splicer: Splicer) -> BlockLayout:
    """Return how a document indents its blocks: as it does most often."""
    steps: Counter[int] = Counter()
    offsets: Counter[int] = Counter()
    widths: Counter[int] = Counter()
    for node in root.walk():
        if node.flow or not node.entries:
            continue
        column = splicer.column(node.start)
        for entry in node.entries:
            inner = entry.value
            if node.kind is NodeKind.SEQUENCE:
                if inner.kind is NodeKind.MAPPING and _has_dash(splicer, inner, column):
                    widths[splicer.column(inner.start) - column] += 1
            elif inner.entries and not inner.flow and not inner.marked:
                counter = steps if inner.kind is NodeKind.MAPPING else offsets
                counter[splicer.column(inner.start) - column] += 1
    step = _most(steps, 2, least=1)
    return BlockLayout(step, _most(offsets, step, least=0), _most(widths, 2, least=2))


def append(splicer: Splicer, node: TextNode, lines: list[str]) -> None:
    """Put lines behind the last entry of a block and its comments, in the block's column."""
    column = splicer.column(node.start)
    at = splicer.free_line_end(node.end)
    own = column if node.kind is NodeKind.MAPPING else column + 1
    at = _behind_comments(splicer, at, max(own, 1))
    splicer.put_lines(at, [" " * column + line for line in lines])


def put_below(splicer: Splicer, entry: Entry, value: Any, *, column: int, layout: BlockLayout) -> None:
    """Put a list or mapping below a key whose value is null or empty; ``column`` is that of the key."""
    node = entry.value
    if entry.key is None or splicer.line_start(node.start) != splicer.line_start(entry.key.end):
        raise CannotEditError(node.start, "the value is on another line than its key")
    end = splicer.free_line_end(node.end)
    start = node.start
    while splicer.text[start - 1] == " ":
        start -= 1
    splicer.put(start, node.end, "")
    offset = layout.list_offset if isinstance(value, LISTS) else layout.step
    splicer.put_lines(end, [" " * (column + offset) + line for line in block_lines(value, layout)])


def put_beside(splicer: Splicer, entry: Entry, value: Any, *, layout: BlockLayout) -> None:
    """Put a scalar, or empty brackets, beside a key in the place of a block below it."""
    colon = splicer.text.find(":", entry.start if entry.key is None else entry.key.end)
    (text,) = _written(entry.value, value, layout)
    splicer.put(colon + 1, colon + 1, f" {text}")
    splicer.drop_lines(entry.value.start, splicer.free_line_end(entry.value.end))


def replace(splicer: Splicer, node: TextNode, value: Any, *, layout: BlockLayout) -> None:
    """Put a value in the place of another; a text keeps its quotes."""
    first, *rest = _written(node, value, layout)
    column = splicer.column(node.start)
    space = " " if node.start == node.end and splicer.text[node.start - 1 : node.start] in (":", "-") else ""
    splicer.put(node.start, node.end, "\n".join([space + first, *(" " * column + line for line in rest)]))


def delete(splicer: Splicer, node: TextNode, gone: list[int]) -> None:
    """Take entries away, but not all of them."""
    entries = node.entries
    first_kept = next(number for number in range(len(entries)) if number not in gone)
    for number in gone:
        start = _entry_start(splicer, node, entries[number])
        if splicer.is_first(start):
            splicer.drop_lines(start, splicer.free_line_end(entries[number].value.end))
        elif number == 0:
            # Behind a dash: the next entry moves to its place, with those between that go, too.
            end = _entry_start(splicer, node, entries[first_kept])
            if "#" in splicer.text[entries[first_kept - 1].value.end : end]:
                raise CannotEditError(end, "a comment is before the entry that would move up")
            splicer.put(start, end, "")
        elif number > first_kept:
            raise CannotEditError(start, "something else is on the same line")
    # What is between the first entry and the first that is kept went with it.
    if 0 in gone and not splicer.is_first(_entry_start(splicer, node, entries[0])) and first_kept > 1:
        raise CannotEditError(node.start, "several entries behind a dash would go")


def _has_dash(splicer: Splicer, node: TextNode, column: int) -> bool:
    """Return whether an item starts on the line of its dash, which is in a column."""
    return splicer.text[splicer.line_start(node.start) + column] == "-"


def _entry_start(splicer: Splicer, node: TextNode, entry: Entry) -> int:
    """Return where an entry starts, its dash included."""
    if node.kind is NodeKind.MAPPING:
        return entry.start
    column, start = splicer.column(node.start), splicer.line_start(entry.start)
    while start >= splicer.line_start(node.start):
        dash = start + column
        if splicer.text[dash : dash + 1] == "-" and (dash == node.start or splicer.is_first(dash)):
            return dash
        start = splicer.line_start(start - 1)
    raise CannotEditError(entry.start, "the dash of the item cannot be found")


def _behind_comments(splicer: Splicer, at: int, column: int) -> int:
    """Return the end of the last comment below a line that is indented as far as a column, blanks between."""
    text, found = splicer.text, at
    position = text.find("\n", at) + 1
    while 0 < position < len(text):
        line = _ASIDE.match(text, position)
        if line is None or line.end() == position or (line[2] is None and line[0].strip(" \r\n")):
            break
        if line[2] is not None:
            if len(line[1]) < column:
                break
            found = line.end(2)
        elif not line[0].endswith("\n"):
            break
        position = line.end()
    return found


def _written(node: TextNode, value: Any, layout: BlockLayout) -> list[str]:
    style = node.style if node.style in ("'", '"') else ""
    return [scalar_text(value, style)] if isinstance(value, str) else block_lines(value, layout)


def _most(counter: Counter[int], default: int, *, least: int) -> int:
    found = [width for width, _ in counter.most_common() if width >= least]
    return found[0] if found else default


class FlowWriter:
    """Writes values as the brackets around them are written."""

    def __init__(self, splicer: Splicer, json_layout: JsonLayout | None) -> None:
        """Create a writer; without a layout of JSON it writes YAML."""
        self._splicer = splicer
        self._json = json_layout

    def replace(self, node: TextNode, value: Any) -> None:
        """Put a value in the place of another; a text keeps its quotes."""
        if isinstance(value, str) and self._json is None:
            text = scalar_text(value, node.style if node.style in ("'", '"') else "")
        else:
            text = self._text(value, self._splicer.prefix(node.start))
        before = self._splicer.text[node.start - 1 : node.start]
        self._splicer.put(
            node.start, node.end, f" {text}" if node.start == node.end and before == ":" else text
        )

    def append(self, node: TextNode, added: list[tuple[str | None, Any]]) -> None:
        """Put entries behind the last one of a list or mapping that has some."""
        last, text = node.entries[-1], self._splicer.text
        start, end = last.start, last.value.end
        if not self._splicer.is_first(start):
            between = ", " if self._json is None else self._json.comma
            texts = (self._entry(node, *entry, self._splicer.prefix(start)) for entry in added)
            self._splicer.put(end, end, "".join(between + text for text in texts))
            return
        behind = _COMMENTS.match(text, end)
        comma = behind.end() if behind and text[behind.end() : behind.end() + 1] == "," else None
        prefix = self._splicer.prefix(start)
        lines = [f"{prefix}{self._entry(node, *entry, prefix)}" for entry in added]
        lines[:-1] = [f"{line}," for line in lines[:-1]]
        if comma is None:
            self._splicer.put(end, end, ",")
            at = self._end_of_entry(end, end)
        else:
            lines[-1] += ","
            at = self._end_of_entry(end, comma + 1)
        self._splicer.put_lines(at, lines)

    def delete(self, node: TextNode, gone: list[int]) -> None:
        """Take entries away, but not all of them."""
        entries = node.entries
        kept = next(number for number in range(len(entries)) if number not in gone)
        ranges = [(entries[0].start, entries[kept].start)] if kept else []
        ranges += [
            (entries[number - 1].value.end, entries[number].value.end) for number in gone if number > kept
        ]
        for start, end in ranges:
            if self._json is None and "#" in self._splicer.text[start:end]:
                raise CannotEditError(start, "a comment is between the entries in brackets")
            self._splicer.put(start, end, "")

    def _end_of_entry(self, end: int, position: int) -> int:
        """Return where a new line may start behind an entry: behind its comment, if it has one."""
        line_end = self._splicer.line_end(position)
        rest = self._splicer.text[position:line_end].strip()
        return line_end if not rest or rest.startswith("#") else max(end, position)

    def _entry(self, node: TextNode, name: str | None, value: Any, prefix: str) -> str:
        if node.kind is NodeKind.SEQUENCE or name is None:
            return self._text(value, prefix)
        if self._json is not None:
            return f"{json_text(name, self._json)}{self._json.colon}{self._text(value, prefix)}"
        return flow_entry(name, value)

    def _text(self, value: Any, prefix: str) -> str:
        return flow_text(value) if self._json is None else json_text(value, self._json, prefix=prefix)


def json_layout_of(root: TextNode, splicer: Splicer) -> JsonLayout:
    """Return how a JSON value is written: what its first lines and colons show."""
    indent = None
    for node in root.walk():
        if node.entries and splicer.is_first(node.entries[0].start):
            outer, inner = splicer.prefix(node.start), splicer.prefix(node.entries[0].start)
            if len(inner) > len(outer):
                indent = inner[len(outer) :]
                break
    key = next((entry.key for node in root.walk() for entry in node.entries if entry.key), None)
    colon = _COLON.match(splicer.text, key.end - 1) if key else None
    spaced = colon is None or colon[1].endswith(" ")
    return JsonLayout(indent, ": " if spaced else ":", ", " if spaced else ",")
