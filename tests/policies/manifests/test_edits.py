"""Edits of a manifest."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.edits import Edit, apply_edits, merge_edits
from policies.manifests.fields import FieldPath

MANIFEST: dict[str, Any] = {"a": {"b": 1, "c": [{"d": 1}, {"d": 2}, {"d": 3}]}, "n": None}


def an_edit(*segments: str | int, new: Any, old: Any = None) -> Edit:
    return Edit(FieldPath(segments), old, new)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param([an_edit("a", "b", new=2)], {"a": MANIFEST["a"] | {"b": 2}}, id="set"),
        pytest.param([an_edit("a", new=None)], {}, id="taken away"),
        pytest.param([an_edit("x", "y", 0, new="z")], {"x": {"y": ["z"]}}, id="parents are made"),
        pytest.param([an_edit("n", 0, new="z")], {"n": ["z"]}, id="null is absent"),
        pytest.param(
            [
                an_edit("a", "c", 0, new=None),
                an_edit("a", "c", 2, "d", new=9),
                an_edit("a", "c", 1, new=None),
            ],
            {"a": {"b": 1, "c": [{"d": 9}]}},
            id="entries are taken away last, from the end",
        ),
    ],
)
def test_apply(edits: list[Edit], expected: dict[str, Any]) -> None:
    """Paths are those of the manifest as it was, and that stays as it was."""
    before = repr(MANIFEST)
    given = {"a": MANIFEST["a"]} if "a" in expected or expected == {} else {"n": None}
    edited = apply_edits(given, edits)

    assert expected == {name: value for name, value in edited.items() if name in expected}
    assert before == repr(MANIFEST)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param([an_edit("a", "b", new=3)], None, id="the same field twice"),
        pytest.param([an_edit("a", "b", "x", new=3)], None, id="below an edited field"),
        pytest.param([an_edit("n", new=3)], [("a.b", 1, 2), ("n", None, 3)], id="another field"),
        pytest.param([an_edit("a", new=None, old="?")], [("a", MANIFEST["a"], None)], id="above: covers it"),
    ],
)
def test_merge(more: list[Edit], expected: list[tuple[str, Any, Any]] | None) -> None:
    """Edits do not contradict each other, and tell what the manifest itself has."""
    merged = merge_edits(MANIFEST, (an_edit("a", "b", new=2, old=1),), more)

    assert expected == (merged and [(str(edit.path), edit.old, edit.new) for edit in merged])
