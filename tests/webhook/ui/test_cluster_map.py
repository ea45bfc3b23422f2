"""The whole cluster in columns."""

from __future__ import annotations

from policies.model.taints import Taint
from tests.builders import a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.webhook.ui.pages import a_page_cluster
from webhook.ui.cluster_map import MOST_KEYS, PodColumns, WorkloadColumns, cluster_map


def test_where_pods_are() -> None:
    """Each pod has the position of its node and of the workload that owns its ReplicaSet."""
    found = cluster_map(a_page_cluster())

    assert ["na", "nb", "nc"] == found.nodes.names
    assert PodColumns(node=[-1, 0, 0, 1], workload=[0, -1, 0, 0]) == found.pods
    assert found.workloads == WorkloadColumns(
        kinds=["Deployment"], namespaces=["shop"], kind=[0], namespace=[0], name=["web"]
    )


def test_nodes() -> None:
    """Cordons, taints and labels of nodes, each value once."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    bare = {**a_node("n3", "b"), "metadata": {"name": "n3", "labels": {"kubernetes.io/hostname": "n3"}}}
    nodes = [a_node("n1", "b", unschedulable=True), a_node("n2", "a", taints=[taint]), bare]
    found = cluster_map(a_page_cluster(*nodes))

    assert [ZONE_KEY, "kubernetes.io/hostname"] == found.topology_keys
    assert [0] == found.nodes.cordoned
    assert [1] == found.nodes.not_ready
    assert ([(), (Taint(taint["key"], "", taint["effect"]),)], [0, 1, 0]) == found.nodes.taints
    zones = found.nodes.labels[ZONE_KEY]
    assert ["b", "a", None] == [zones.values[of] if of >= 0 else None for of in zones.of]


def test_a_pod_on_a_node_that_is_not_there() -> None:
    """Such a pod is neither pending nor on one of the nodes."""
    pod = a_pod(name="lost", spec={"nodeName": "gone"})

    assert [-2] == cluster_map(a_page_cluster(a_node("n1", "a"), pod)).pods.node


def test_many_labels() -> None:
    """Labels beyond a number are counted, and those that people spread over come first."""
    node = a_node("n1", "a")
    node["metadata"]["labels"] |= {f"label-{number:03}": "x" for number in range(100)}
    found = cluster_map(a_page_cluster(node))

    assert MOST_KEYS == len(found.nodes.labels) == len(found.topology_keys)
    assert 102 - MOST_KEYS == found.other_keys
    assert ZONE_KEY == found.topology_keys[0]
