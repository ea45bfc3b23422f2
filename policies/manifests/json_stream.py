"""Read a stream of JSON values; the lines of their fields are found when somebody asks.

The values come from the standard library's parser, whose C code reads some ten times faster than any
YAML parser. It knows no lines, so the text is read a second time, slowly, for a document that has
something to report.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from policies.manifests import scalars
from policies.manifests.errors import DocumentError
from policies.manifests.frames import Frame, MappingFrame, RootFrame, SequenceFrame
from policies.manifests.lines import MAX_DEPTH, EntryLines, LineMap, Repeat

_SPACE = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]|[^][{}\s,:"]+')
#: Half of a surrogate pair may be written so; only the standard library's parser lets it pass.
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_DEEP = f"lists and mappings stand more than {MAX_DEPTH} levels deep"


@dataclass(frozen=True, slots=True)
class JsonText:
    """One JSON value and the text it came from.

    Attributes:
        value: The value.
        text: The text of the whole stream.
        start: Where in the text the value starts.
        repeats: Whether a key stands twice in one of its objects.
    """

    value: object
    text: str
    start: int
    repeats: bool = False

    def lines(self) -> LineMap:
        """Return the lines of the value's fields."""
        return _LineReader(self.text, self.start).read()


class Decoder:
    """Decodes values as Kubernetes has them.

    Attributes:
        repeats: Whether a key stood twice in an object of any value so far.
    """

    def __init__(self) -> None:
        self.repeats = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._mapping, parse_float=_float, parse_constant=_refuse_constant
        )

    def decode(self, text: str, position: int) -> tuple[object, int]:
        """Return the value that starts at a position, and where it ends.

        Raises:
            JSONDecodeError: It is no JSON.
            UnicodeEncodeError: A string holds half of a surrogate pair.
            RecursionError: It nests too deep.
            ValueError: It holds a number that JSON does not have.
        """
        value, end = self._decoder.raw_decode(text, position)
        if _ESCAPED_SURROGATE.search(text, position, end):
            json.dumps(value, ensure_ascii=False).encode()
        return value, end

    def _mapping(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(items)
        if len(mapping) < len(items):
            self.repeats = True
        return mapping


class NoJsonError(ValueError):
    """A text is no JSON: its line, and what is wrong. It may still be YAML."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(problem)


def read(text: str, file: str) -> Iterator[JsonText]:
    """Read every JSON value of a text.

    Raises:
        NoJsonError: The text is not JSON.
        DocumentError: It is JSON, but too deep, or with values Kubernetes does not have.
    """
    position = _skip_space(text, 0)
    while position < len(text):
        value, end, repeats = _decode(text, position, file)
        _check_depth(value, f"{file}:{_line(text, position)}")
        yield JsonText(value, text, position, repeats)
        position = _skip_space(text, end)


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _decode(text: str, position: int, file: str) -> tuple[object, int, bool]:
    """Return the next value, where it ends, and whether a key repeats in one of its objects."""
    decoder = Decoder()
    where = f"{file}:{_line(text, position)}"
    try:
        value, end = decoder.decode(text, position)
    except json.JSONDecodeError as error:
        problem = f"is not JSON: column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NoJsonError(error.lineno, problem) from error
    except RecursionError as error:
        raise DocumentError([f"{where}: {_TOO_DEEP}"]) from error
    except UnicodeEncodeError as error:
        raise DocumentError(
            [f"{where}: half of a surrogate pair (\\ud800 to \\udfff) is no character"]
        ) from error
    except ValueError as error:
        raise DocumentError([f"{where}: NaN, Infinity or a number too large for JSON"]) from error
    return value, end, decoder.repeats


def _float(text: str) -> int | float:
    return scalars.as_number(float(text))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_depth(value: object, where: str) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if type(inner) in {dict, list}
        ]
        if not level:
            return
    raise DocumentError([f"{where}: {_TOO_DEEP}"])


class _LineReader:
    """Reads a valid JSON value a second time, for the lines of its entries and for repeated keys."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._line = _line(text, start)
        self._counted = start
        self._repeats: list[Repeat] = []

    def read(self) -> LineMap:
        """Return a value that nests as the document's does, with null for every scalar."""
        entries: dict[int, EntryLines] = {}
        root = RootFrame(line=self._line)
        top: Frame = root
        stack: list[Frame] = []
        for found in _TOKEN.finditer(self._text, self._start):
            mark, line = found[0], self._line_at(found.start())
            if mark in "{[":
                frame = MappingFrame([], self._repeats) if mark == "{" else SequenceFrame()
                top.add(frame.value, line)
                entries[id(frame.value)] = frame.lines
                stack.append(top)
                top = frame
            elif mark in "}]":
                if isinstance(top, MappingFrame):
                    top.close(entries)
                top = stack.pop()
            else:
                top.add(json.loads(mark) if top.expects_key else None, line)
            if not stack:
                break
        return LineMap(root.value, root.line, entries, self._repeats)

    def _line_at(self, position: int) -> int:
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line
