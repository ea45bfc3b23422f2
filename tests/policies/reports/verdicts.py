"""Verdicts for reports to show."""

from __future__ import annotations

from typing import Any

from policies.config.context import AdmissionContext
from policies.placement.core.placement import Placement, evaluate_manifest
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def a_node(name: str, zone: str | None = None, **spec: Any) -> dict[str, Any]:
    """Return a node with its hostname label, room for ten pods and perhaps a zone."""
    labels = {HOSTNAME: name} if zone is None else {HOSTNAME: name, ZONE: zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }


def on(node: str, count: int) -> list[dict[str, Any]]:
    """Return running pods on a node."""
    return [a_pod(name=f"{node}-{number}", spec={"nodeName": node}) for number in range(count)]


def an_index(*objects: dict[str, Any]) -> ClusterIndex:
    """Return the index of a cluster."""
    index = ClusterIndex()
    for obj in objects:
        assert not index.apply(obj)
    return index


def a_placement(obj: dict[str, Any], *cluster: dict[str, Any]) -> Placement:
    """Return where an object's pod would go."""
    return evaluate_manifest(obj, AdmissionContext(policies=(), cluster=an_index(*cluster)))
