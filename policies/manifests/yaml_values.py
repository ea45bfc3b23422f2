"""Read a stream of YAML documents into JSON values.

The values are built from libyaml's events, not from PyYAML's nodes: that is three times as fast, takes less
than half the memory, and recurses no deeper than ``MAX_DEPTH`` (PyYAML's C composer ends the process on
200,000 open brackets).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import yaml
from yaml import MappingEndEvent, ScalarEvent

from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown
from policies.manifests.nodes import EventLines
from policies.manifests.scalars import Scalar, as_key, resolved
from policies.manifests.yaml_events import MAX_DEPTH, TOO_DEEP, events, is_merge_key, sentence

#: Values that the aliases of one document may expand to together; a file written by hand has some hundreds.
MAX_ALIASED_VALUES = 100_000
#: Problems of one document that are reported.
MAX_PROBLEMS = 100
#: Values and keys of a document whose lines are kept; finding one of more takes longer than parsing again.
_MAX_LINES = 4096
#: Plain scalars of a stream whose values are kept for where they are written again, as nearly all keys are.
_MAX_KNOWN = 1024

_CONTAINER_AS_KEY = (
    "a list or a mapping where a key belongs; "
    "if this is a template, render it first (helm template, kustomize build)"
)


class _Impossible(Exception):  # noqa: N818 - never leaves this module
    """A document that cannot be read to its end: its line, and why."""


@dataclass(frozen=True, slots=True)
class YamlValue:
    """The value of one document, and which part of the text it came from."""

    value: object  #: The value; None for a document without content.
    start: int  #: Where the part starts, in characters.
    end: int  #: Where it ends.
    line: int  #: The line where it starts.
    repeats: bool  #: Whether a mapping has a duplicate key.
    lines: EventLines | None  #: The lines of its fields; None where only the text's nodes have them.


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
    known: dict[str, Scalar] = {}
    try:
        given = events(text)
        for event in given:
            if type(event) is yaml.DocumentStartEvent:
                builder = _Builder(given, lines_before + 1, known)
                end = builder.take()
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


class _Builder:
    """Builds the value of a document from its events, which is what reading YAML takes as long as.

    Attributes:
        repeats: Whether a mapping of the document has a duplicate key.
    """

    def __init__(self, given: Iterator[Any], first_line: int, known: dict[str, Scalar]) -> None:
        self.repeats = False
        self._given = given
        self._first_line = first_line
        self._known = known
        self._root: object = None
        self._anchors: dict[str, Any] = {}
        # The lists and mappings with anchors that have not ended yet.
        self._open: list[object] = []
        self._aliased = 0
        self._problems: list[tuple[int, str]] = []
        self._lines: list[int] = []
        self._in_order = True

    def take(self) -> Any:
        """Take the events of the document; return the mark where it ends."""
        event = next(self._given)
        self._lines.append(event.start_mark.line)
        self._root = self._value(event, 0)
        return next(self._given).end_mark

    def finish(self, file: str) -> object:
        """Return the value of the document, all of which was taken."""
        if self._problems:
            # That of a list or mapping comes after those of what it holds.
            ordered = sorted(self._problems, key=itemgetter(0))
            raise DocumentError(f"{file}:{line}: {text}" for line, text in ordered[:MAX_PROBLEMS])
        return self._root

    def event_lines(self) -> EventLines | None:
        """Return the lines of the document; None if its values are in another order."""
        if not self._in_order or len(self._lines) > _MAX_LINES:
            return None
        return EventLines(self._root, self._first_line, array("I", self._lines))

    def _line(self, event: Any) -> int:
        return event.start_mark.line + self._first_line  # type: ignore[no-any-return]  # libyaml's marks

    def _value(self, event: Any, depth: int) -> Any:
        """Return the value that starts with an event, inside of so many lists and mappings."""
        kind = type(event)
        if kind is ScalarEvent:
            return self._resolved(event)
        if kind is yaml.AliasEvent:
            return self._alias(event, depth)
        if depth >= MAX_DEPTH:
            raise _Impossible(self._line(event), TOO_DEEP)
        container: Any = {} if kind is yaml.MappingStartEvent else []
        if event.anchor is not None:
            self._anchors[event.anchor] = container
            self._open.append(container)
        if kind is yaml.MappingStartEvent:
            self._fill_mapping(container, depth + 1)
        else:
            self._fill_list(container, depth + 1)
        if event.anchor is not None:
            self._open.pop()
        return container

    def _fill_list(self, items: list[Any], depth: int) -> None:
        for event in self._given:
            if type(event) is yaml.SequenceEndEvent:
                break
            self._lines.append(event.start_mark.line)
            items.append(self._value(event, depth))

    def _fill_mapping(self, mapping: dict[str, Any], depth: int) -> None:
        known, note_line, key, merge_line = self._known, self._lines.append, _NO_KEY, 0
        # What comes from the first ``<<`` or repeated key on.
        later: list[tuple[Any, Any, int]] = []
        for event in self._given:
            kind = type(event)
            if kind is MappingEndEvent:
                break
            note_line(event.start_mark.line)
            # Three of four events are scalars: a call for each would make all reading a tenth slower.
            if kind is ScalarEvent and event.anchor is None and event.tag is None:
                value = known.get(event.value, known) if event.implicit[0] else event.value
                if value is known:
                    value = self._resolved(event)
            else:
                value = self._value(event, depth)
            if key is _NO_KEY:
                if type(value) is str and value != "<<":
                    key = value
                else:
                    # Of each mapping its own: what is merged may have a ``<<``, too.
                    key, merge_line = self._key(value, event), self._line(event)
                continue
            if later or key in mapping or key is _MERGE:
                later.append((key, value, merge_line))
            else:
                mapping[key] = value
            key = _NO_KEY
        if later:
            self._put_later(mapping, later)

    def _resolved(self, event: Any) -> Scalar:
        """Return the value of a scalar, and keep that of a plain one."""
        text, tag, plain = event.value, event.tag, event.implicit[0]
        try:
            value = resolved(text, tag, plain=plain)
        except ValueError as error:
            self._problems.append((self._line(event), f"{shown(text)}: {error}"))
            value = str(text)
        else:
            if plain and tag is None and len(self._known) < _MAX_KNOWN:
                self._known[text] = value
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _key(self, value: Any, event: Any) -> Any:
        """Return a value as the key of a JSON object, or as the placeholder of ``<<``."""
        if type(event) is ScalarEvent and is_merge_key(event):
            return _MERGE
        problem = _CONTAINER_AS_KEY
        if not isinstance(value, dict | list):
            try:
                return as_key(value)
            except ValueError as error:
                problem = str(error)
        self._problems.append((self._line(event), problem))
        return ""

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

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Any:
        self._in_order = False
        name, line = event.anchor, self._line(event)
        if name not in self._anchors:
            raise _Impossible(line, f"the alias *{name} refers to an anchor that is not defined before it")
        value = self._anchors[name]
        if isinstance(value, dict | list):
            if any(container is value for container in self._open):
                raise _Impossible(line, f"the alias *{name} is inside the value that it refers to")
            size, height = _extent(value, MAX_ALIASED_VALUES - self._aliased)
            self._aliased += size
            if self._aliased > MAX_ALIASED_VALUES:
                raise _Impossible(line, f"the aliases expand to more than {MAX_ALIASED_VALUES:,} values")
            if depth + height > MAX_DEPTH:
                raise _Impossible(line, TOO_DEEP)
        return value


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
