"""Where every value of a YAML or JSON document is: its line, and where its text starts and ends."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple


class NodeKind(Enum):
    """The kind of node at a place of the text."""

    SCALAR = auto()
    MAPPING = auto()
    SEQUENCE = auto()
    ALIAS = auto()


#: The entries of what has none. It is never added to.
NO_ENTRIES: list[Any] = []


@dataclass(slots=True, eq=False)
class TextNode:
    """A value's place in the text."""

    kind: NodeKind  #: What it is.
    start: int  #: Where it starts, in characters, its anchor and tag included.
    end: int  #: Where it ends, without comments or blank lines behind it.
    line: int  #: The line where it starts, from 1; 0 where there is no such line.
    #: What a list or mapping holds, in order.
    entries: list[Entry] = field(default_factory=lambda: NO_ENTRIES)
    flow: bool = False  #: Whether it is a list or mapping in brackets.
    style: str = ""  #: How a scalar is written: a quote, ``|``, ``>`` or empty.
    marked: bool = False  #: Whether it has an anchor or a tag.
    anchored: TextNode | None = None  #: The node that an alias refers to.

    def find(self, name: str) -> Entry | None:
        """Return a mapping's entry by its key: of several the last, which counts; None without its own."""
        return next((entry for entry in reversed(self.entries) if entry.name == name), None)

    def line_of(self, segments: tuple[str | int, ...]) -> int:
        """Return the line of a field, or of its nearest ancestor that exists.

        A mapping's entry has the line of its key, a list's item the line where it starts; an alias leads to
        the lines of its anchor.
        """
        line, node = self.line, self
        for segment in segments:
            entry = node._below(segment)
            if entry is None:
                break
            line, node = entry.line, entry.value
        return line

    def _below(self, segment: str | int) -> Entry | None:
        """Return an entry by its key or its index, also one that a merge key (``<<``) brings."""
        node = self.anchored or self
        if isinstance(segment, int):
            is_item = node.kind is NodeKind.SEQUENCE and 0 <= segment < len(node.entries)
            return node.entries[segment] if is_item else None
        # Mappings may merge one another again and again: each is looked through once.
        waiting: list[TextNode | Entry] = [node]
        seen: set[int] = set()
        while waiting:
            found = waiting.pop()
            if isinstance(found, Entry):
                return found
            if found.kind is not NodeKind.MAPPING or id(found) in seen:
                continue
            seen.add(id(found))
            # Of all that bring the key the last counts, and of a list that is merged the first.
            for entry in found.entries:
                if entry.name == segment:
                    waiting.append(entry)
                elif entry.merges:
                    waiting += reversed(entry.merged())
        return None

    def repeated(self) -> Iterator[Repeat]:
        """Yield the duplicate keys of all mappings below this node."""
        waiting: list[tuple[tuple[str | int, ...], TextNode]] = [((), self)]
        while waiting:
            way, node = waiting.pop()
            below: dict[str | int, Entry] = {}
            for position, entry in enumerate(node.entries):
                if entry.merges:
                    waiting += ((way, inner) for inner in entry.value.items or [entry.value])
                    continue
                name = position if entry.name is None else entry.name
                if name in below:
                    yield Repeat((*way, name), below[name], entry)
                below[name] = entry
            waiting += reversed([((*way, name), entry.value) for name, entry in below.items()])

    @property
    def items(self) -> list[TextNode]:
        """The values of a list; empty for anything else."""
        return [entry.value for entry in self.entries] if self.kind is NodeKind.SEQUENCE else []

    def walk(self) -> Iterator[TextNode]:
        """Yield the node and everything below it but keys, without recursion."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += (entry.value for entry in node.entries)


@dataclass(slots=True, eq=False)
class Entry:
    """An item of a list, or a key of a mapping with its value."""

    value: TextNode  #: The value.
    key: TextNode | None = None  #: The key; None in a list.
    name: str | None = None  #: The key as JSON has it; None in a list, and for a merge key.

    @property
    def start(self) -> int:
        """Where it starts; for an item of a block list, behind the dash."""
        return self.value.start if self.key is None else self.key.start

    @property
    def line(self) -> int:
        """The line where it starts."""
        return self.value.line if self.key is None else self.key.line

    @property
    def merges(self) -> bool:
        """Whether its key is ``<<``, which brings the entries of other mappings."""
        return self.key is not None and self.name is None

    def merged(self) -> list[TextNode]:
        """Return the mappings that a merge key brings, the one that counts first."""
        value = self.value.anchored or self.value
        return [node.anchored or node for node in value.items or [value]]


class Repeat(NamedTuple):
    """A duplicate key of a mapping."""

    way: tuple[str | int, ...]  #: The key, from the root of its document.
    earlier: Entry  #: The entry before.
    last: Entry  #: The entry that counts.


@dataclass(frozen=True, slots=True, eq=False)
class EventLines:
    """The lines of a document with values in the order of its text: none is an alias, merged or duplicate."""

    value: object  #: The document's value.
    first_line: int  #: What line 0 of the events is in the file.
    lines: array[int]  #: The line where each value and each key starts, in the order of the text.

    def line_of(self, segments: tuple[str | int, ...]) -> int:
        """Return the line of a field, or of its nearest ancestor that exists; see ``TextNode.line_of``."""
        value, position, found = self.value, 0, 0
        for segment in segments:
            if isinstance(value, dict) and segment in value:
                found = position + 1
                for key, member in value.items():
                    if key == segment:
                        break
                    found += 1 + _lines(member)
                position, value = found + 1, value[segment]
            elif isinstance(value, list) and isinstance(segment, int) and 0 <= segment < len(value):
                position = found = position + 1 + sum(map(_lines, value[:segment]))
                value = value[segment]
            else:
                break
        return self.first_line + self.lines[found]


def _lines(value: object) -> int:
    """Return how many lines are kept of a value: one of it, and those of what it holds."""
    if type(value) is dict:
        return 1 + len(value) + sum(map(_lines, value.values()))
    return 1 + sum(map(_lines, value)) if type(value) is list else 1
