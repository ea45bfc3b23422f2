"""Read a stream of YAML documents into JSON values that know their lines.

The values are built from libyaml's events, not from PyYAML's nodes: that is three times as fast, takes less
than half the memory, and does not recurse (PyYAML's C composer ends the process on 200,000 open brackets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml

from policies.manifests import scalars, yaml_errors
from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown
from policies.manifests.frames import Frame, MappingFrame, RootFrame, SequenceFrame
from policies.manifests.lines import MAX_DEPTH, MAX_PROBLEMS, EntryLines, LineMap, Repeat
from policies.manifests.yaml_events import events

#: Values that the aliases of one document may stand for, all together. Arbitrary; a file written by hand
#: has some hundreds.
MAX_ALIASED_VALUES = 100_000

_MERGE_TAG = "tag:yaml.org,2002:merge"


class _Impossible(Exception):  # noqa: N818 - never leaves this module
    """A document that cannot be read to its end: its line, and why."""


def read(text: str, file: str, *, lines_before: int = 0) -> Iterator[LineMap]:
    """Read every document of a stream; one without content has the value None.

    Args:
        text: The stream, or a part of it that starts with a document.
        file: The name that messages use.
        lines_before: How many lines of the file stand before the text.

    Raises:
        DocumentError: No YAML, or a value that JSON and so Kubernetes does not have.
    """
    builder = _Builder(lines_before + 1)
    try:
        handlers = builder.handlers
        for event in events(text):
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
            elif type(event) is yaml.DocumentEndEvent:
                yield builder.finish(file)
    except yaml.YAMLError as error:
        line, problem = yaml_errors.sentence(error, text)
        raise DocumentError([f"{file}:{lines_before + line}: {problem}"]) from error
    except _Impossible as error:
        line, problem = error.args
        raise DocumentError([f"{file}:{line}: {problem}"]) from error


class _Builder:
    """Builds the values of one stream, document after document.

    Attributes:
        handlers: What takes an event, by the event's type; the others are of no interest.
    """

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self.handlers: dict[type, Callable[[Any], None]] = {
            yaml.DocumentStartEvent: self._start_document,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.SequenceStartEvent: self._start_sequence,
            yaml.MappingEndEvent: self._end_mapping,
            yaml.SequenceEndEvent: self._end_sequence,
        }

    def finish(self, file: str) -> LineMap:
        """Return the document that has just ended."""
        if self._problems:
            raise DocumentError(f"{file}:{line}: {text}" for line, text in self._problems[:MAX_PROBLEMS])
        return LineMap(self._root.value, self._root.line, self._entries, self._repeats)

    def _line(self, event: Any) -> int:
        return event.start_mark.line + self._first_line  # type: ignore[no-any-return]  # libyaml's marks

    def _start_document(self, event: yaml.DocumentStartEvent) -> None:
        self._root = RootFrame(line=self._line(event))
        self._top: Frame = self._root
        self._stack: list[Frame] = []
        self._anchors: dict[str, Frame | scalars.Scalar] = {}
        self._aliased = 0
        self._entries: dict[int, EntryLines] = {}
        self._problems: list[tuple[int, str]] = []
        self._repeats: list[Repeat] = []

    def _scalar(self, event: Any) -> None:
        # Nine of ten events come here: a plain text takes the shortest way.
        text, tag, plain = event.value, event.tag, event.implicit[0]
        line = event.start_mark.line + self._first_line
        value: scalars.Scalar = text
        if tag is not None or (plain and (not text or text[0] in scalars.SPECIAL_FIRST)):
            value = self._resolved(text, tag, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        top = self._top
        if text == "<<" and top.expects_key and (plain or tag == _MERGE_TAG):
            top.expect_merge(line)
        else:
            top.add(value, line)

    def _resolved(self, text: str, tag: str | None, line: int) -> scalars.Scalar:
        try:
            return scalars.unquoted(text) if tag is None else scalars.tagged(tag, text)
        except ValueError as error:
            self._problems.append((line, f"{shown(text)}: {error}"))
            return text

    def _start_mapping(self, event: yaml.MappingStartEvent) -> None:
        self._start(MappingFrame(self._problems, self._repeats), event)

    def _start_sequence(self, event: yaml.SequenceStartEvent) -> None:
        self._start(SequenceFrame(), event)

    def _start(self, frame: MappingFrame | SequenceFrame, event: yaml.CollectionStartEvent) -> None:
        line = self._line(event)
        self._top.add(frame.value, line)
        self._stack.append(self._top)
        self._top = frame
        self._entries[id(frame.value)] = frame.lines
        if event.anchor is not None:
            self._anchors[event.anchor] = frame
        self._check_depth(1, line)

    def _end_sequence(self, _event: object) -> None:
        frame, self._top = self._top, self._stack.pop()
        frame.finished = True
        self._top.contain(frame)

    def _end_mapping(self, event: yaml.MappingEndEvent) -> None:
        if isinstance(self._top, MappingFrame):
            self._top.close(self._entries)
        self._end_sequence(event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name, line = event.anchor, self._line(event)
        if name not in self._anchors:
            raise _Impossible(line, f"the alias *{name} names an anchor that does not stand before it")
        anchored = self._anchors[name]
        if not isinstance(anchored, Frame):
            self._top.add(anchored, line)
            return
        if not anchored.finished:
            raise _Impossible(line, f"the alias *{name} stands inside the value that it names")
        self._aliased += anchored.size
        if self._aliased > MAX_ALIASED_VALUES:
            raise _Impossible(line, f"the aliases stand for more than {MAX_ALIASED_VALUES:,} values")
        self._top.add(anchored.value, line)
        self._check_depth(anchored.height, line)
        self._top.contain(anchored)

    def _check_depth(self, height: int, line: int) -> None:
        if len(self._stack) + height > MAX_DEPTH + 1:
            raise _Impossible(line, f"lists and mappings stand more than {MAX_DEPTH} levels deep")
