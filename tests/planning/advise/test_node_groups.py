"""Nodes that are described, or that an autoscaler may add."""

from __future__ import annotations

from planning.advise.node_groups import described_nodes, node_groups
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME
from tests.builders import a_node
from tests.planning.clusters import ZONE_KEY
from tests.policies.scheduler.clusters import an_index

TAINT = {"key": "team", "value": "data", "effect": "NoSchedule"}
INDEX = an_index(
    [a_node("n1", "a", unschedulable=True, taints=[TAINT]), a_node("n2", "b"), a_node("b-new-1", "b")]
)


def test_groups() -> None:
    """Each zone gets what it lacks; what is listed and has no node gets as many as are enough."""
    groups = node_groups(INDEX, ZONE_KEY, {"a": 3, "b": 2, "d": 1}, ("a", "c"), 5)

    assert [("a", 2), ("c", 5), ("d", 1)] == [(group.domain, group.count) for group in groups]


def test_new_nodes() -> None:
    """They are like a node of their zone in the long run, under a name that is free."""
    zone_a, zone_b = node_groups(INDEX, ZONE_KEY, {"a": 2, "b": 3}, (), 0)
    node = zone_a.node(1, INDEX)

    assert ("a-new-1", False, (Taint("team", "data", "NoSchedule"),)) == (
        node.name,
        node.unschedulable,
        node.taints,
    )
    assert {ZONE_KEY: "a", HOSTNAME: "a-new-1"} == node.labels
    assert "b-new-2" == zone_b.node(1, INDEX).name


def test_a_cluster_without_nodes() -> None:
    """There is nothing that a new one could be like but a described one."""
    (group,) = node_groups(an_index([]), ZONE_KEY, {"a": 1}, (), 0)

    assert 110 == group.node(1, an_index([])).allocatable["pods"]


def test_described_nodes() -> None:
    """Each has a name of its own, and its zone."""
    assert [("a-1", "a"), ("a-2", "a"), ("b-1", "b")] == [
        (node.name, node.labels[ZONE_KEY]) for node in described_nodes(ZONE_KEY, {"a": 2, "b": 1, "c": 0})
    ]
