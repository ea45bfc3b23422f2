"""Broken objects: valid ones with something else in one of their fields."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

#: Any JSON, with the values that tend to break what reads them.
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, "1e999999999", "-1", "\ud800", "x" * 300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def broken_copies(obj: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return copies of an object in which any JSON stands in one of the fields, at any depth."""
    ways = [way for way in _ways(obj) if way]
    return st.builds(lambda way, value: _replaced(obj, way, value), st.sampled_from(ways), JSON)


def _ways(value: object) -> Iterator[tuple[str | int, ...]]:
    yield ()
    entries: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    for key, inner in entries:
        for way in _ways(inner):
            yield (key, *way)


def _replaced(obj: dict[str, Any], way: tuple[str | int, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(obj)
    node: Any = changed
    for key in way[:-1]:
        node = node[key]
    node[way[-1]] = copy.deepcopy(value)
    return changed
