"""The objects of one kind, their copies, and whether they are known."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import BUDGET, PRIORITY_CLASS, Kind
from policies.model.object_table import ObjectTable
from policies.scheduler.indexed_objects import READERS


def a_table(kind: Kind, *objects: dict[str, Any]) -> ObjectTable[Any]:
    """Return the table of some objects, those with errors left out."""
    table: ObjectTable[Any] = ObjectTable(kind, READERS[kind])
    for obj in objects:
        table.apply(obj, ErrorList())
    return table


def a_class(name: str, value: object = 1) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value}


@pytest.mark.parametrize("changes_copy", [False, True], ids=["of the table", "of the copy"])
def test_copies(changes_copy: bool) -> None:  # noqa: FBT001  # a parameter of the table
    """Neither sees what becomes of the other, whichever changes first."""
    table = a_table(PRIORITY_CLASS, a_class("low"), a_class("high"))
    copy = table.copy()
    changed, other = (copy, table) if changes_copy else (table, copy)
    changed.remove("", "low")
    changed.apply(a_class("middle"), ErrorList())
    other.apply(a_class("top"), ErrorList())

    assert ({"high", "middle"}, {"low", "high", "top"}) == (
        {entry.name for entry in changed},
        {entry.name for entry in other},
    )
    assert changed.version != other.version


def test_the_version_tells_changes_alone() -> None:
    """A change of nothing leaves the version: an equal object, and one that was never there."""
    table = a_table(PRIORITY_CLASS, a_class("low"))
    before = table.version
    table.apply(a_class("low"), ErrorList())
    table.remove("", "high")

    assert before == table.version
    table.apply(a_class("low", 2), ErrorList())
    assert before != table.version


def test_an_object_with_errors_is_left_out() -> None:
    """It is left out, and so is what it should have replaced: no one knows what became of that."""
    table, found = a_table(PRIORITY_CLASS, a_class("low"), a_class("high")), ErrorList()
    table.apply(a_class("low", "many"), found)

    assert (["value"], [("", "high")]) == ([str(error.path) for error in found.errors], list(table.names()))


def test_the_default_namespace() -> None:
    """An object without a namespace is in default."""
    table = a_table(BUDGET, {"metadata": {"name": "web"}}, {"metadata": {"name": "web", "namespace": "shop"}})
    table.remove("", "web")

    assert [("shop", "web")] == list(table.names())


def test_known() -> None:
    """Objects are known once they were listed, or one is there; a copy knows as much."""
    table = a_table(BUDGET)

    assert not table.known
    assert a_table(BUDGET, {"metadata": {"name": "web"}}).known
    table.mark_listed()
    assert table.copy().known
