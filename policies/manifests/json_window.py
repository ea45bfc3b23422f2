"""A window that slides over a JSON text too large to be held, and decodes a value at a time.

Lines and columns are those of the text, and so are the errors.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeAlias

from policies.manifests import json_stream
from policies.manifests.encoding import not_text
from policies.manifests.errors import DocumentError
from policies.manifests.json_stream import JsonText
from policies.manifests.lines import LineMap

#: Characters of one object of a text that can. Arbitrary; the API server takes no object above 3 MiB.
MAX_OBJECT = 64 * 2**20
#: Characters in which a List has to begin its items. Arbitrary; kubectl needs 40.
_HEAD_LENGTH = 4096
#: The longest token of JSON but for strings, as a cut leaves it: ``-Infinity``, or an escape in a string.
_TOKEN_LENGTH = 12

_SPACE = re.compile(r"[ \t\r\n]*")
#: A List up to its items. kubectl writes ``kind`` behind them, the API server before.
_LIST_HEAD = re.compile(
    r'\{(?:\s*"(?:apiVersion|kind|metadata)"\s*:\s*(?:"[^"\\\n]*"|\{[^{}]*\})\s*,)*\s*"items"\s*:\s*(?=\[)'
)

#: A value, and what finds the lines of its fields.
LocatedValue: TypeAlias = "tuple[Any, Callable[[], LineMap]]"


class UnstreamableError(DocumentError):
    """A text cannot be read object by object; while nothing was given out, it may still be read at once."""


class JsonWindow:
    """The part of a JSON text around the place that is being read."""

    def __init__(self, next_block: Callable[[], bytes], file: str) -> None:
        """Start before the text.

        Args:
            next_block: Gives the next bytes of the text, none at its end.
            file: The name that messages use.
        """
        self._next_block = next_block
        self._file = file
        self._bytes = codecs.getincrementaldecoder("utf-8")()
        self._json = json_stream.Decoder()
        self._text = ""
        self._at = 0
        # Of the text before the window: its lines, and the characters of its last one.
        self._lines = 0
        self._columns = 0
        self._ended = False

    def mark(self) -> str:
        """Go to the next character that is no space; return it, or nothing at the end of the text."""
        while True:
            if found := _SPACE.match(self._text, self._at):
                self._at = found.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def expect(self, mark: str) -> None:
        """Go behind a character that has to stand here."""
        if self.mark() != mark:
            self.refuse(f"is not JSON: column {self._column() + 1}: expecting ',' or '{mark}'")
        self._at += 1

    def list_head(self) -> dict[str, Any] | None:
        """Go to the items of a List and return the members before; stay where no List starts."""
        while len(self._text) - self._at < _HEAD_LENGTH and self._more():
            pass
        found = _LIST_HEAD.match(self._text, self._at)
        if not found:
            return None
        try:
            members = json.loads(f"{found[0]}0}}", object_pairs_hook=list)
        except ValueError:
            return None
        if len(dict(members)) < len(members):
            return None
        self._at = found.end()
        return dict(members)

    def list_tail(self) -> LocatedValue:
        """Read the members of a List that stand behind its items, from the comma on, as an object."""
        # With a brace in place of the comma they are one.
        self._text = f"{self._text[: self._at]}{{{self._text[self._at + 1 :]}"
        members, find_lines = self.value()
        if not members:
            self.refuse("is not JSON: a comma before the end of an object")
        return members, find_lines

    def value(self) -> LocatedValue:
        """Read the next value, and go behind it."""
        self.mark()
        while True:
            try:
                value, end = self._json.decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not (self._may_go_on(error) and self._more()):
                    self._explain()
                continue
            except (ValueError, RecursionError):
                self._explain()
            # Other values than objects may go on behind the window, as numbers do.
            if isinstance(value, dict) or end + _TOKEN_LENGTH < len(self._text) or self._ended:
                break
            self._more()
        find_lines = partial(_lines_of, self._text, self._at, self._lines)
        self._at = end
        return value, find_lines

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error about the place that is being read."""
        line = self._lines + self._text.count("\n", 0, self._at) + 1
        raise UnstreamableError([f"{self._file}:{line}: {problem}"])

    def _column(self) -> int:
        """Return how many characters stand before the place in its line."""
        start = self._text.rfind("\n", 0, self._at) + 1
        return self._at - start if start else self._columns + self._at

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Tell whether an error may come from the cut at the end of the window."""
        return error.msg.startswith("Unterminated string") or error.pos + _TOKEN_LENGTH > len(self._text)

    def _explain(self) -> NoReturn:
        """Raise the error that reading the whole text would have raised."""
        lines = self._lines + self._text.count("\n", 0, self._at)
        blank = "\n" * lines + " " * self._column()
        try:
            for _ in json_stream.read(blank + self._text[self._at :], self._file):
                break
        except json_stream.NoJsonError as error:
            raise UnstreamableError([f"{self._file}:{error.line}: {error.problem}"]) from error
        except DocumentError as error:
            raise UnstreamableError(error.problems) from error
        self.refuse(f"is not JSON: column {self._column() + 1}: expecting value")

    def _more(self) -> bool:
        """Drop what has been read and take in at least as much as is left; tell whether there was more."""
        self._columns = self._column()
        self._lines += self._text.count("\n", 0, self._at)
        parts = [self._text[self._at :]]
        self._at, self._text = 0, ""
        left, taken = len(parts[0]), 0
        while taken <= left and not self._ended:
            block = self._next_block()
            self._ended = not block
            try:
                parts.append(self._bytes.decode(block, final=self._ended))
            except UnicodeDecodeError as error:
                lines = self._lines + sum(part.count("\n") for part in parts)
                problem = not_text(error, lines_before=lines)
                raise UnstreamableError([f"{self._file}:{problem}"]) from error
            taken += len(parts[-1])
        self._text = "".join(parts)
        if left > MAX_OBJECT:
            self.refuse(f"one object takes more than {MAX_OBJECT >> 20} MiB")
        return taken > 0


def _lines_of(text: str, start: int, lines_before: int) -> LineMap:
    return JsonText(None, "\n" * lines_before + text, lines_before + start).lines()
