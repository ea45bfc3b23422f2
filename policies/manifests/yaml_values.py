"""Read a stream of YAML documents into JSON values.

The values are built from libyaml's events, not from PyYAML's nodes: that is three times as fast, takes less
than half the memory, and does not recurse (PyYAML's C composer ends the process on 200,000 open brackets).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml import ScalarEvent

from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown
from policies.manifests.nodes import EventLines
from policies.manifests.scalars import NUMBER_FIRST, WORDS, Scalar, as_key, resolved
from policies.manifests.yaml_events import MAX_DEPTH, TOO_DEEP, events, is_merge_key, sentence

#: Values that the aliases of one document may expand to together; a file written by hand has some hundreds.
MAX_ALIASED_VALUES = 100_000
#: Problems of one document that are reported.
MAX_PROBLEMS = 100
#: Values and keys of a document whose lines are kept; finding one of more takes longer than parsing again.
_MAX_LINES = 4096

_CONTAINER_AS_KEY = (
    "a list or a mapping where a key belongs; "
    "if this is a template, render it first (helm template, kustomize build)"
)


class _Impossible(Exception):  # noqa: N818 - never leaves this module
    """A document that cannot be read to its end: its line, and why."""


@dataclass(frozen=True, slots=True)
class YamlValue:
    """The value of one document, and which part of the text it came from.

    Attributes:
        value: The value; None for a document without content.
        start: Where the part starts, in characters.
        end: Where it ends.
        line: The line where it starts.
        repeats: Whether a mapping has a duplicate key.
        lines: The lines of its fields; None where only the text's nodes have them.
    """

    value: object
    start: int
    end: int
    line: int
    repeats: bool
    lines: EventLines | None


def read(text: str, file: str, *, lines_before: int = 0) -> Iterator[YamlValue]:
    """Read every document of a stream.

    Args:
        text: The stream, or a part of it that starts with a document.
        file: The name that messages use.
        lines_before: How many lines of the file are before the text.

    Raises:
        DocumentError: No YAML, or a value that JSON and so Kubernetes does not have.
    """
    start, line = 0, lines_before + 1
    try:
        given = events(text)
        for event in given:
            if type(event) is yaml.DocumentStartEvent:
                builder = _Builder(lines_before + 1)
                end = builder.take(given)
                value = builder.finish(file)
                yield YamlValue(value, start, end.index, line, builder.repeats, builder.event_lines())
                start, line = end.index, lines_before + end.line + 1
    except yaml.YAMLError as error:
        number, problem = sentence(error, text)
        raise DocumentError([f"{file}:{lines_before + number}: {problem}"]) from error
    except _Impossible as error:
        number, problem = error.args
        raise DocumentError([f"{file}:{number}: {problem}"]) from error


#: The placeholder of a key that is not known yet, and for ``<<``.
_NO_KEY: Any = object()
_MERGE: Any = object()
#: The events that end a list or mapping.
_CLOSING = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})


class _Frame:
    """A list or mapping that is being filled.

    Attributes:
        container: The list or mapping.
        append: Takes an item of a list; None for a mapping.
        key: The key whose value comes next; ``_NO_KEY`` where a key comes next.
        merge_line: The line of the last ``<<``.
        later: What a mapping is given from its first ``<<`` or repeated key on, which is put in place at its
            end: keys, values and lines; None before.
    """

    __slots__ = ("append", "container", "key", "later", "merge_line")

    def __init__(self, container: Any, append: Callable[[object], None] | None = None) -> None:
        self.container = container
        self.append = append
        self.key = _NO_KEY
        self.merge_line = 0
        self.later: list[tuple[Any, Any, int]] | None = None


class _Builder:
    """Builds the value of a document.

    Attributes:
        repeats: Whether a mapping of the document has a duplicate key.
    """

    def __init__(self, first_line: int) -> None:
        self.repeats = False
        self._first_line = first_line
        self._root: list[object] = []
        self._stack = [_Frame(self._root, self._root.append)]
        self._anchors: dict[str | None, Any] = {}
        self._aliased = 0
        self._problems: list[tuple[int, str]] = []
        self._lines: list[int] = []
        self._in_order = True

    def take(self, given: Iterator[Any]) -> Any:
        """Take the events of the document; return the mark where it ends."""
        stack, note_line = self._stack, self._lines.append
        top = stack[-1]
        others: dict[type, Callable[[Any], tuple[Any, _Frame | None]]] = {
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.AliasEvent: self._alias,
        }
        for event in given:
            kind = type(event)
            # Three of four events are scalars: a call for each would make all reading a tenth slower.
            if kind is ScalarEvent:
                text, opened = event.value, None
                is_text = event.tag is None and not (
                    event.implicit[0] and (text in WORDS or text[0] in NUMBER_FIRST)
                )
                value = text if is_text and event.anchor is None else self._resolved(event)
            elif kind in others:
                value, opened = others[kind](event)
            elif kind in _CLOSING:
                if top.later is not None:
                    self._put_later(top.container, top.later)
                del stack[-1]
                top = stack[-1]
                continue
            else:
                return event.end_mark
            note_line(event.start_mark.line)
            if top.append is not None:
                top.append(value)
            elif top.key is _NO_KEY:
                top.key = value if type(value) is str and value != "<<" else self._key(value, event)
            elif top.later or top.key in top.container or top.key is _MERGE:
                self._put_off(value)
            else:
                top.container[top.key] = value
                top.key = _NO_KEY
            if opened is not None:
                stack.append(opened)
                top = opened
        raise AssertionError("a document without an end")

    def finish(self, file: str) -> object:
        """Return the value of the document, all of which was taken."""
        if self._problems:
            raise DocumentError(f"{file}:{line}: {text}" for line, text in self._problems[:MAX_PROBLEMS])
        return self._root[0]

    def event_lines(self) -> EventLines | None:
        """Return the lines of the document; None if its values are in another order."""
        if not self._in_order or len(self._lines) > _MAX_LINES:
            return None
        return EventLines(self._root[0], self._first_line, array("I", self._lines))

    def _line(self, event: Any) -> int:
        return event.start_mark.line + self._first_line  # type: ignore[no-any-return]  # libyaml's marks

    def _resolved(self, event: Any) -> Scalar:
        """Return the value of a scalar that is no plain text."""
        try:
            value = resolved(event.value, event.tag, plain=event.implicit[0])
        except ValueError as error:
            self._problems.append((self._line(event), f"{shown(event.value)}: {error}"))
            value = str(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _key(self, value: Any, event: Any) -> Any:
        """Return a value as the key of a JSON object, or as the placeholder of ``<<``."""
        if type(event) is ScalarEvent and is_merge_key(event):
            self._stack[-1].merge_line = self._line(event)
            return _MERGE
        problem = _CONTAINER_AS_KEY
        if not isinstance(value, dict | list):
            try:
                return as_key(value)
            except ValueError as error:
                problem = str(error)
        self._problems.append((self._line(event), problem))
        return ""

    def _mapping(self, event: yaml.MappingStartEvent) -> tuple[Any, _Frame]:
        mapping: dict[str, Any] = {}
        if event.anchor is not None or len(self._stack) > MAX_DEPTH:
            self._open(mapping, event)
        return mapping, _Frame(mapping)

    def _sequence(self, event: yaml.SequenceStartEvent) -> tuple[Any, _Frame]:
        items: list[object] = []
        if event.anchor is not None or len(self._stack) > MAX_DEPTH:
            self._open(items, event)
        return items, _Frame(items, items.append)

    def _open(self, container: object, event: yaml.CollectionStartEvent) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise _Impossible(self._line(event), TOO_DEEP)
        self._anchors[event.anchor] = container

    def _put_off(self, value: object) -> None:
        """Keep the value of the last key of a mapping for the mapping's end."""
        top = self._stack[-1]
        if top.later is None:
            top.later = []
        top.later.append((top.key, value, top.merge_line))
        top.key = _NO_KEY

    def _put_later(self, mapping: dict[str, Any], later: list[tuple[Any, Any, int]]) -> None:
        """Put in place what could not be before: keys that repeat, and what ``<<`` brings.

        As go-yaml v2 does it, all comes in the order of the text: "<<" overrides what is above it.
        """
        self._in_order = False
        own = set(mapping)
        for key, value, line in later:
            if key is _MERGE:
                # Of a list the first mapping that has a key counts: it comes last.
                for source in reversed(value) if isinstance(value, list) else [value]:
                    if not isinstance(source, dict):
                        self._problems.append((line, '"<<" takes a mapping or a list of mappings'))
                        break
                    mapping.update(source)
            else:
                self.repeats = self.repeats or key in own
                own.add(key)
                mapping[key] = value

    def _alias(self, event: yaml.AliasEvent) -> tuple[Any, None]:
        self._in_order = False
        name, line = event.anchor, self._line(event)
        if name not in self._anchors:
            raise _Impossible(line, f"the alias *{name} refers to an anchor that is not defined before it")
        value = self._anchors[name]
        if isinstance(value, dict | list):
            if any(frame.container is value for frame in self._stack):
                raise _Impossible(line, f"the alias *{name} is inside the value that it refers to")
            size, height = _extent(value, MAX_ALIASED_VALUES - self._aliased)
            self._aliased += size
            if self._aliased > MAX_ALIASED_VALUES:
                raise _Impossible(line, f"the aliases expand to more than {MAX_ALIASED_VALUES:,} values")
            if len(self._stack) - 1 + height > MAX_DEPTH:
                raise _Impossible(line, TOO_DEEP)
        return value, None


def _extent(value: object, most: int) -> tuple[int, int]:
    """Return how many values a list or mapping holds, itself and aliases included, and how many levels.

    Counting ends where there are more values than ``most``.
    """
    size, height, level = 1, 0, [value]
    while level and size <= most:
        height += 1
        inner = [
            child
            for outer in level
            for child in (outer.values() if isinstance(outer, dict) else outer)  # type: ignore[attr-defined]
        ]
        size += len(inner)
        level = [child for child in inner if type(child) in {dict, list}]
    return size, height
