"""Build the nodes of a document from the events of its text.

Readers need the values alone, which ``yaml_values`` and ``json_values`` give faster than any tree could be
built. The tree is for a document that is edited, or whose lines the reader could not keep (``EventLines``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import yaml

from policies.manifests import scalars
from policies.manifests.nodes import NO_ENTRIES, Entry, NodeKind, TextNode
from policies.manifests.yaml_events import events, is_merge_key

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]|[^][{}\s,:"]+')


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
        """Take the next node; ``name`` is its text where it is a key."""
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
        """Take its end. A block's own end is that of the token behind it, which has no meaning."""
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
        """Return the handlers of events, by the event's type; events of other types are ignored.

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
        node = self._node(NodeKind.SCALAR, event, NO_ENTRIES)
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
        """Note an anchor and a tag; ``name`` is a scalar's text where it is a key."""
        if event.anchor is not None:
            self._anchors[event.anchor] = node, name
        node.marked = event.anchor is not None or event.tag is not None

    def _alias(self, event: Any) -> None:
        node = self._node(NodeKind.ALIAS, event, NO_ENTRIES)
        node.anchored, name = self._anchors[event.anchor]
        self.tree.add(node, name)


def _key_name(event: Any) -> str | None:
    """Return the name that a scalar is as a key; None for a merge key."""
    if is_merge_key(event):
        return None
    try:
        return scalars.as_key(scalars.resolved(event.value, event.tag, plain=event.implicit[0]))
    except ValueError:
        return None
