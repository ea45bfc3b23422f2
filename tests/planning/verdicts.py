"""Verdicts for reports to show."""

from __future__ import annotations

from typing import Any

from policies.config.context import AdmissionContext
from policies.pods.placement import Placement, evaluate_manifest
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod


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
