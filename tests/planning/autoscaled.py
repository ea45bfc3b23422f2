"""Plans with node groups and NodePools, for the tests of nodes that come."""

from __future__ import annotations

from typing import Any

from planning.autoscaler.sources import AutoscalerReader
from planning.plan.plan import ManifestPlan, make_plan
from planning.simulation.node_source import NodeSource
from policies.scheduler.index import ClusterIndex
from tests.builders import ZONE, a_node
from tests.planning.clusters import known_of
from tests.planning.planned import a_cluster, a_set, a_state

#: A node in each of two zones.
TWO = [a_node("n1", "a"), a_node("n2", "b")]


def needing(cpu: str, **spec: Any) -> dict[str, Any]:
    """Return the spec of pods that need so much CPU."""
    return {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}], **spec}


def groups(**most: int) -> tuple[dict[str, Any], ...]:
    """Return a node group for each of some zones, with the most nodes that it may have; it has none yet."""
    each = [
        {
            "name": zone,
            "zone": zone,
            "size": 0,
            "maxSize": number,
            "allocatable": {"cpu": "4", "memory": "8Gi"},
        }
        for zone, number in most.items()
    ]
    return ({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups", "groups": each},)


def pools() -> tuple[dict[str, Any], ...]:
    """Return a NodePool for two zones with one instance type."""
    requirements = [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"spec": {"requirements": requirements}}},
    }
    small = {
        "name": "small",
        "allocatable": {"cpu": "4", "memory": "8Gi"},
        "offerings": [{"zones": ["a", "b", "c"]}],
    }
    types = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "InstanceTypes", "instanceTypes": [small]}
    return pool, types


def the_autoscaler(documents: tuple[dict[str, Any], ...], cluster: ClusterIndex) -> NodeSource:
    """Return the autoscaler of some documents."""
    reader = AutoscalerReader(cluster)
    assert [[]] * len(documents) == [reader.take(document) for document in documents]
    found = reader.autoscaler()
    assert found is not None
    return found


def planned(
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    *pods: dict[str, Any],
    documents: tuple[dict[str, Any], ...],
    nodes: list[dict[str, Any]] | None = None,
) -> ManifestPlan:
    """Return the plan on a cluster of which the objects of pods are known."""
    cluster = a_cluster(*pods, nodes=TWO if nodes is None else nodes)
    autoscaler = the_autoscaler(documents, cluster)
    return make_plan(a_set(*before), a_set(*after), a_state(cluster, known_of(pods)), nodes_from=autoscaler)
