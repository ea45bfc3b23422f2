"""Nodes that are removed, round by round, and where their pods go; Karpenter's cases follow its tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import orjson
import pytest

from planning.autoscaler.sources import read_autoscaler
from planning.simulation.autoscaled import ScaledDown
from planning.simulation.cluster_simulation import ClusterSimulation
from planning.simulation.node_source import NodeSource
from planning.simulation.scale_down import scale_down
from policies.config.context import AdmissionContext
from policies.manifests.documents import load_strictly, objects_or_itself
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.pod_objects import PodObjects
from policies.scheduler.index import ClusterIndex
from tests.builders import ZONE, a_constraint, a_node, a_pod

CAPACITY, TYPE, POOL = (
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/instance-type",
    "karpenter.sh/nodepool",
)
SET = ("apps/v1", "ReplicaSet", "web")
DAEMONS = ("apps/v1", "DaemonSet", "agent")
KEEP, EVICT = "karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict"


def a_machine(name: str, zone: str = "a", kind: str = "big", capacity: str = "on-demand", **keep: str) -> Any:
    """Return a node of Karpenter: a big one has 4 CPUs, a small one 1."""
    node = a_node(name, zone, cpu="4" if kind == "big" else "1")
    node["metadata"]["labels"] |= {POOL: "general", TYPE: kind, CAPACITY: capacity}
    node["metadata"]["annotations"] = keep
    return node


def on(node: str, name: str, cpu: str = "500m", **rest: Any) -> dict[str, Any]:
    """Return a pod of a ReplicaSet on a node."""
    spec = rest.pop("spec", {})
    container = {"name": "c", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    given = {"owner": SET, **rest}
    return a_pod(name=name, spec={"nodeName": node, "containers": [container], **spec}, **given)


def spread_over(key: str, when: str = "DoNotSchedule", **fields: Any) -> dict[str, Any]:
    constraint = a_constraint(topologyKey=key, whenUnsatisfiable=when, **fields)
    return {"topologySpreadConstraints": [constraint]}


def a_budget(allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"web-{allowed}", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def groups(zones: str = "abc", **settings: Any) -> list[dict[str, Any]]:
    """Return the document of a node group for each zone; ``least`` is the least nodes of each."""
    least = settings.pop("least", 0)
    amounts = {"cpu": "4", "memory": "8Gi"}
    entries = [
        {"name": zone, "zone": zone, "minSize": least, "maxSize": 9, "allocatable": amounts} for zone in zones
    ]
    head = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroups"}
    return [{**head, "groups": entries, **({"scaleDown": settings} if settings else {})}]


def pool(*budgets: str, priced: bool = True, **disruption: Any) -> list[dict[str, Any]]:
    """Return a NodePool whose nodes may all go at once by default, and big and small instance types."""
    rules = {"budgets": [{"nodes": each} for each in budgets or ("100%",)], **disruption}
    kinds = [("big", "4", 0.2), ("small", "1", 0.05)]
    capacity = disruption.pop("capacity", ["on-demand"])
    rules.pop("capacity", None)
    requirements = [{"key": CAPACITY, "operator": "In", "values": capacity}]
    return [
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "general"},
            "spec": {"disruption": rules, "template": {"spec": {"requirements": requirements}}},
        },
        {
            "apiVersion": "evenkeel.dev/v1alpha1",
            "kind": "InstanceTypes",
            "instanceTypes": [
                {
                    "name": name,
                    "allocatable": {"cpu": cpu, "memory": "8Gi"},
                    "offerings": [
                        {"zones": ["a", "b"], "capacityType": each} | ({"price": price} if priced else {})
                        for each in capacity
                    ],
                }
                for name, cpu, price in kinds
            ],
        },
    ]


def _read(documents: Sequence[dict[str, Any]], index: ClusterIndex) -> NodeSource:
    text = "\n---\n".join(orjson.dumps(each).decode() for each in documents)
    objects = [entry for document in load_strictly(text, "f.yaml") for entry in objects_or_itself(document)]
    return read_autoscaler(objects, index)


def scaled(
    documents: Sequence[dict[str, Any]], *objects: dict[str, Any], turns: int | None = None
) -> ScaledDown:
    """Return the nodes removed from a cluster, until so many checks of whether to stop."""
    index, running, asked = ClusterIndex(), PodObjects(None), count()
    for obj in objects:
        assert not index.apply(obj)
        running(obj)
    simulation = ClusterSimulation.of(index, stop=lambda: turns is not None and next(asked) >= turns)
    context = AdmissionContext(policies=(), cluster=index)
    return scale_down([], simulation, _read(documents, index), context, running=running)


def gone(found: ScaledDown) -> list[tuple[int, str, str]]:
    return [(node.round, node.name, node.why.value) for node in found.removed]


def kept(found: ScaledDown) -> dict[str, str]:
    return {node.name: node.why.value + (f" {node.pod}" if node.pod else "") for node in found.kept}


THREE = (a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c"))


@pytest.mark.parametrize(
    ("documents", "objects", "removed", "stays"),
    [
        pytest.param(
            groups(), [on("n1", "web-1", "3")], [(1, "n2", "empty"), (1, "n3", "empty")],
            {"n1": "notUnderutilized"}, id="1 empty nodes go together",
        ),
        pytest.param(
            groups(maxParallelism=1), [on("n1", "web-1", "3")], [(1, "n2", "empty"), (2, "n3", "empty")],
            {"n1": "notUnderutilized"}, id="2 as many at once as may go",
        ),
        pytest.param(
            groups(least=1), [], [], {"n1": "minSize", "n2": "minSize", "n3": "minSize"},
            id="3 no group below its least",
        ),
        pytest.param(
            groups("ab"), [on("n1", "web-1", "3")], [(1, "n2", "empty")],
            {"n1": "notUnderutilized", "n3": "notInGroup"}, id="4 nodes in no group",
        ),
        pytest.param(
            groups(), [on("n1", "web-1"), on("n2", "web-2"), on("n3", "web-3")],
            [(1, "n1", "underutilized"), (2, "n2", "underutilized")], {"n3": "noPlaceForPods"},
            id="5 one node after another whose pods fit elsewhere",
        ),
        pytest.param(
            groups(),
            [on(f"n{number}", f"web-{number}", spec=spread_over(ZONE, minDomains=3)) for number in (1, 2, 3)],
            [], {"n1": "noPlaceForPods", "n2": "noPlaceForPods", "n3": "noPlaceForPods"},
            id="6 a hard constraint keeps every zone",
        ),
        pytest.param(
            groups(), [on("n1", "web-1", "3"), on("n2", "web-2", owner=None), on("n3", "a-3", owner=DAEMONS)],
            [(1, "n3", "empty")], {"n1": "notUnderutilized", "n2": "podNotReplicated shop/web-2"},
            id="7 bare pods keep nodes, those of DaemonSets do not",
        ),
        pytest.param(
            groups(),
            [on("n1", "web-1", "3"), on("n2", "web-2", owner=None, annotations={EVICT: "true"}),
             on("n3", "web-3", annotations={EVICT: "false"})],
            [(1, "n2", "underutilized")], {"n1": "notUnderutilized", "n3": "podAnnotated shop/web-3"},
            id="8 safe-to-evict",
        ),
        pytest.param(
            groups(),
            [on("n1", "web-1", "3"), on("n2", "web-2", annotations={EVICT: "on-completion"}),
             on("n3", "web-3", spec={"volumes": [{"name": "v", "emptyDir": {}}]})],
            [], {"n1": "notUnderutilized", "n2": "podCompletes shop/web-2",
                 "n3": "podLocalStorage shop/web-3"},
            id="9 pods that end by themselves, and local volumes",
        ),
        pytest.param(
            groups(skipNodesWithLocalStorage=False, utilizationThreshold=0.1),
            [on("n1", "web-1", "3"), on("n2", "web-2", "500m"),
             on("n3", "web-3", "400m", spec={"volumes": [{"name": "v", "emptyDir": {}}]})],
            [(1, "n3", "underutilized")], {"n1": "notUnderutilized", "n2": "notUnderutilized"},
            id="10 flags of Cluster Autoscaler",
        ),
        pytest.param(
            groups(), [on("n1", "web-1", "3"), on("n2", "web-2"), on("n3", "web-3"), a_budget(0)],
            [], {"n1": "notUnderutilized", "n2": "podBudget shop/web-2", "n3": "podBudget shop/web-3"},
            id="11 a budget that allows nothing",
        ),
        pytest.param(
            groups(maxDrainParallelism=0), [on("n1", "web-1", "3"), on("n2", "web-2")], [(1, "n3", "empty")],
            {"n1": "notUnderutilized", "n2": "unneeded"}, id="11 and no node whose pods move",
        ),
        pytest.param(
            pool(), [], [(1, "m1", "empty"), (1, "m2", "empty")],
            {"n1": "notInGroup", "n2": "notInGroup", "n3": "notInGroup"}, id="12 Karpenter's empty nodes",
        ),
        pytest.param(
            pool("1"), [], [(1, "m1", "empty"), (2, "m2", "empty")],
            {"n1": "notInGroup", "n2": "notInGroup", "n3": "notInGroup"}, id="13 its budget",
        ),
        pytest.param(
            pool("0"), [], [], {"m1": "budget", "m2": "budget"}, id="14 a budget of none",
        ),
        pytest.param(
            pool(budgets=[{"nodes": "0", "reasons": ["Empty"]}]),
            [on("m1", "web-1", "3", spec={"nodeSelector": {ZONE: "a"}})], [],
            {"m2": "budget", "m1": "notCheaper"}, id="15 a budget for one reason",
        ),
        pytest.param(
            pool(consolidateAfter="Never"), [], [], {"m1": "consolidationOff", "m2": "consolidationOff"},
            id="16 consolidateAfter Never",
        ),
        pytest.param(
            pool(consolidationPolicy="WhenEmpty"), [on("m1", "web-1")], [(1, "m2", "empty")],
            {"m1": "notEmpty"}, id="17 WhenEmpty",
        ),
        pytest.param(
            pool(), [on("m1", "web-1", "3"), on("m2", "web-2", "800m")], [(1, "m1", "singleNode")],
            {"m2": "notCheaper"}, id="18 one whose pods fit on the other",
        ),
        pytest.param(
            pool(), [on("m1", "web-1", "3500m"), on("m2", "web-2", "800m")], [(1, "m2", "singleNode")],
            {"m1": "notCheaper", "general-new-1": "notCheaper"}, id="19 one that a cheaper one replaces",
        ),
        pytest.param(
            pool(), [on("m1", "web-1", "400m"), on("m2", "web-2", "400m")],
            [(1, "m1", "multiNode"), (1, "m2", "multiNode")], {"general-new-1": "notCheaper"},
            id="20 two that one cheaper one replaces",
        ),
        pytest.param(
            pool(priced=False), [on("m1", "web-1", "3500m"), on("m2", "web-2", "800m")], [],
            {"m1": "priceUnknown", "m2": "priceUnknown"}, id="21 no prices, no replacement",
        ),
        pytest.param(
            pool(), [on("m1", "web-1", annotations={KEEP: "true"}), on("m2", "web-2"), a_budget(0)], [],
            {"m1": "podAnnotated shop/web-1", "m2": "podBudget shop/web-2"}, id="22 do-not-disrupt, a budget",
        ),
        pytest.param(
            pool(), [on("m1", "web-1", "3"), on("m2", "web-2"), a_budget(1), a_budget(2)], [],
            {"m1": "podBudget shop/web-1", "m2": "podBudget shop/web-2"}, id="23 two budgets for one pod",
        ),
        pytest.param(
            pool(consolidationPolicy="Balanced"), [on("m1", "web-1"), on("m2", "web-2")], [],
            {"m1": "policyNotModeled", "m2": "policyNotModeled"}, id="24 a policy that is not known",
        ),
    ],
)  # fmt: skip
def test_verdicts(
    documents: list[dict[str, Any]],
    objects: list[dict[str, Any]],
    removed: list[tuple[int, str, str]],
    stays: dict[str, str],
) -> None:
    """Which nodes go in which round and why, and which stay and why."""
    of_karpenter = documents[0]["kind"] == "NodePool"
    full = [on(f"n{number}", f"full-{number}", "4") for number in (1, 2, 3)]
    machines = [a_machine("m1"), a_machine("m2", "b"), *full] if of_karpenter else []
    found = scaled(documents, *THREE, *machines, *objects)

    assert found.complete
    assert removed == gone(found)
    assert stays == {name: why for name, why in kept(found).items() if not of_karpenter or name in stays}
    assert len(found.kept) + len(found.removed) == len({*kept(found), *(name for _, name, _ in removed)})


def test_kept_machines() -> None:
    """Annotations and labels of Karpenter's nodes are read, and spot is not replaced with spot."""
    found = scaled(
        pool(capacity=["spot"]),
        a_machine("m1", **{KEEP: "true"}),
        a_machine("m2", "b", kind="unknown"),
        a_machine("m3", "b", capacity="spot"),
        on("m2", "web-2", "1"),
        on("m3", "web-3", "800m"),
        on("m1", "full", "3900m"),
    )

    assert {"m1": "annotated", "m2": "typeUnknown", "m3": "spot"} == kept(found)


@pytest.mark.parametrize(("objects", "said"), [([a_budget(1)], False), ([], True)], ids=["known", "unknown"])
def test_budgets_are_unknown(objects: list[dict[str, Any]], *, said: bool) -> None:
    """Where no budget is known, it is said that none may protect a pod."""
    found = scaled(groups(), *THREE, *objects)

    assert said == ("PodDisruptionBudgets, which are not known" in found.not_modeled)


def test_pods_are_unknown() -> None:
    """A pod of which only the index knows keeps its node: what was not read may not be evicted."""
    index = ClusterIndex()
    for obj in (*THREE, on("n1", "web-1")):
        assert not index.apply(obj)
    context = AdmissionContext(policies=(), cluster=index)
    simulation, autoscaler = ClusterSimulation.of(index), _read(groups(), index)
    found = scale_down([], simulation, autoscaler, context, running=UNREAD_PODS.running)

    assert [(1, "n2", "empty"), (1, "n3", "empty")] == gone(found)
    assert {"n1": "podUnknown shop/web-1"} == kept(found)


@pytest.mark.parametrize(
    ("when", "undone", "domains"),
    [("ScheduleAnyway", 1, (3, 1)), ("DoNotSchedule", 0, (3, 3))],
)
def test_balance(when: str, undone: int, domains: tuple[int, int]) -> None:
    """Soft spread keeps no node, so that the pods end in one zone; hard spread keeps them in all."""
    spec = spread_over(ZONE, when, minDomains=3) if when == "DoNotSchedule" else spread_over(ZONE, when)
    pods = [on(f"n{number}", f"web-{number}", spec=spec) for number in (1, 2, 3)]
    found = scaled(groups(), *THREE, *pods)

    assert undone == found.undone
    assert all(domains == (change.held_before, change.held) for change in found.domains)
    assert [f"web-{number}" for number in (1, 2)] == [entry.name for entry in found.evicted] or not undone


def test_scheduler_has_the_last_word() -> None:
    """Pods go where the whole profile puts them, wherever Cluster Autoscaler took them to go."""
    found = scaled(
        groups(), *THREE, a_node("n4", "a"), on("n1", "web-1"), on("n2", "web-2"), on("n3", "web-3", "2500m"),
        on("n4", "web-4", "2500m"),
    )  # fmt: skip

    steps = {entry.name: entry.step.node for entry in found.evicted if entry.step is not None}
    assert {"web-1", "web-2"} == steps.keys()
    assert {"n3", "n4"} >= {node for node in steps.values() if node is not None}
    assert not found.pending


def test_interrupted_anywhere() -> None:
    """Whenever it is ended it is the whole result, or said not to be one."""
    objects = (*THREE, *(on(f"n{number}", f"web-{number}") for number in (1, 2, 3)))
    whole = scaled(groups(), *objects)
    ends = [scaled(groups(), *objects, turns=turns) for turns in range(12)]

    assert whole.complete
    assert not ends[0].complete
    assert all({"n1", "n2", "n3"} == {*kept(end), *(name for _, name, _ in gone(end))} for end in ends)
    assert ends[-1].complete
    assert all(gone(end) == gone(whole) for end in ends if end.complete)
