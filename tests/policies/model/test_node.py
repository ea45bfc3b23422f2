"""Nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from policies.manifests.fields import ErrorList
from policies.model.node import Node, read_node
from policies.model.taints import Taint
from tests.hostile import broken_copies

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3920m", "memory": "1Gi", "pods": "110"}},
}


def test_a_node() -> None:
    """A node is what the scheduler's filters look at, with cpu in thousandths."""
    found = ErrorList()
    node = Node(
        name="n1",
        labels={"zone": "a"},
        taints=(Taint("gpu", "", "NoSchedule"),),
        unschedulable=True,
        allocatable={"cpu": 3920, "memory": 2**30, "pods": 110},
    )

    assert node == read_node(NODE, found)
    assert [] == found.errors


def test_a_node_without_anything() -> None:
    """Nothing but a name is a node without labels and room; capacity stands in for absent allocatable."""
    found = ErrorList()
    node = Node(name="n1", labels={}, taints=(), unschedulable=False, allocatable={})
    named = {"metadata": {"name": "n1"}}
    assert node == read_node(named, found)
    assert {"pods": 3} == read_node(named | {"status": {"capacity": {"pods": 3}}}, found).allocatable
    full = {"capacity": {"pods": 3}, "allocatable": {}}
    assert {} == read_node(named | {"status": full}, found).allocatable
    assert [] == found.errors


def test_a_node_without_a_name() -> None:
    """Nobody could tell it from another."""
    found = ErrorList()
    read_node({"metadata": {}}, found)

    assert ["metadata.name"] == [str(error.path) for error in found.errors]


def test_mistakes_are_told() -> None:
    """Fields of the wrong type are told at their paths, and the rest is read."""
    found = ErrorList()
    raw = {
        "metadata": {"name": 7, "labels": {"zone": "a", "rack": 1}},
        "spec": {"unschedulable": "true", "taints": {}},
        "status": {"allocatable": {"cpu": "four"}},
    }
    node = Node(name="", labels={"zone": "a"}, taints=(), unschedulable=False, allocatable={})

    assert node == read_node(raw, found)
    assert {
        "spec.unschedulable",
        "metadata.name",
        "metadata.labels[rack]",
        "spec.taints",
        "status.allocatable[cpu]",
    } == {str(error.path) for error in found.errors}


@given(broken_copies(NODE))
def test_no_node_is_too_broken_to_read(raw: dict[str, Any]) -> None:
    """A broken value in any field still gives a node."""
    node = read_node(raw, ErrorList())

    assert isinstance(node.name, str)
    assert all(type(size) is int and size >= 0 for size in node.allocatable.values())
