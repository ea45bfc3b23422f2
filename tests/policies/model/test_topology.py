"""The known nodes and domains of a cluster."""

from __future__ import annotations

from policies.model.node import Node
from policies.model.topology import ClusterTopology

ZONE = "topology.kubernetes.io/zone"


def a_node(name: str, zone: str | None) -> Node:
    labels = {} if zone is None else {ZONE: zone}
    return Node(name, labels, taints=(), unschedulable=False, allocatable={})


NODES = (a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "a"), a_node("n4", None))


def test_values_of_nodes_and_of_a_policy() -> None:
    """With nodes every key is known; a policy's domains add those without a node at the moment."""
    inventory = ClusterTopology(NODES, {ZONE: ("a", "b", "c")})

    assert frozenset({"a", "b", "c"}) == inventory.values(ZONE)
    assert frozenset() == inventory.values("rack")


def test_domains_alone() -> None:
    """Without nodes nothing is known of keys that nobody lists."""
    inventory = ClusterTopology(domains={ZONE: ("a",)})

    assert frozenset({"a"}) == inventory.values(ZONE)
    assert inventory.values("rack") is None
    assert {} == inventory.nodes_with(ZONE)


def test_nodes_of_each_value() -> None:
    """A node without the label is in no domain."""
    found = ClusterTopology(NODES).nodes_with(ZONE)

    assert {"a": ["n1", "n3"], "b": ["n2"]} == {
        value: [node.name for node in nodes] for value, nodes in found.items()
    }


def test_values_are_not_copied() -> None:
    """They are asked for once for each term of an affinity, and may be thousands."""
    inventory = ClusterTopology(NODES)

    assert inventory.values(ZONE) is inventory.values(ZONE)
