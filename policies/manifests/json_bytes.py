"""Read JSON that a Kubernetes API server sends, whatever form its clients gave it.

orjson is fast and strict: it refuses levels beyond 1,024, of which Go's parser takes 10,000, and it refuses
half surrogate pairs, bytes that are no UTF-8 and numbers beyond the range of a double. An API server passes
such things on where it does not look: ``metadata.managedFields`` may hold thousands of levels. What orjson
refuses is read once more here, without what no one reads. Nothing recurses, each step is linear in the bytes,
and each is taken only by documents that need it.

A key that an object has twice counts with its last value, as Go's parser has it for maps.

The parts of a text that no parser reads are found by brackets, commas and the ends of strings alone, so that
one broken object takes no other with it: what is between them may be anything, and the text may end anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from policies.manifests.yaml_events import MAX_DEPTH

#: Bytes of a document up to which it is looked at a second time while a client waits: 50 ms.
_LARGE: Final = 4 * 1024 * 1024
#: Bytes of an outline, each of which may be a token: 20 ms.
_LONG: Final = 32 * 1024
#: A surrogate pair, or (second group) half of one, and the escaped backslashes before it.
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*+)\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
#: A text, be it without an end, or (in the group) a number that may be beyond the range of a double, without
#: its sign. Nothing is taken back: each byte is seen once.
_TEXT_OR_NUMBER: Final = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?|(?<![0-9.])([0-9][0-9.]*+[eE][-+.0-9eE]*+|[0-9][0-9.]{299,}+)', re.DOTALL
)
#: The largest double, used for numbers beyond it.
_LARGEST: Final = b"1.7976931348623157e308"
#: What Go puts where half of a surrogate pair, or a byte that is no UTF-8, was.
_REPLACEMENT: Final = rb"\ufffd"
#: How a document is changed so that it can be read, and what that cuts.
_Way: TypeAlias = tuple[Callable[[bytes], bytes], str]
#: A string, with or without its end, or what opens, closes or parts lists and objects. Each byte belongs to
#: one match at most, and nothing is taken back.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]', re.DOTALL)


class JsonError(ValueError):
    """Bytes that are no JSON, or too much to be read while a client waits."""


class JsonDocument(NamedTuple):
    """A document that was read."""

    value: Any  #: What it holds.
    #: What it does not hold although the bytes did, in words; empty if it is whole.
    cut: tuple[str, ...] = ()


def read_json(data: bytes) -> JsonDocument:
    r"""Read a document.

    Lists and objects below ``MAX_DEPTH`` levels are there, and empty. What is no character is U+FFFD. A
    number beyond the range of a double is the largest one.

    Raises:
        JsonError: It is no JSON.

    >>> read_json(b'{"a": [1]}')
    JsonDocument(value={'a': [1]}, cut=())
    >>> read_json(b'["\\ud800"]')
    JsonDocument(value=['\ufffd'], cut=('half surrogate pairs',))
    """
    return _read(data, (*_AS_SENT, *_AS_WRITTEN))


def read_json_within(data: bytes, *, most_values: int) -> JsonDocument:
    """Read a document that a client waits for, as ``read_json`` does, if that takes no long time.

    Only what an API server sends is made readable: it checks numbers, and writes texts itself.

    Args:
        data: The document, in UTF-8.
        most_values: How many values it may have; each takes some 0.1 µs.

    Raises:
        JsonError: It is no JSON, it has more values, or it is too large to be looked at twice.
    """
    # Each has a character of its own, so that most documents need not be looked through.
    if len(data) > most_values and (count := count_values(data, most_values)) > most_values:
        raise JsonError(f"it has more than {most_values} values: at least {count}")
    return _read(data, _AS_SENT if len(data) <= _LARGE else ())


def _read(data: bytes, ways: Iterable[_Way]) -> JsonDocument:
    try:
        return JsonDocument(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        refused = error
    cut = []
    for made, what in ways:
        changed = made(data)
        if changed != data:
            data = changed
            cut.append(what)
            try:
                return JsonDocument(orjson.loads(data), tuple(cut))
            except orjson.JSONDecodeError as error:
                refused = error
    raise JsonError(str(refused)) from None


def count_values(data: bytes, enough: int) -> int:
    """Return how many lists, objects and further entries of them a document has, at least.

    If there are no more than ``enough``, or the document is large, the answer may count those of its texts.

    >>> count_values(b'{"a": [1, 2], "b": ",,,,"}', 5)
    4
    """
    most = data.count(b",") + data.count(b"[") + data.count(b"{")
    if most <= enough or len(data) > _LARGE:
        return most
    # Importing numpy takes long, and few documents need it.
    from policies.manifests.json_blocks import count_outside_texts  # noqa: PLC0415

    return count_outside_texts(data, b",[{")


def _flattened(data: bytes, levels: int = MAX_DEPTH) -> bytes:
    """Return a document in which lists and objects below some levels are empty."""
    # Importing numpy takes long, and few documents need it.
    from policies.manifests.json_blocks import flattened  # noqa: PLC0415

    return flattened(data, levels)


def outline(data: bytes, levels: int) -> bytes:
    """Return a document in which lists and objects below some levels are empty, be it broken there.

    Nothing is left of one that is too large to be looked at a second time, or still is long.
    """
    short = b"" if len(data) > _LARGE else _flattened(data, levels)
    return short if len(short) <= _LONG else b""


def _of_characters(data: bytes) -> bytes:
    return data.decode("utf-8", errors="replace").encode()


def _of_whole_pairs(data: bytes) -> bytes:
    return _SURROGATES.sub(lambda found: found[1] + _REPLACEMENT if found[2] else found[0], data)


def _of_doubles(data: bytes) -> bytes:
    return _TEXT_OR_NUMBER.sub(lambda found: _double(found[1]) if found[1] else found[0], data)


def _double(digits: bytes) -> bytes:
    """Return a number without its sign that is no larger than the largest double."""
    try:
        return _LARGEST if math.isinf(float(digits)) else digits
    except ValueError:
        return digits


#: What an API server sends: it keeps managedFields as their authors wrote them.
_AS_SENT: Final[tuple[_Way, ...]] = (
    (_of_characters, "bytes that are no UTF-8"),
    (_flattened, f"values more than {MAX_DEPTH} levels deep"),
)
#: What others may write.
_AS_WRITTEN: Final[tuple[_Way, ...]] = (
    (_of_whole_pairs, "half surrogate pairs"),
    (_of_doubles, "digits of numbers beyond the range of a double"),
)


def items(text: bytes) -> Iterator[bytes]:
    """Yield the entries of a list, each as it is written; none if it is no list.

    >>> list(items(b'[{"a": [1, 2]}, "],", nonsense]'))
    [b'{"a": [1, 2]}', b'"],"', b'nonsense']
    """
    for _, entry in _entries(text, b"["):
        if entry:
            yield entry


def is_closed(text: bytes) -> bool:
    """Return whether a list or an object ends where its text does: if not, its parts may be parts of others.

    >>> is_closed(b'[{"a": nonsense}]'), is_closed(b'[{"a": [}]')
    (True, False)
    """
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in b"[{") - (token[0] in b"]}")
        if depth <= 0:
            return depth == 0 and token[0] in b"]}" and not text[token.end() :].strip()
    return False


def members(text: bytes) -> dict[str, bytes]:
    """Return the values of an object by their names, each as it is written; none if it is no object.

    Of a name that stands there twice the last value counts, as everywhere.

    >>> members(b'{"kind": "Pod", "metadata": {"name": "a')
    {'kind': b'"Pod"', 'metadata': b'{"name": "a'}
    """
    found = {}
    for key, value in _entries(text, b"{"):
        if name := string(key):
            found[name] = value
    return found


def value(text: bytes) -> object:
    """Return a value from how it is written; None if it cannot be read."""
    try:
        return read_json(text).value
    except JsonError:
        return None


def string(text: bytes) -> str:
    """Return a string from how it is written; empty if it is none."""
    found = value(text)
    return found if isinstance(found, str) else ""


def written_identity(text: bytes) -> tuple[str, str]:
    """Return the namespace and the name of an object, empty where they are not found.

    >>> written_identity(b'{"spec": {"name": 1}, "metadata": {"name": "a", "namespace": "shop", "labels": {')
    ('shop', 'a')
    """
    metadata = members(members(text).get("metadata", b""))
    return string(metadata.get("namespace", b"")), string(metadata.get("name", b""))


def _entries(text: bytes, bracket: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name, empty in a list, and the value of each entry of what a bracket opens."""
    depth, begin, key = 0, 0, b""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in b"[{":
            depth += 1
            if depth > 1:
                continue
            if mark != bracket or text[: token.start()].strip():
                return
            begin = token.end()
        elif mark in b"]}":
            depth -= 1
            if depth <= 0:
                yield key, text[begin : token.start()].strip()
                return
        elif depth == 1 and mark == b",":
            yield key, text[begin : token.start()].strip()
            begin, key = token.end(), b""
        elif depth == 1 and mark == b":" and not key:
            key = text[begin : token.start()].strip()
            begin = token.end()
    if depth:
        yield key, text[begin:].strip()
