r"""Finds the parts of a JSON text that no parser reads, so that one broken object takes no other with it.

It looks at brackets, commas and the ends of strings alone: what is between them may be anything, and the text
may end anywhere. Each step is linear in the bytes of the text, and nothing recurses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policies.manifests.json_bytes import JsonError, read_json

#: A string, with or without its end, or what opens, closes or parts lists and objects. Each byte belongs to
#: one match at most, and nothing is taken back.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]', re.DOTALL)


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
