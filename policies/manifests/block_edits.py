"""Changes of YAML blocks: entries added behind the last one, put in place of others, or taken away."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from policies.manifests.emit import BlockLayout, block_lines, scalar_text
from policies.manifests.nodes import Entry, NodeKind, TextNode
from policies.manifests.splice import CannotEditError, Splicer

#: A line that is blank or a comment: its indentation, and what follows.
_ASIDE = re.compile(r"( *)(#[^\r\n]*)?\r?\n?")
LISTS = (list, tuple)


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
