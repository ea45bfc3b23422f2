"""The view of a cluster that rules are given."""

from __future__ import annotations

from typing import Any

from policies.config.context import MAX_KEPT
from policies.model.scaling import KARPENTER_NODE_LABEL
from policies.model.topology import ClusterTopology
from policies.model.workload import Workload
from tests.builders import a_constraint, a_deployment, a_node, a_policy
from tests.planning.clusters import ZONE_KEY
from tests.policies.config.contexts import a_context, read


def test_nothing_known() -> None:
    """Without nodes and listed domains there is no inventory."""
    for context in (a_context(), a_context(cluster=[])):
        assert context.for_rules().inventory is None


def test_listed_domains() -> None:
    """The domains that policies list for a key are taken together, without repeats."""
    policies = [
        a_policy(name, topology={"domains": {ZONE_KEY: zones}})
        for name, zones in (("a", ["z1", "z2"]), ("b", ["z2", "z3"]))
    ]
    context = a_context(*policies)

    assert ClusterTopology(domains={ZONE_KEY: ("z1", "z2", "z3")}) == context.for_rules().inventory


def test_the_picture_is_kept_until_a_node_changes() -> None:
    """Reviews share one inventory; a node that changes makes a new one, its heartbeat does not."""
    context = a_context(cluster=[a_node("n1", "zone-a")])
    index = context.cluster
    first = context.for_rules()
    assert index is not None
    index.apply(a_node("n1", "zone-a"))

    assert first is context.for_rules()

    index.apply(a_node("n2", "zone-b"))
    second = context.for_rules()

    assert first is not second
    assert second.inventory is not None
    assert frozenset({"zone-a", "zone-b"}) == second.inventory.values(ZONE_KEY)

    index.remove("v1", "Node", "", "n2")
    third = context.for_rules().inventory

    assert third is not None
    assert frozenset({"zone-a"}) == third.values(ZONE_KEY)


def test_karpenter_is_known_by_its_nodes() -> None:
    """Where Karpenter made a node, nodes are added for pods that are pending."""
    node: dict[str, Any] = a_node("n1", "zone-a")
    node["metadata"]["labels"][KARPENTER_NODE_LABEL] = "default"
    context = a_context(cluster=[node])

    assert context.for_rules().repository.adds_nodes


def test_what_was_derived_is_not_kept_for_ever() -> None:
    """After constraints of so many kinds, what was derived from the nodes for them is forgotten."""
    context = a_context(cluster=[a_node("n1", "zone-a")])
    inventory = context.for_rules().inventory
    assert inventory is not None
    inventory.memo["x"] = 1
    for skew in range(1, MAX_KEPT):
        context.make_room(_with_skew(skew))

    assert {"x": 1} == inventory.memo

    context.make_room(_with_skew(MAX_KEPT))

    assert {} == inventory.memo


def test_what_constraints_select_needs_no_room() -> None:
    """Constraints that differ in their selectors alone share what was derived."""
    context = a_context(cluster=[a_node("n1", "zone-a")])
    inventory = context.for_rules().inventory
    assert inventory is not None
    inventory.memo["x"] = 1
    for number in range(2 * MAX_KEPT):
        context.make_room(_with_skew(1, app=f"web-{number}"))

    assert {"x": 1} == inventory.memo


def _with_skew(skew: int, app: str = "web") -> Workload:
    constraint = a_constraint(maxSkew=skew, labelSelector={"matchLabels": {"app": app}})
    return read(a_deployment(constraint))
