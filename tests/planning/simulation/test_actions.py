"""The effects of actions on nodes, and the pods that lose theirs."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.actions import Disruption, apply_events, domains_of, in_list
from planning.simulation.cluster_simulation import UNREACHABLE, ClusterSimulation
from planning.simulation.events import (
    MOST_ADDED,
    AddedNodes,
    LabeledNode,
    LostDomain,
    NodeEvent,
    NodeLabel,
    UntaintedNode,
)
from planning.simulation.pod_facts import PodFacts
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.node import read_node
from policies.model.taints import CORDON_TAINT, Taint, TaintEffect
from policies.model.topology_keys import HOSTNAME
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import ClusterIndex
from tests.builders import a_node, a_pod
from tests.planning.clusters import ZONE_KEY
from tests.planning.what_ifs import tainting
from tests.policies.scheduler.clusters import an_index

GPU = Taint("gpu", "a100", "NoExecute")
#: Two zones; n1 has a pod of a ReplicaSet, one of a DaemonSet, a static one and one that is being deleted.
NODES = [a_node("n1", "a", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}]), a_node("n2", "b")]


def _pods() -> list[dict[str, Any]]:
    lasting = {"key": "gpu", "operator": "Exists"}
    return [
        a_pod(name="web", spec={"nodeName": "n1"}, owner=("apps/v1", "ReplicaSet", "web")),
        a_pod(name="agent", spec={"nodeName": "n1"}, owner=("apps/v1", "DaemonSet", "agent")),
        a_pod(name="static", spec={"nodeName": "n1"}, owner=("v1", "Node", "n1")),
        a_pod(name="going", spec={"nodeName": "n1"}, deletionTimestamp="2026-01-01T00:00:00Z"),
        a_pod(name="gpu", spec={"nodeName": "n2", "tolerations": [lasting]}),
        a_pod(name="patient", spec={"nodeName": "n2", "tolerations": [lasting | {"tolerationSeconds": 300}]}),
    ]


def _apply(*actions: NodeEvent, known: bool = True) -> tuple[ClusterIndex, Disruption]:
    pods = _pods()
    cluster, running, found = an_index([*NODES, *pods]).fork(""), PodObjects(None), ErrorList()
    for pod in pods if known else ():
        running(pod)
    done = apply_events(actions, ClusterSimulation(cluster), PodFacts(cluster, (), running), found)
    assert [] == found.errors
    return cluster, done


def _names(done: Disruption) -> list[str]:
    return sorted(pod.name for pod in done.evicted)


@pytest.mark.parametrize(
    ("action", "evicted", "left"),
    [
        pytest.param(
            NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a")),
            ["agent", "static", "web"],
            2,
            id="lose: everything goes",
        ),
        pytest.param(
            NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a", unreachable=True)),
            ["web"],
            4,
            id="unreachable: pods of DaemonSets and static ones stay bound",
        ),
        pytest.param(NodeEvent(drain="n1"), ["web"], 4, id="drain: those of DaemonSets and static ones stay"),
        pytest.param(NodeEvent(cordon="n1"), [], 6, id="cordon: all stay"),
        pytest.param(
            tainting("n2", GPU),
            ["patient"],
            5,
            id="NoExecute: a toleration for a time ends",
        ),
        pytest.param(tainting("n2", GPU._replace(effect="NoSchedule")), [], 6, id="NoSchedule"),
        pytest.param(NodeEvent(add=AddedNodes(like="n1", count=2)), [], 6, id="add: nothing moves"),
    ],
)
def test_who_loses_its_node(action: NodeEvent, evicted: list[str], left: int) -> None:
    """Pods that are being deleted go with their node; their replacements are there already."""
    cluster, done = _apply(action)

    assert (evicted, left) == (_names(done), cluster.pod_count)


def test_what_becomes_of_the_nodes() -> None:
    """Actions build on those before them."""
    cluster, done = _apply(
        NodeEvent(add=AddedNodes(like="n1", count=1)),
        NodeEvent(add=AddedNodes(like="n1", count=1)),
        NodeEvent(cordon="n1-new-2"),
        tainting("n2", GPU),
        tainting("n2", GPU._replace(value="h100")),
        NodeEvent(add=AddedNodes(like="n1-new-2", count=1)),
    )
    nodes = {node.name: node for node in cluster.nodes.listed()}
    first, second, third = (nodes[name] for name in done.added)

    assert ["n1-new-1", "n1-new-2", "n1-new-2-new-1"] == done.added
    assert {ZONE_KEY: "a", "kubernetes.io/hostname": "n1-new-1"} == first.labels
    assert (CORDON_TAINT in second.taints, second.unschedulable) == (True, True)
    assert (first.taints, False) == (third.taints, third.unschedulable)
    assert (GPU._replace(value="h100"),) == nodes["n2"].taints


def test_what_is_taken_back() -> None:
    """A node is as before its cordon and taints; new nodes lack the taints that they are to lack."""
    soft = GPU._replace(effect="PreferNoSchedule")
    cluster, done = _apply(
        NodeEvent(cordon="n1"),
        NodeEvent(uncordon="n1"),
        tainting("n1", soft),
        tainting("n1", soft._replace(effect="NoSchedule")),
        NodeEvent(untaint=UntaintedNode(node="n1", key="gpu", effect=TaintEffect.PREFER_NO_SCHEDULE)),
        NodeEvent(add=AddedNodes(like="n1", count=1, without_taints=["team", "none"])),
        NodeEvent(untaint=UntaintedNode(node="n1", key="gpu")),
    )
    (added,) = done.added
    before, after, new = NODES[0], cluster.nodes.find("n1"), cluster.nodes.find(added)

    assert after is not None
    assert new is not None
    assert (read_node(before, ErrorList()), (GPU._replace(effect="NoSchedule"),)) == (after, new.taints)


def test_lost_nodes() -> None:
    """Nodes are gone, or tainted as the node lifecycle controller does."""
    gone, _ = _apply(NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a")))
    stays, done = _apply(NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a", unreachable=True)))
    unreachable = stays.nodes.find("n1")

    assert ({"b": ["n2"]}, ["n1"]) == (domains_of(gone, ZONE_KEY), done.lost)
    assert unreachable is not None
    assert set(UNREACHABLE) < set(unreachable.taints)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="c")), id="no such domain"),
        pytest.param(NodeEvent(lose=LostDomain(topology_key="rack", value="1")), id="no node has the key"),
        pytest.param(NodeEvent(drain="n9"), id="drain"),
        pytest.param(NodeEvent(cordon="n9"), id="cordon"),
        pytest.param(tainting("n9", GPU), id="taint"),
        pytest.param(NodeEvent(uncordon="n9"), id="uncordon"),
        pytest.param(NodeEvent(untaint=UntaintedNode(node="n9", key="gpu")), id="untaint"),
        pytest.param(NodeEvent(untaint=UntaintedNode(node="n1", key="gpu")), id="untaint: no such taint"),
        pytest.param(
            NodeEvent(untaint=UntaintedNode(node="n1", key="team", effect=TaintEffect.NO_EXECUTE)),
            id="untaint: none of this effect",
        ),
        pytest.param(NodeEvent(add=AddedNodes(like="n9", count=1)), id="add"),
        pytest.param(NodeEvent(add=AddedNodes(like="n1", count=MOST_ADDED + 1)), id="add too many"),
    ],
)
def test_what_the_cluster_does_not_have(action: NodeEvent) -> None:
    """It is an error where the action is written, and nothing changes."""
    cluster, found = an_index([*NODES, *_pods()]).fork(""), ErrorList()
    done = apply_events(
        [action],
        ClusterSimulation(cluster),
        PodFacts(cluster, (), UNREAD_PODS.running),
        found,
        in_list(FieldPath(("actions",))),
    )
    (error,) = found.errors

    assert str(error.path).startswith(f"actions[0].{action.what}")
    assert (Disruption(), 2, 6) == (done, cluster.node_count, cluster.pod_count)


@pytest.mark.parametrize(
    ("actions", "changed"),
    [
        pytest.param([NodeEvent(cordon="n1")], [(["n1"], True, [CORDON_TAINT.key])], id="a cordon"),
        pytest.param(
            [NodeEvent(cordon="n1"), NodeEvent(uncordon="n1")],
            [(["n1"], False, [])],
            id="taken back: as before",
        ),
        pytest.param(
            [
                tainting("n1", Taint("team", "", "NoSchedule")),
                NodeEvent(add=AddedNodes(like="n1", count=2)),
            ],
            [(["n1", "n1-new-1", "n1-new-2"], False, ["team"])],
            id="2 like one with a taint: alike",
        ),
        pytest.param(
            [NodeEvent(label=LabeledNode(node="n2", key=ZONE_KEY, value="a"))],
            [(["n2"], False, [])],
            id="in another zone",
        ),
        pytest.param(
            [NodeEvent(add=AddedNodes(like="n2", count=1, labels=[NodeLabel(key=ZONE_KEY, value="a")]))],
            [(["n2-new-1"], False, [])],
            id="like one of another zone",
        ),
        pytest.param(
            [
                NodeEvent(add=AddedNodes(like="n1", count=1)),
                NodeEvent(lose=LostDomain(topology_key=ZONE_KEY, value="a")),
            ],
            [],
            id="added and lost",
        ),
    ],
)
def test_how_nodes_are_then(
    actions: list[NodeEvent], changed: list[tuple[list[str], bool, list[str]]]
) -> None:
    """Nodes that were changed or added are told as they are in the end, those that are alike together."""
    cluster, found = an_index([a_node("n1", "a"), a_node("n2", "b")]).fork(""), ErrorList()
    done = apply_events(
        actions, ClusterSimulation(cluster), PodFacts(cluster, (), UNREAD_PODS.running), found
    )

    assert changed == [
        (each.names, each.cordoned, [taint.key for taint in each.taints]) for each in done.changed
    ]
    assert all({ZONE_KEY: "a"}.items() <= each.labels.items() for each in done.changed)
    assert not any(HOSTNAME in each.labels for each in done.changed)
