"""Where every value of a YAML or JSON document stands: its line, and where its text starts and ends.

Readers need the values alone, which ``yaml_values`` and ``json_values`` give faster than any tree could be
built. The tree is built from the same events, for a document that has something to report or to edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple

import yaml

from policies.manifests import scalars
from policies.manifests.yaml_events import events, is_merge_key

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]|[^][{}\s,:"]+')


class NodeKind(Enum):
    """What stands at a place of the text."""

    SCALAR = auto()
    MAPPING = auto()
    SEQUENCE = auto()
    ALIAS = auto()


#: The entries of what has none. It is never added to.
_NONE: list[Any] = []


@dataclass(slots=True, eq=False)
class TextNode:
    """A value's place in the text.

    Attributes:
        kind: What it is.
        start: Where it starts, in characters, its anchor and tag included.
        end: Where it ends, without comments or blank lines behind it.
        line: The line where it starts, from 1; 0 where there is no such line.
        entries: What a list or mapping holds, in order.
        flow: Whether it is a list or mapping in brackets.
        style: How a scalar is written: a quote, ``|``, ``>`` or empty.
        marked: Whether it has an anchor or a tag.
        anchored: What an alias stands for.
    """

    kind: NodeKind
    start: int
    end: int
    line: int
    entries: list[Entry] = field(default_factory=lambda: _NONE)
    flow: bool = False
    style: str = ""
    marked: bool = False
    anchored: TextNode | None = None

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
        """Yield the keys that stand twice in their mapping, wherever below this node that is."""
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
                    yield Repeat((*way, name), below[name].line, entry.line)
                below[name] = entry
            waiting += reversed([((*way, name), entry.value) for name, entry in below.items()])

    @property
    def items(self) -> list[TextNode]:
        """What a list holds; nothing for anything else."""
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
    """An item of a list, or a key of a mapping with its value.

    Attributes:
        value: The value.
        key: The key; None in a list.
        name: The key as JSON has it; None in a list, and for a merge key.
    """

    value: TextNode
    key: TextNode | None = None
    name: str | None = None

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
    """A key that stands twice in a mapping.

    Attributes:
        way: The key, from the root of its document.
        earlier: The line where it stands before.
        line: The line where it stands again, and counts.
    """

    way: tuple[str | int, ...]
    earlier: int
    line: int


def json_nodes(text: str, start: int = 0, line: int = 1) -> TextNode:
    """Return the places of a valid JSON value that starts at or behind a place, which is on a line."""
    tree, counted = _Tree(), start
    for found in _JSON_TOKEN.finditer(text, start):
        mark, at = found[0], found.start()
        line += text.count("\n", counted, at)
        counted = at
        if mark in "{[":
            kind = NodeKind.MAPPING if mark == "{" else NodeKind.SEQUENCE
            tree.open(TextNode(kind, at, found.end(), line, [], flow=True))
        elif mark in "}]":
            tree.close(found.end())
        else:
            style = '"' if mark[0] == '"' else ""
            name = json.loads(mark) if tree.expects_key else None
            tree.add(TextNode(NodeKind.SCALAR, at, found.end(), line, style=style), name)
        if tree.is_whole:
            break
    return tree.root


def yaml_nodes(text: str, start: int = 0, end: int | None = None, line: int = 1) -> TextNode:
    """Return the places of a valid YAML document: a part of a text that starts on a line."""
    builder = _YamlNodes(text, start, line)
    takers = builder.takers()
    for event in events(text[start:end]):
        taker = takers.get(type(event))
        if taker is not None:
            taker(event)
    return builder.tree.root


class _Tree:
    """Nests nodes as they come.

    Attributes:
        root: The outermost one.
    """

    def __init__(self) -> None:
        self.root = TextNode(NodeKind.SCALAR, 0, 0, 0)
        self._top: TextNode | None = None
        self._open: list[TextNode | None] = []
        # The key whose value comes next. Keys are scalars, so no two wait.
        self._key: TextNode | None = None
        self._name: str | None = None

    @property
    def expects_key(self) -> bool:
        """Whether the next node is a mapping's key."""
        return self._key is None and self._top is not None and self._top.kind is NodeKind.MAPPING

    @property
    def is_whole(self) -> bool:
        """Whether the outermost node has ended."""
        return self._top is None

    def add(self, node: TextNode, name: str | None = None) -> None:
        """Take the next node; ``name`` is what it says where it is a key."""
        top = self._top
        if top is None:
            self.root = node
        elif top.kind is NodeKind.SEQUENCE:
            top.entries.append(Entry(node))
        elif self._key is None:
            self._key, self._name = node, name
        else:
            top.entries.append(Entry(node, self._key, self._name))
            self._key = None

    def open(self, node: TextNode) -> None:
        """Take the start of a list or mapping."""
        self.add(node)
        self._open.append(self._top)
        self._top = node

    def close(self, end: int) -> None:
        """Take its end. A block's own end is that of the token behind it, which says nothing."""
        node = self._top
        assert node is not None  # noqa: S101  # texts are valid
        self._top = self._open.pop()
        node.end = end if node.flow else max(entry.value.end for entry in node.entries)


class _YamlNodes:
    """Makes nodes of the events of a document.

    Attributes:
        tree: The nodes.
    """

    def __init__(self, text: str, start: int, line: int) -> None:
        self.tree = _Tree()
        self._text, self._start, self._line = text, start, line
        self._anchors: dict[str, tuple[TextNode, str | None]] = {}

    def takers(self) -> dict[type, Callable[[Any], None]]:
        """Return what takes an event, by the event's type; the others are of no interest.

        It is not kept: a builder that refers to itself is freed late.
        """
        return {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
        }

    def _node(self, kind: NodeKind, event: Any, entries: list[Entry]) -> TextNode:
        mark = event.start_mark
        start, end = self._start + mark.index, self._start + event.end_mark.index
        return TextNode(kind, start, end, self._line + mark.line, entries)

    def _mapping(self, event: Any) -> None:
        self._container(NodeKind.MAPPING, event)

    def _sequence(self, event: Any) -> None:
        self._container(NodeKind.SEQUENCE, event)

    def _end(self, event: Any) -> None:
        self.tree.close(self._start + event.end_mark.index)

    def _container(self, kind: NodeKind, event: Any) -> None:
        node = self._node(kind, event, [])
        node.flow = bool(event.flow_style)
        self._mark(node, event, None)
        self.tree.open(node)

    def _scalar(self, event: Any) -> None:
        node = self._node(NodeKind.SCALAR, event, _NONE)
        name = _key_name(event) if event.anchor is not None or self.tree.expects_key else None
        self._mark(node, event, name)
        node.style = event.style or ""
        if node.style in ("|", ">"):
            written = self._text[node.start : node.end]
            # With "+" the blank lines behind the text belong to it.
            keeps = "+" in written.partition("\n")[0].partition("#")[0]
            written = written.removesuffix("\n").removesuffix("\r") if keeps else written.rstrip()
            node.end = node.start + len(written)
        self.tree.add(node, name)

    def _mark(self, node: TextNode, event: Any, name: str | None) -> None:
        """Note an anchor and a tag; ``name`` is what a scalar says where it is a key."""
        if event.anchor is not None:
            self._anchors[event.anchor] = node, name
        node.marked = event.anchor is not None or event.tag is not None

    def _alias(self, event: Any) -> None:
        node = self._node(NodeKind.ALIAS, event, _NONE)
        node.anchored, name = self._anchors[event.anchor]
        self.tree.add(node, name)


def _key_name(event: Any) -> str | None:
    """Return what a scalar says where it is a key; None for a merge key."""
    if is_merge_key(event):
        return None
    try:
        return scalars.as_key(scalars.resolved(event.value, event.tag, plain=event.implicit[0]))
    except ValueError:
        return None
