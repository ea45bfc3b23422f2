"""JSON Patch operations (RFC 6902), JSON Pointers (RFC 6901), and JSON merge patches (RFC 7386)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NotRequired, TypedDict


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
    """Return the names of a JSON Pointer; those of a list are its positions.

    >>> segments_of("/metadata/annotations/evenkeel.dev~1injected-by")
    ('metadata', 'annotations', 'evenkeel.dev/injected-by')
    """
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:])


def add(segments: Iterable[str | int], value: object) -> AddOperation:
    """Return the operation that adds a value at a path."""
    return {"op": "add", "path": pointer(segments), "value": value}


class PatchOperation(TypedDict):
    """An operation of RFC 6902."""

    op: Literal["add", "remove", "replace"]  #: What it does.
    path: str  #: A JSON pointer.
    value: NotRequired[Any]  #: The value; absent for remove.


def difference(old: object, new: object, path: tuple[str | int, ...] = ()) -> Iterator[PatchOperation]:
    """Yield the operations that make one value of another, in the order in which they apply.

    Entries of lists are compared by position; what a list has more or less is at its end. The library
    jsonpatch looks for moves besides, which takes three times as long.

    >>> for operation in difference({"a": 1, "b": [1, 2]}, {"b": [1, 3, 4]}):
    ...     print(operation)
    {'op': 'remove', 'path': '/a'}
    {'op': 'replace', 'path': '/b/1', 'value': 3}
    {'op': 'add', 'path': '/b/2', 'value': 4}
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in (name for name in old if name not in new):
            yield {"op": "remove", "path": pointer((*path, name))}
        for name, value in new.items():
            if name in old:
                yield from difference(old[name], value, (*path, name))
            else:
                yield {"op": "add", "path": pointer((*path, name)), "value": value}
    elif isinstance(old, list) and isinstance(new, list):
        for position, (before, after) in enumerate(zip(old, new, strict=False)):
            yield from difference(before, after, (*path, position))
        for position in reversed(range(len(new), len(old))):
            yield {"op": "remove", "path": pointer((*path, position))}
        for position in range(len(old), len(new)):
            yield {"op": "add", "path": pointer((*path, position)), "value": new[position]}
    elif type(old) is not type(new) or old != new:
        yield {"op": "replace", "path": pointer(path), "value": new}


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the patch from one object to another; lists are replaced as a whole.

    >>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4, "d": 3}, "e": [5]})
    {'a': None, 'b': {'c': 4}, 'e': [5]}
    """
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            if below := merge_patch(before, value):
                patch[name] = below
        elif name not in old or _text(before) != _text(value):
            patch[name] = value
    return patch


def _text(value: Any) -> str:
    """Return a value as JSON: to Python 0 and false are equal."""
    return json.dumps(value, sort_keys=True)
