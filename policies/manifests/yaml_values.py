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

from policies.manifests import scalars
from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown
from policies.manifests.nodes import EventLines
from policies.manifests.yaml_events import MAX_DEPTH, TOO_DEEP, events, is_merge_key, sentence

#: Values that the aliases of one document may expand to together; a file written by hand has some hundreds.
MAX_ALIASED_VALUES = 100_000
#: Problems of one document that are reported.
MAX_PROBLEMS = 100
#: Events of a document whose lines are kept; finding a line in more takes longer than parsing the text again.
_MAX_EVENTS = 4096

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
    builder = _Builder(lines_before + 1)
    start, line = 0, lines_before + 1
    try:
        handlers, note_line = builder.handlers, builder.lines.append
        for event in events(text):
            event_type = type(event)
            handler = handlers.get(event_type)
            if handler is not None:
                note_line(event.start_mark.line)
                handler(event)
            elif event_type is yaml.DocumentEndEvent:
                end = event.end_mark.index
                value = builder.finish(file)
                yield YamlValue(value, start, end, line, builder.repeats, builder.event_lines(value))
                start, line = end, lines_before + event.end_mark.line + 1
    except yaml.YAMLError as error:
        number, problem = sentence(error, text)
        raise DocumentError([f"{file}:{lines_before + number}: {problem}"]) from error
    except _Impossible as error:
        number, problem = error.args
        raise DocumentError([f"{file}:{number}: {problem}"]) from error


#: The placeholder of a key that is not known yet, and for ``<<``.
_NO_KEY: Any = object()
_MERGE: Any = object()


class _Frame:
    """A list or mapping that is being filled.

    Attributes:
        container: The list or mapping.
        append: Takes an item of a list; None for a mapping.
        key: The key whose value comes next; ``_NO_KEY`` where a key comes next.
        merge_line: The line of the last ``<<``.
        later: What a mapping is given from its first ``<<`` or repeated key on, which is put in place at its
            end: keys, values and lines.
    """

    __slots__ = ("append", "container", "key", "later", "merge_line")

    def __init__(self, container: Any, append: Callable[[object], None] | None = None) -> None:
        self.container = container
        self.append = append
        self.key = _NO_KEY
        self.merge_line = 0
        self.later: list[tuple[Any, Any, int]] = []


class _Builder:
    """Builds the values of one stream, document after document.

    Attributes:
        handlers: What takes an event, by the event's type; the others are of no interest.
        lines: The lines of the document's events, from 0.
        repeats: Whether a mapping of the document has a duplicate key.
    """

    def __init__(self, first_line: int) -> None:
        self.lines: list[int] = []
        self._first_line = first_line
        self.handlers: dict[type, Callable[[Any], None]] = {
            yaml.DocumentStartEvent: self._start_document,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.SequenceStartEvent: self._start_sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
        }

    def finish(self, file: str) -> object:
        """Return the value of the document that has just ended."""
        if self._problems:
            raise DocumentError(f"{file}:{line}: {text}" for line, text in self._problems[:MAX_PROBLEMS])
        return self._top.container[0]

    def event_lines(self, value: object) -> EventLines | None:
        """Return the lines of the document that has just ended; None if its values are in another order."""
        if not self._in_order or len(self.lines) > _MAX_EVENTS:
            return None
        return EventLines(value, self._first_line, array("I", self.lines))

    def _line(self, event: Any) -> int:
        return event.start_mark.line + self._first_line  # type: ignore[no-any-return]  # libyaml's marks

    def _start_document(self, _event: object) -> None:
        root: list[object] = []
        self._top = _Frame(root, root.append)
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._aliased = 0
        self._problems: list[tuple[int, str]] = []
        self._in_order = True
        self.repeats = False
        self.lines.clear()

    def _scalar(self, event: Any) -> None:
        # Nine of ten events come here: a plain text takes the shortest way.
        text, top = event.value, self._top
        value: scalars.Scalar = text
        if event.tag is not None or (event.implicit[0] and (not text or text[0] in scalars.SPECIAL_FIRST)):
            value = self._resolved(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        if top.append is not None:
            top.append(value)
        elif top.key is not _NO_KEY:
            self._put(value)
        elif type(value) is str and text != "<<":
            top.key = value
        elif is_merge_key(event):
            top.key, top.merge_line = _MERGE, self._line(event)
        else:
            top.key = self._key(value, event)

    def _resolved(self, event: Any) -> scalars.Scalar:
        try:
            return scalars.resolved(event.value, event.tag, plain=event.implicit[0])
        except ValueError as error:
            self._problems.append((self._line(event), f"{shown(event.value)}: {error}"))
            return str(event.value)

    def _key(self, value: Any, event: Any) -> str:
        """Return a value as the key of a JSON object."""
        problem = _CONTAINER_AS_KEY
        if not isinstance(value, dict | list):
            try:
                return scalars.as_key(value)
            except ValueError as error:
                problem = str(error)
        self._problems.append((self._line(event), problem))
        return ""

    def _put(self, value: object) -> None:
        """Take the value of the last key of a mapping."""
        top = self._top
        key, top.key = top.key, _NO_KEY
        if top.later or key is _MERGE or key in top.container:
            top.later.append((key, value, top.merge_line))
        else:
            top.container[key] = value

    def _add(self, value: object, event: Any) -> None:
        """Take the next value that is no scalar written here."""
        top = self._top
        if top.append is not None:
            top.append(value)
        elif top.key is _NO_KEY:
            top.key = self._key(value, event)
        else:
            self._put(value)

    def _start_mapping(self, event: yaml.MappingStartEvent) -> None:
        self._start(_Frame({}), event)

    def _start_sequence(self, event: yaml.SequenceStartEvent) -> None:
        items: list[object] = []
        self._start(_Frame(items, items.append), event)

    def _start(self, frame: _Frame, event: yaml.CollectionStartEvent) -> None:
        self._add(frame.container, event)
        self._stack.append(self._top)
        self._top = frame
        if event.anchor is not None:
            self._anchors[event.anchor] = frame.container
        if len(self._stack) > MAX_DEPTH:
            raise _Impossible(self._line(event), TOO_DEEP)

    def _end(self, _event: object) -> None:
        if self._top.later:
            self._put_later(self._top)
        self._top = self._stack.pop()

    def _put_later(self, frame: _Frame) -> None:
        """Put in place what could not be before: keys that repeat, and what ``<<`` brings.

        As go-yaml v2 does it, all comes in the order of the text: "<<" overrides what is above it.
        """
        self._in_order = False
        mapping, own = frame.container, set(frame.container)
        for key, value, line in frame.later:
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

    def _alias(self, event: yaml.AliasEvent) -> None:
        self._in_order = False
        name, line = event.anchor, self._line(event)
        if name not in self._anchors:
            raise _Impossible(line, f"the alias *{name} refers to an anchor that is not defined before it")
        value = self._anchors[name]
        if isinstance(value, dict | list):
            if any(frame.container is value for frame in (*self._stack, self._top)):
                raise _Impossible(line, f"the alias *{name} is inside the value that it refers to")
            size, height = _extent(value, MAX_ALIASED_VALUES - self._aliased)
            self._aliased += size
            if self._aliased > MAX_ALIASED_VALUES:
                raise _Impossible(line, f"the aliases expand to more than {MAX_ALIASED_VALUES:,} values")
            if len(self._stack) + height > MAX_DEPTH:
                raise _Impossible(line, TOO_DEEP)
        self._add(value, event)


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
