"""Changes of lists and mappings in brackets: YAML's, and JSON's."""

from __future__ import annotations

import re
from typing import Any

from policies.manifests.emit import JsonLayout, flow_entry, flow_text, json_text, scalar_text
from policies.manifests.nodes import NodeKind, TextNode
from policies.manifests.splice import CannotEditError, Splicer

_COMMENTS = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\n])#[^\n]*)*")
_COLON = re.compile(r'"(\s*:\s*)')


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
