"""Where every value of a YAML or JSON text starts and ends: what an editor must know, and readers need not.

The values themselves come from ``yaml_stream`` and ``json_stream``; this tree runs beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import yaml

from policies.manifests import scalars
from policies.manifests.yaml_events import events

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]|[^][{}\s,:"]+')


class NodeKind(Enum):
    """What stands at a place of the text."""

    SCALAR = auto()
    MAPPING = auto()
    SEQUENCE = auto()
    ALIAS = auto()


@dataclass(slots=True, eq=False)
class TextNode:
    """A value's place in the text.

    Attributes:
        kind: What it is.
        start: Where it starts, in characters, its anchor and tag included.
        end: Where it ends, without comments or blank lines behind it.
        flow: Whether it is a list or mapping in brackets.
        style: How a scalar is written: a quote, ``|``, ``>`` or empty.
        marked: Whether it has an anchor or a tag.
        entries: What a list or mapping holds, in order.
    """

    kind: NodeKind
    start: int
    end: int
    flow: bool = False
    style: str = ""
    marked: bool = False
    entries: list[Entry] = field(default_factory=list)

    def find(self, name: str) -> Entry | None:
        """Return a mapping's entry by its key; None where it has none of its own."""
        return next((entry for entry in self.entries if entry.name == name), None)

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
        name: The key as JSON has it; None in a list, and for keys such as ``<<`` that are none of JSON.
    """

    value: TextNode
    key: TextNode | None = None
    name: str | None = None

    @property
    def start(self) -> int:
        """Where it starts; for an item of a block list, behind the dash."""
        return self.value.start if self.key is None else self.key.start


def json_nodes(text: str) -> list[TextNode]:
    """Return the places of every value of a valid JSON stream."""
    builder = _Builder()
    for found in _JSON_TOKEN.finditer(text):
        mark = found[0]
        if mark in "{[":
            kind = NodeKind.MAPPING if mark == "{" else NodeKind.SEQUENCE
            builder.open(TextNode(kind, found.start(), found.end(), flow=True))
        elif mark in "}]":
            builder.close(found.end())
        else:
            style = '"' if mark[0] == '"' else ""
            node = TextNode(NodeKind.SCALAR, found.start(), found.end(), style=style)
            builder.add(node, json.loads(mark) if style else mark)
    return builder.roots


def yaml_nodes(text: str) -> list[TextNode]:
    """Return the places of every document of a valid YAML stream, also of those without content."""
    builder = _Builder()
    takers: dict[type, Callable[[Any], None]] = {
        yaml.ScalarEvent: lambda event: builder.add(_scalar(event, text), _key_name(event)),
        yaml.AliasEvent: lambda event: builder.add(_node(NodeKind.ALIAS, event), None),
        yaml.MappingStartEvent: lambda event: builder.open(_node(NodeKind.MAPPING, event)),
        yaml.SequenceStartEvent: lambda event: builder.open(_node(NodeKind.SEQUENCE, event)),
        yaml.MappingEndEvent: lambda event: builder.close(event.end_mark.index),
        yaml.SequenceEndEvent: lambda event: builder.close(event.end_mark.index),
    }
    for event in events(text):
        taker = takers.get(type(event))
        if taker is not None:
            taker(event)
    return builder.roots


class _Builder:
    """Nests nodes as they come."""

    def __init__(self) -> None:
        self.roots: list[TextNode] = []
        self._open: list[TextNode] = []
        self._keys: list[tuple[TextNode, str | None] | None] = []

    def add(self, node: TextNode, name: str | None) -> None:
        """Take the next node; ``name`` is what it says where it is a key."""
        if not self._open:
            self.roots.append(node)
            return
        parent = self._open[-1]
        if parent.kind is NodeKind.SEQUENCE:
            parent.entries.append(Entry(node))
        elif self._keys[-1] is None:
            self._keys[-1] = node, name
        else:
            key, key_name = self._keys[-1]
            parent.entries.append(Entry(node, key, key_name))
            self._keys[-1] = None

    def open(self, node: TextNode) -> None:
        """Take the start of a list or mapping."""
        self.add(node, None)
        self._open.append(node)
        self._keys.append(None)

    def close(self, end: int) -> None:
        """Take its end. A block's own end is that of the token behind it, which says nothing."""
        node = self._open.pop()
        self._keys.pop()
        node.end = end if node.flow else max(entry.value.end for entry in node.entries)


def _node(kind: NodeKind, event: Any) -> TextNode:
    return TextNode(
        kind,
        event.start_mark.index,
        event.end_mark.index,
        flow=bool(getattr(event, "flow_style", False)),
        marked=kind is not NodeKind.ALIAS and (event.anchor is not None or event.tag is not None),
    )


def _scalar(event: Any, text: str) -> TextNode:
    node = _node(NodeKind.SCALAR, event)
    node.style = event.style or ""
    if node.style in ("|", ">"):
        written = text[node.start : node.end]
        # With "+" the blank lines behind the text belong to it.
        keeps = "+" in written.partition("\n")[0].partition("#")[0]
        node.end = node.start + len(
            written.removesuffix("\n").removesuffix("\r") if keeps else written.rstrip()
        )
    return node


def _key_name(event: Any) -> str | None:
    """Return what a scalar says where it is a key; None for a merge key and what is no text."""
    text: str = event.value
    if event.tag is not None or (text == "<<" and event.implicit[0]):
        return None
    try:
        return scalars.as_key(scalars.unquoted(text)) if event.implicit[0] else text
    except ValueError:
        return None
