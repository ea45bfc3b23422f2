"""Node groups from documents and from the nodes of a cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.node_group import GroupOrigin
from planning.autoscaler.sources import deduce, read_autoscaler
from policies.config.node_groups import CloudProvider, Expander
from policies.manifests.documents import load_strictly, objects_or_itself
from policies.manifests.errors import DocumentError
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node
from tests.planning.clusters import ZONE_KEY

GROUPS = """\
apiVersion: evenkeel.dev/v1alpha1
kind: NodeGroups
expanders: [priority, most-pods]
priorities: [{priority: 10, names: [spot]}]
balanceSimilarNodeGroups: true
groups:
- {name: web-a, zone: zone-a, maxSize: 5, minSize: 1, allocatable: {cpu: "2", memory: 8Gi}}
- name: web-b
  zone: zone-b
  size: 3
  maxSize: 5
  allocatable: {cpu: "2", memory: 8Gi}
  capacity: {cpu: "4", memory: 9Gi}
"""
NODE_POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\n"
INSTANCE_TYPES = """\
apiVersion: evenkeel.dev/v1alpha1
kind: InstanceTypes
instanceTypes: [{name: small, allocatable: {cpu: "2", memory: 8Gi}, offerings: [{zones: [a]}]}]
"""
NODE_CLAIM = NODE_POOL.replace("NodePool", "NodeClaim")


def _read(text: str, *nodes: dict[str, Any]) -> ClusterAutoscaler:
    cluster = _cluster(*nodes)
    objects = [entry for document in load_strictly(text, "f.yaml") for entry in objects_or_itself(document)]
    found = read_autoscaler(objects, cluster)
    assert isinstance(found, ClusterAutoscaler)
    return found


def _cluster(*nodes: dict[str, Any]) -> ClusterIndex:
    cluster = ClusterIndex()
    for node in nodes:
        assert not cluster.apply(node)
    return cluster


def test_document() -> None:
    """A group without a size has the nodes with its labels; without a capacity it has what is allocatable."""
    found = _read(GROUPS, a_node("n1", "zone-a"), a_node("n2", "zone-a"), a_node("n3", "zone-b"))
    first, second = found.groups

    assert (2, 3) == (first.size, second.size)
    assert {"cpu": 2000, "memory": 8 << 30, "pods": 110} == first.template.allocatable == first.capacity
    assert (1, 0) == (first.min_size, second.min_size)
    assert ({"n1", "n2"}, {"n3"}) == (set(first.nodes), set(second.nodes))
    assert second.capacity["cpu"] == 4000
    assert {ZONE_KEY: "zone-b"} == second.template.labels
    assert (Expander.PRIORITY, Expander.MOST_PODS) == found.settings.expanders
    assert [(10, ("spot",))] == [(each.priority, each.names) for each in found.settings.priorities]
    assert found.settings.balance_similar_node_groups


def test_scale_down_settings() -> None:
    """How nodes are removed is read; without it the flags have their defaults."""
    text = f"{GROUPS}scaleDown: {{utilizationThreshold: 0.7, maxDrainParallelism: 3}}\n"
    given, usual = (_read(each).settings.scale_down for each in (text, GROUPS))

    assert (0.7, 3, 10) == (given.utilization_threshold, given.max_drain_parallelism, given.max_parallelism)
    assert (0.5, 1, True) == (
        usual.utilization_threshold,
        usual.max_drain_parallelism,
        usual.skip_nodes_with_local_storage,
    )


@pytest.mark.parametrize(
    ("disruption", "field"),
    [
        ({"budgets": [{"nodes": "many"}]}, "budgets[0].nodes"),
        ({"budgets": [{"nodes": "101%"}]}, "budgets[0].nodes"),
        ({"budgets": "10%"}, "budgets"),
        ({"consolidationPolicy": 5}, "consolidationPolicy"),
        ("Never", ""),
    ],
)
def test_errors_of_disruption(disruption: object, field: str) -> None:
    """Errors in the disruption of a NodePool are reported with their fields."""
    spec = yaml.safe_dump({"spec": {"disruption": disruption}})
    with pytest.raises(DocumentError) as caught:
        _read(f"{NODE_POOL}{spec}")

    assert f" spec.disruption{'.' if field else ''}{field}: " in caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(NODE_CLAIM, ["f.yaml:2: kind: "], id="another object of Karpenter"),
        pytest.param(NODE_POOL.replace("v1", "v1beta1"), ["f.yaml:1: apiVersion: "], id="an older NodePool"),
        pytest.param(NODE_POOL, ["no instance type is known: "], id="a NodePool without instance types"),
        pytest.param(f"{GROUPS}---\n{NODE_POOL}", ["f.yaml:16: kind: "], id="both autoscalers"),
        pytest.param("kind: Node\napiVersion: v1\n", ["f.yaml:1: kind: "], id="another kind"),
        pytest.param(
            GROUPS.replace("  maxSize: 5", "  maxSize: -5").replace("web-b", "web-a"),
            ["f.yaml:11: groups[1].maxSize: "],
            id="errors in the form of a document, first",
        ),
        pytest.param(
            GROUPS.replace("web-b", "web-a"), ["f.yaml:8: groups[1].name: "], id="two groups of one name"
        ),
        pytest.param(INSTANCE_TYPES, ["no node group: "], id="instance types alone"),
    ],
)
def test_errors(text: str, expected: list[str]) -> None:
    """Every problem is told with file, line and field."""
    with pytest.raises(DocumentError) as caught:
        _read(text)

    assert len(expected) == len(caught.value.problems)
    for start, problem in zip(expected, caught.value.problems, strict=True):
        assert problem.startswith(start)


def _labeled(name: str, zone: str, **labels: str) -> dict[str, Any]:
    node = a_node(name, zone)
    node["metadata"]["labels"] |= {
        key.replace("__", "/").replace("_", "."): value for key, value in labels.items()
    }
    return node


def test_deduced() -> None:
    """Nodes that are alike are a group for each zone; the control plane and Karpenter have none."""
    found = deduce(
        _cluster(
            *(a_node(name, zone) for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))),
            _labeled("k", "a", karpenter_sh__nodepool="default"),
            _labeled("m", "a", **{"node-role_kubernetes_io__control-plane": ""}),
        )
    )

    assert {"nodes-a": 2, "nodes-b": 1} == {group.name: group.size for group in found.groups}
    assert {GroupOrigin.DEDUCED} == {group.origin for group in found.groups}
    assert found.karpenter_nodes == 1


@pytest.mark.parametrize(
    ("label", "provider"),
    [
        ("eks_amazonaws_com__nodegroup", CloudProvider.AWS),
        ("alpha_eksctl_io__nodegroup-name", CloudProvider.AWS),
        ("cloud_google_com__gke-nodepool", CloudProvider.GCE),
        ("kubernetes_azure_com__agentpool", CloudProvider.AZURE),
        ("agentpool", CloudProvider.AZURE),
    ],
)
def test_deduced_from_managed_groups(label: str, provider: CloudProvider) -> None:
    """The labels of managed groups name the groups, and tell the provider."""
    found = deduce(_cluster(*(_labeled(f"n{zone}", zone, **{label: "pool"}) for zone in "ab")))

    assert ["pool-a", "pool-b"] == [group.name for group in found.groups]
    assert {GroupOrigin.MANAGED} == {group.origin for group in found.groups}
    assert provider is found.settings.cloud_provider
