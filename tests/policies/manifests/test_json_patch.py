"""JSON Patch operations and JSON Pointers."""

from __future__ import annotations

import pytest
from jsonpatch import JsonPatch

from policies.manifests.json_patch import add, pointer


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
