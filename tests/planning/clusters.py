"""A small cluster that is easy to fill, for the tests of what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.pods.known_pods import KnownPods
from tests.builders import a_node, a_pod

#: The topology key of the zones.
ZONE_KEY = "topology.kubernetes.io/zone"
#: The nodes, and the zone of each.
NODES = {"n1": "zone-a", "n2": "zone-a", "n3": "zone-b", "n4": "zone-b", "n5": "zone-c", "n6": "zone-c"}


def a_bound_pod(name: str, node: str, **spec: Any) -> dict[str, Any]:
    """Return a running pod of the application that every built workload selects."""
    pod = a_pod(name=name, spec={"nodeName": node, **spec})
    return pod | {"status": {"phase": "Running"}}


def two_full_zones() -> list[dict[str, Any]]:
    """Return six nodes, of which those of zone-c are cordoned, and a pod on each of the other four.

    A pod that spreads over zones with maxSkew 1 fits nowhere: 2 + 1 - 0 is 3.
    """
    nodes = [a_node(name, zone, unschedulable=zone == "zone-c") for name, zone in NODES.items()]
    return [*nodes, *(a_bound_pod(f"web-{node}", node) for node in ("n1", "n2", "n3", "n4"))]


def known_of(objects: Iterable[Mapping[str, Any]]) -> KnownPods:
    """Return what is known of the pods among the objects of a cluster."""
    known = KnownPods(None, now=0.0)
    for obj in objects:
        known(obj)
    return known
