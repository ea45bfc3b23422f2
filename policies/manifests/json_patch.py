"""JSON Patch operations (RFC 6902) and JSON Pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypedDict


class AddOperation(TypedDict):
    """The one operation that Evenkeel sends: it adds a member, or replaces one that is null."""

    op: str
    path: str
    value: Any


def pointer(segments: Iterable[str | int]) -> str:
    """Return the JSON Pointer of a path, escaped.

    >>> pointer(["metadata", "annotations", "evenkeel.dev/injected-by"])
    '/metadata/annotations/evenkeel.dev~1injected-by'
    >>> pointer(["a~b", 0])
    '/a~0b/0'
    """
    return "".join(f"/{str(segment).replace('~', '~0').replace('/', '~1')}" for segment in segments)


def segments_of(path: str) -> tuple[str, ...]:
    """Return the names of a JSON Pointer, which leads through no list.

    >>> segments_of("/metadata/annotations/evenkeel.dev~1injected-by")
    ('metadata', 'annotations', 'evenkeel.dev/injected-by')
    """
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:])


def add(segments: Iterable[str | int], value: object) -> AddOperation:
    """Return the operation that adds a value at a path."""
    return {"op": "add", "path": _known_pointer(tuple(segments)), "value": value}


#: Admission adds at the same few paths again and again.
_known_pointer = lru_cache(maxsize=64)(pointer)
