"""Read JSON that a Kubernetes API server sends, whatever form its clients gave it.

orjson is fast and strict: it refuses levels beyond 1,024, of which Go's parser takes 10,000, and it refuses
half surrogate pairs, bytes that are no UTF-8 and numbers beyond the range of a double. An API server passes
such things on where it does not look: ``metadata.managedFields`` may hold thousands of levels. What orjson
refuses is read once more here, without what no one reads. Nothing recurses, each step is linear in the bytes,
and each is taken only by documents that need it.

A key that an object has twice counts with its last value, as Go's parser has it for maps.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from policies.manifests.yaml_values import MAX_DEPTH

#: Bytes of a document that are looked at in one go: with all that is known of them, they fit a cache.
_BLOCK: Final = 128 * 1024
#: What each byte outside of a text does to the depth.
_STEPS: Final = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_QUOTE, _BACKSLASH = b'"\\'
#: A surrogate pair, or (second group) half of one, and the escaped backslashes before it.
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*+)\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
#: A number that may be beyond the range of a double, if there is one, and all before it: texts, be they
#: without an end, and other numbers. It matches wherever it is tried and takes nothing back: each byte is
#: seen once.
_LONG_NUMBER: Final = re.compile(
    rb'((?:[^"0-9]++|"(?:[^"\\]++|\\.)*+"?|[0-9.]{1,300}+(?![0-9.eE]))*+)([0-9][-+.0-9eE]*+)?', re.DOTALL
)
#: The largest double, which stands for numbers beyond it.
_LARGEST: Final = b"1.7976931348623157e308"
#: What Go puts where half of a surrogate pair, or a byte that is no UTF-8, was.
_REPLACEMENT: Final = rb"\ufffd"


class JsonError(ValueError):
    """Bytes that are no JSON, or hold more values than the reader was told to take."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A document that was read.

    Attributes:
        value: What it holds.
        cut: What it does not hold although the bytes did, in words; empty if it is whole.
    """

    value: Any
    cut: tuple[str, ...] = ()


def read_json(data: bytes, *, most_values: int | None = None) -> JsonDocument:
    r"""Read a document.

    Lists and objects below ``MAX_DEPTH`` levels are there, and empty. What is no character is U+FFFD. A
    number beyond the range of a double is the largest one.

    Args:
        data: The document, in UTF-8.
        most_values: How many values it may have; None for any number. Reading takes some 0.1 µs for each.

    Raises:
        JsonError: It is no JSON, or it has more values.

    >>> read_json(b'{"a": [1]}')
    JsonDocument(value={'a': [1]}, cut=())
    >>> read_json(b'["\\ud800"]')
    JsonDocument(value=['\ufffd'], cut=('half surrogate pairs',))
    """
    if most_values is not None and (count := count_values(data, most_values)) > most_values:
        raise JsonError(f"it has {count} values, and at most {most_values} are read")
    try:
        return JsonDocument(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        refused = error
    cut = []
    for made, what in (
        (_of_characters, "bytes that are no UTF-8"),
        (_flattened, f"values more than {MAX_DEPTH} levels deep"),
        (_of_whole_pairs, "half surrogate pairs"),
        (_of_doubles, "digits of numbers beyond the range of a double"),
    ):
        changed = made(data)
        if changed != data:
            data = changed
            cut.append(what)
            try:
                return JsonDocument(orjson.loads(data), tuple(cut))
            except orjson.JSONDecodeError as error:
                refused = error
    raise JsonError(f"it is no JSON: {refused}") from None


def count_values(data: bytes, enough: int) -> int:
    """Return how many lists, objects and further entries of them a document has, at least.

    If there are no more than ``enough``, the answer may count those of its texts, too.

    >>> count_values(b'{"a": [1, 2], "b": ",,,,"}', 5)
    4
    """
    most = data.count(b",") + data.count(b"[") + data.count(b"{")
    if most <= enough:
        return most
    reader, found = _Blocks(), 0
    bytes_of = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(data), _BLOCK):
        block = bytes_of[start : start + _BLOCK]
        outside = block[~reader.in_text(block)]
        found += sum(int(np.count_nonzero(outside == byte)) for byte in b",[{")
    return found


class _Blocks:
    """Finds the texts of a document that is shown to it block by block."""

    def __init__(self) -> None:
        self._in_text = False
        self._escaped = False

    def in_text(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Return which bytes of the next block are in a text; (bytes,), of its two quotes the first is."""
        quotes = block == _QUOTE
        backslashes = np.flatnonzero(block == _BACKSLASH)
        if self._escaped:
            quotes[0] = False
        escaped = self._escaped
        self._escaped = False
        if backslashes.size:
            # Of backslashes in a row the first, third, … escape what follows, unless the first is escaped.
            first = np.diff(backslashes, prepend=-2) != 1
            starts = np.maximum.accumulate(np.where(first, backslashes, 0))
            if escaped and backslashes[0] == 0:
                starts[starts == 0] = -1
            after = backslashes[(backslashes - starts) % 2 == 0] + 1
            self._escaped = bool(after.size and after[-1] == block.size)
            quotes[after[: after.size - self._escaped]] = False
        inside: npt.NDArray[np.bool_] = (np.cumsum(quotes, dtype=np.uint8) + self._in_text) % 2 == 1
        self._in_text = bool(inside[-1])
        return inside


def _flattened(data: bytes) -> bytes:
    """Return a document in which lists and objects below MAX_DEPTH levels are empty."""
    reader, depth, kept = _Blocks(), 0, []
    bytes_of = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(data), _BLOCK):
        block = bytes_of[start : start + _BLOCK]
        steps = _STEPS[block]
        steps[reader.in_text(block)] = 0
        depths = np.cumsum(steps, dtype=np.int32) + depth
        depth = int(depths[-1])
        # The bracket that opens a level too many stays, as that one does which closes it.
        keep = (depths <= MAX_DEPTH) | ((depths == MAX_DEPTH + 1) & (steps == 1))
        kept.append(block.tobytes() if keep.all() else block[keep].tobytes())
    return b"".join(kept)


def _of_characters(data: bytes) -> bytes:
    return data.decode("utf-8", errors="replace").encode()


def _of_whole_pairs(data: bytes) -> bytes:
    return _SURROGATES.sub(lambda found: found[1] + _REPLACEMENT if found[2] else found[0], data)


def _of_doubles(data: bytes) -> bytes:
    return _LONG_NUMBER.sub(lambda found: found[1] + _double(found[2] or b""), data)


def _double(digits: bytes) -> bytes:
    """Return a number without its sign that is no larger than the largest double."""
    try:
        return _LARGEST if math.isinf(float(digits)) else digits
    except ValueError:
        return digits
