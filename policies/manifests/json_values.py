"""Read a stream of JSON values.

The standard library's parser, whose C code reads some ten times faster than any YAML parser, is made to
read numbers as Kubernetes does, and to notice duplicate keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from policies.manifests import scalars
from policies.manifests.errors import DocumentError
from policies.manifests.yaml_events import MAX_DEPTH, TOO_DEEP

_SPACE = re.compile(r"[ \t\r\n]*")
#: Half of a surrogate pair may be written so; only the standard library's parser lets it pass.
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class JsonValue:
    """One value of a text."""

    value: object  #: The value.
    start: int  #: Where in the text it starts, in characters.
    line: int  #: The line where it starts, from 1.
    repeats: bool  #: Whether an object has a duplicate key.


class NoJsonError(ValueError):
    """A text is no JSON: its line, and what is wrong. It may still be YAML."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(problem)


def read(text: str, file: str, *, lines_before: int = 0) -> Iterator[JsonValue]:
    """Read every JSON value of a text; so many lines of its file are before it.

    Raises:
        NoJsonError: The text is not JSON.
        DocumentError: It is JSON, but too deep, or with values Kubernetes does not have.
    """
    end, line = 0, lines_before + 1
    while (start := _behind_space(text, end)) < len(text):
        line += text.count("\n", end, start)
        decoder = _Decoder()
        try:
            value, end = decoder.raw_decode(text, start)
            if _ESCAPED_SURROGATE.search(text, start, end):
                json.dumps(value, ensure_ascii=False).encode()
            brackets = text.count("{", start, end) + text.count("[", start, end)
            problem = TOO_DEEP if brackets > MAX_DEPTH and _is_too_deep(value) else ""
        except json.JSONDecodeError as error:
            message = f"is not JSON: column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
            raise NoJsonError(lines_before + error.lineno, message) from error
        except (RecursionError, ValueError) as error:
            problem = _problem(error)
        if problem:
            raise DocumentError([f"{file}:{line}: {problem}"])
        yield JsonValue(value, start, line, decoder.repeats)
        line += text.count("\n", start, end)


class _Decoder(json.JSONDecoder):
    """Decodes a value as Kubernetes has it.

    Attributes:
        repeats: Whether an object has a duplicate key.
    """

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=self._mapping, parse_float=_float, parse_constant=_refuse_constant)
        self.repeats = False

    def _mapping(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(items)
        if len(mapping) < len(items):
            self.repeats = True
        return mapping


def _behind_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _problem(error: RecursionError | ValueError) -> str:
    """Return the problem of JSON that holds values which Kubernetes does not have."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, UnicodeEncodeError):
        return "half of a surrogate pair (\\ud800 to \\udfff) is not a character"
    return "NaN, Infinity or a number too large for JSON"


def _float(text: str) -> int | float:
    return scalars.as_number(float(text))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _is_too_deep(value: object) -> bool:
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
            return False
    return True
