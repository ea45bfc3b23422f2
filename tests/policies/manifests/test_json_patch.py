"""JSON Patch operations and JSON Pointers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import JsonPatch

from policies.manifests.json_patch import add, difference, pointer

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b/c", "~"]), inner),
)


@pytest.mark.parametrize(
    ("segments", "text"),
    [
        ([], ""),
        (["spec", "containers", 0], "/spec/containers/0"),
        (
            ["metadata", "annotations", "evenkeel.dev/injected-by"],
            "/metadata/annotations/evenkeel.dev~1injected-by",
        ),
        (["a~1b"], "/a~01b"),
        (["~/"], "/~0~1"),
        ([""], "/"),
    ],
)
def test_pointers_are_escaped(segments: list[str | int], text: str) -> None:
    """Tilde and slash are escaped, the tilde first (RFC 6901, section 3)."""
    assert text == pointer(segments)


def test_what_is_added_is_found_there() -> None:
    """An independent implementation puts the value where the path says."""
    document: dict[str, object] = {"a/b": {"~": {}}}

    assert {"a/b": {"~": {"c": [1]}}} == JsonPatch([add(["a/b", "~", "c"], [1])]).apply(document)


@given(VALUES, VALUES)
def test_the_difference_leads_from_one_to_the_other(old: Any, new: Any) -> None:
    """An independent implementation makes the new value of the old one; alike values differ by nothing."""
    operations = list(difference(old, new))

    assert repr(_normal(new)) == repr(_normal(JsonPatch(operations).apply(old)))
    assert [] == list(difference(new, new))


def _normal(value: Any) -> Any:
    """Return a value with the members of objects in order: 1 and True are equal, but not alike."""
    if isinstance(value, dict):
        return {name: _normal(value[name]) for name in sorted(value)}
    return list(map(_normal, value)) if isinstance(value, list) else value
