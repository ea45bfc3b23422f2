"""The oracle itself, against what kube-scheduler and its plugins did, and where they are silent, by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import a_constraint, a_pod
from tests.for_each import for_each
from tests.policies.scheduler.oracle import judge
from tests.policies.scheduler.oracle_constraints import Behavior
from tests.policies.scheduler.oracle_resources import quantity, requested
from tests.recorded import alike, recorded_edges, recorded_placements, recorded_schedules

ZONE = "topology.kubernetes.io/zone"
#: The plugins' answers in the order in which kube-scheduler asks them.
PLUGINS = (
    "nodeUnschedulable",
    "nodeName",
    "taintToleration",
    "nodeAffinity",
    "nodeResourcesFit",
    "podTopologySpread",
)
#: Scenarios that turn on what the oracle does not look at: scheduling gates, pod affinity, the API server.
NOT_MODELED = {"gated", "antiaffinity-required-host", "matchlabelkeys-trap"}


@pytest.mark.slow
def test_recorded_schedules() -> None:
    """The oracle agrees with kube-scheduler 1.36.2 on every node of all 1,200 clusters."""
    cases = list(recorded_schedules())
    disagreeing = [case["name"] for case in cases if judge(case) != case["expected"]]

    assert [] == disagreeing
    assert 1200 == len(cases)


@pytest.mark.slow
def test_recorded_edges() -> None:
    """The oracle agrees with kube-scheduler 1.36.2 on every node of all 264 rare cases."""
    cases = list(recorded_edges())
    disagreeing = [case["name"] for case in cases if not alike(judge(case), case["expected"])]

    assert ([], 264) == (disagreeing, len(cases))


@for_each(sorted(recorded_placements().keys() - NOT_MODELED))
def test_recorded_placements(name: str) -> None:
    """Replayed pod by pod, every scenario finds the same nodes feasible, with the same spreading scores."""
    for case, placement in replayed(recorded_placements()[name]):
        nodes = judge(case)["nodes"]
        feasible = {node for node, answer in nodes.items() if answer["feasible"]}
        if placement["node"]:
            assert placement["node"] in feasible
        else:
            assert placement["message"].startswith(sentence(nodes))
        # Of a single feasible node no scores are asked for, and the scheduler keeps none.
        if scores := placement.get("scores"):
            weighted = {node: parts.get("PodTopologySpread", 0) for node, parts in scores.items()}
            assert weighted == {node: 2 * nodes[node].get("score", 0) for node in feasible}


def replayed(scenario: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each step of a scenario, with all pods where they were then, and what the scheduler did."""
    pods = list(scenario["pods"])
    owners = [owner_of(scenario["workload"])] if "workload" in scenario else []
    placements = scenario["outcome"]["placements"]
    for position, placement in enumerate(placements):
        if owners:
            pod = pod_of(owners[0], scenario["workload"]["spec"]["template"], placement["pod"])
        else:
            pod = scenario["incoming"][position]
        case = {
            "nodes": scenario["nodes"],
            "pods": list(pods),
            "services": [obj for obj in scenario.get("objects") or () if obj["kind"] == "Service"],
            "replicaSets": owners,
            "pod": pod,
            "args": {"defaultingType": "System"},
        }
        yield case, placement
        pods.append(pod | {"spec": pod["spec"] | {"nodeName": placement["node"]}})


def owner_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """Return a ReplicaSet as a Deployment makes it."""
    selector = {"matchLabels": deployment["spec"]["selector"]["matchLabels"] | {"pod-template-hash": "1"}}
    metadata = {"name": "web-1", "namespace": deployment["metadata"]["namespace"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"selector": selector},
    }


def pod_of(owner: dict[str, Any], template: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a pod as a ReplicaSet makes it and the API server admits it."""
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
        for key in ("not-ready", "unreachable")
    ]
    spec = template["spec"]
    return a_pod(
        name=name,
        namespace=owner["metadata"]["namespace"],
        labels=template["metadata"]["labels"] | {"pod-template-hash": "1"},
        owner=("apps/v1", "ReplicaSet", "web-1"),
        spec=spec | {"tolerations": [*(spec.get("tolerations") or ()), *tolerations]},
    )


def sentence(nodes: dict[str, dict[str, Any]]) -> str:
    """Return how the pod's condition begins: each node counts under all reasons of the first plugin."""
    if not nodes:
        return "no nodes available to schedule pods"
    first = [next(answer[plugin] for plugin in PLUGINS if plugin in answer) for answer in nodes.values()]
    counted = Counter(reason for reasons in first for reason in reasons.split(", "))
    parts = sorted(f"{count} {reason}" for reason, count in counted.items())
    return f"0/{len(nodes)} nodes are available: {', '.join(parts)}."


def a_case(*, constraint: dict[str, Any], pods: dict[str, int], **pod: Any) -> dict[str, Any]:
    """Return a pod before nodes a and b, each a zone of its own, with so many pods on each."""
    nodes = [
        {"metadata": {"name": name, "labels": {ZONE: name}}, "status": {"allocatable": {"pods": "110"}}}
        for name in ("a", "b")
    ]
    bound = [a_pod(spec={"nodeName": node}) for node, count in pods.items() for _ in range(count)]
    spec = pod.pop("spec", {}) | {"topologySpreadConstraints": [constraint]}
    return {
        "nodes": nodes,
        "pods": bound,
        "pod": a_pod(spec=spec, **pod),
        "args": {"defaultingType": "System"},
    }


ON_B = {"nodeSelector": {ZONE: "b"}}


@pytest.mark.parametrize(
    ("constraint", "spec", "old", "now", "before"),
    [
        pytest.param({"minDomains": 3}, {}, {"min_domains": False}, "", "ab", id="[1,1] of minDomains 3"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore", "maxSkew": 1},
            ON_B,
            {"inclusion_policies": False},
            "a",
            "ab",
            id="[0,1], a excluded by affinity that is not honored: b is 1 above the minimum",
        ),
        pytest.param(
            {"matchLabelKeys": ["rev"]},
            {},
            {"match_label_keys": False},
            "ab",
            "a",
            id="[0,1], none of the pod's revision: both, unless the key is not known",
        ),
        pytest.param(
            {"labelSelector": {}},
            {},
            {"empty_selector_counts": True},
            "ab",
            "a",
            id="[0,1], selector {}: nothing is counted, formerly everything",
        ),
    ],
)
def test_behavior(
    constraint: dict[str, Any], spec: dict[str, Any], old: dict[str, bool], now: str, before: str
) -> None:
    """Each switch brings back what older releases did."""
    counts = {"a": 1, "b": 1} if "minDomains" in constraint else {"b": 1}
    labels = {"app": "web", "rev": "2"}
    case = a_case(constraint=a_constraint(**constraint), pods=counts, spec=spec, labels=labels)

    assert now == allowed(judge(case))
    assert before == allowed(judge(case, Behavior(**old)))


def allowed(verdict: dict[str, Any]) -> str:
    return "".join(name for name, answer in verdict["nodes"].items() if "podTopologySpread" not in answer)


@pytest.mark.parametrize(
    ("kind", "selector", "expected"),
    [
        pytest.param(
            "ReplicationController", {"app": "b"}, "b", id="its pair replaces the service's: 3 of app=b"
        ),
        pytest.param(
            "ReplicaSet", {"matchLabels": {"app": "b"}}, "ab", id="both conditions: nothing is counted"
        ),
        pytest.param("StatefulSet", None, "a", id="no selector adds nothing: 2 of app=a"),
        pytest.param("Job", {"matchLabels": {"app": "b"}}, "a", id="not looked at: 2 of app=a"),
    ],
)
def test_deduced_selector(kind: str, selector: Any, expected: str) -> None:
    """Of [0,2] pods app=a and [3,0] pods app=b, those count that service and owner select together."""
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    owner = {
        "kind": kind,
        "metadata": {"name": "o", "namespace": "shop"},
        "spec": {"selector": selector},
    }
    case = a_case(constraint={}, pods={}, owner=(version, kind, "o"), labels={"app": "a"}) | {
        "services": [{"metadata": {"name": "s", "namespace": "shop"}, "spec": {"selector": {"app": "a"}}}],
        "replicationControllers": [owner],
        "replicaSets": [owner],
        "statefulSets": [owner],
        "args": {"defaultingType": "List", "defaultConstraints": [a_constraint(labelSelector=None)]},
    }
    places = [("b", "a")] * 2 + [("a", "b")] * 3
    case["pods"] = [a_pod(labels={"app": app}, spec={"nodeName": node}) for node, app in places]
    case["pod"]["spec"].pop("topologySpreadConstraints")

    assert expected == allowed(judge(case))


def container(cpu: str, **fields: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **fields}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [container("100m"), container("200m")]}, 300, id="containers add up"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("2"), container("1500m")]},
            2000,
            id="the largest init container is a floor",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("100m", **SIDECAR), container("2")],
            },
            2100,
            id="an init container beside the sidecar before it",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("1"), container("100m", **SIDECAR)],
            },
            1100,
            id="a sidecar stays beside the containers",
        ),
        pytest.param(
            {"containers": [container("100u"), container("1n")]}, 1, id="rounded up once, after adding"
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead comes on top"
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": 1}},
            4000,
            id="the pod's own requests replace its containers'",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000, id="a limit is the request"
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"limits": {"cpu": "3"}}},
            1000,
            id="with the pod's limit alone, its containers' requests stand",
        ),
    ],
)
def test_requested(spec: dict[str, Any], expected: int) -> None:
    """CPU is asked for in thousandths, as ``PodRequests`` adds it up."""
    assert expected == requested({"spec": spec})["cpu"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.5Gi", 1610612736), ("12e3", 12000), ("1E", 10**18), ("1E2", 100), ("10E", 2**63 - 1), (".5k", 500)],
)
def test_quantity(text: str, expected: int) -> None:
    """Suffixes count by 1000 or 1024, an exponent by ten, and the largest quantity is that of an int64."""
    assert expected == quantity(text)
