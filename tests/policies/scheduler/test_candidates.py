"""Which changes are worth a verdict."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.taints import Taint
from policies.model.version import KubernetesVersion
from policies.scheduler.candidates import find_candidates
from policies.scheduler.changes import Change, ChangeKind
from policies.scheduler.evaluate import evaluate
from policies.scheduler.releases import behavior_of
from tests.builders import ZONE, a_constraint, a_node, a_pod
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import a_request, an_index

FULL = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 2), *on("n2", 2), a_node("n3", unschedulable=True)]


def proposed(
    pod: dict[str, Any], nodes: list[dict[str, Any]], *, others: int = 0, version: str = "1.36"
) -> list[Change]:
    index = an_index(nodes)
    question = a_request(pod, {}, index, behavior_of(KubernetesVersion.parse(version)))
    return find_candidates(evaluate(question, index), index, others=others)


def _pod(*constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return a_pod(spec={"topologySpreadConstraints": list(constraints), **spec})


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(
            "1.36",
            ["nodeTaintsPolicy", "nodeAffinityPolicy", "minDomains", "maxSkew", "whenUnsatisfiable"],
            id="1.36: all fields",
        ),
        pytest.param("1.25", ["maxSkew", "whenUnsatisfiable"], id="1.25: no policies, no minDomains"),
    ],
)
def test_fields_that_the_release_knows(version: str, expected: list[str]) -> None:
    """A field that has no effect in a release is not proposed there."""
    nodes = [*FULL, a_node("n4", "c", unschedulable=True)]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = _pod(a_constraint(minDomains=9, nodeAffinityPolicy="Ignore"), affinity={"nodeAffinity": required})
    found = [str(change.what) for change in proposed(pod, nodes, version=version)]

    assert expected == found[:-1]
    assert "topologySpreadConstraints" == found[-1]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param(0, set(), id="each node has two obstacles: nothing"),
        pytest.param(
            1,
            {ChangeKind.WHEN_UNSATISFIABLE, ChangeKind.CONSTRAINT, ChangeKind.NODE_SELECTOR},
            id="one other may be",
        ),
    ],
)
def test_obstacles(others: int, expected: set[ChangeKind]) -> None:
    """A change is proposed for nodes with so few other obstacles."""
    pod = _pod(a_constraint(topologyKey="row"), nodeSelector={"a": "b"})

    assert expected == {change.what for change in proposed(pod, FULL, others=others)}


def test_max_skew_is_the_smallest_that_lets_a_node_in() -> None:
    """The emptiest domain is cordoned, so the second decides: 3 + 1 - 0 there."""
    nodes = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c", unschedulable=True), *on("n1", 5)]
    changes = proposed(_pod(a_constraint()), [*nodes, *on("n2", 3)])

    assert [(4, 3)] == [(c.value, c.given_up) for c in changes if c.what is ChangeKind.MAX_SKEW]


def _taint(key: str, value: str = "") -> dict[str, str]:
    return {"key": key, "value": value, "effect": "NoSchedule"}


def test_tolerations_by_how_many_nodes_they_open() -> None:
    """All taints of a node go together; those that tell its condition are never tolerated."""
    nodes = [
        a_node("n1", taints=[_taint("team", "x")]),
        a_node("n2", taints=[_taint("team", "y"), _taint("gpu")]),
        a_node("n3", taints=[_taint("team", "x")]),
        a_node("n4", taints=[_taint("node.kubernetes.io/not-ready")]),
        a_node("n5", taints=[_taint("ToBeDeletedByClusterAutoscaler", "1")]),
        a_node("n6", taints=[_taint("karpenter.sh/disrupted")]),
    ]
    found = proposed(a_pod(), nodes)

    assert [
        (Taint("team", "x", "NoSchedule"),),
        (Taint("team", "y", "NoSchedule"), Taint("gpu", "", "NoSchedule")),
    ] == [change.taints for change in found]


def test_the_control_plane_comes_last() -> None:
    """A toleration of its taint is offered after everything else, and marked."""
    nodes = [
        a_node("n1", "a"),
        *on("n1", 2),
        a_node("n2", "b", taints=[_taint("node-role.kubernetes.io/control-plane")]),
    ]
    last = proposed(_pod(a_constraint()), nodes)[-1]

    assert (ChangeKind.TOLERATIONS, True) == (last.what, last.hollow)


@pytest.mark.parametrize(
    ("zones", "max_skew", "value", "hollow"),
    [
        pytest.param((2, 2), 1, 3, False, id="1 to 3, of 5 pods"),
        pytest.param((3, 3), 1, 4, False, id="1 to 4: four times"),
        pytest.param((9, 9), 1, 10, True, id="1 to 10: another promise"),
        pytest.param((1667, 1667), 1, 1668, True, id="1 to 1668: none"),
        pytest.param((3, 0), 2, 4, True, id="4 of 4 pods: all in one zone"),
    ],
)
def test_a_max_skew_that_allows_nearly_everything(
    zones: tuple[int, int], max_skew: int, value: int, *, hollow: bool
) -> None:
    """It comes after ScheduleAnyway, which still spreads where it can."""
    big = {"allocatable": {"pods": "9999"}}
    nodes = [{**a_node("n1", "a"), "status": big}, {**a_node("n2", "b"), "status": big}]
    cordoned = [a_node("n3", "c", unschedulable=True), a_node("n2", "b", unschedulable=True)]
    nodes = nodes if zones[1] else nodes[:1] + cordoned[1:]
    pods = [*on("n1", zones[0]), *on("n2", zones[1])]
    changes = proposed(_pod(a_constraint(maxSkew=max_skew)), [*nodes, cordoned[0], *pods])
    kinds = [change.what for change in changes]
    (change,) = (change for change in changes if change.what is ChangeKind.MAX_SKEW)

    assert (value, hollow) == (change.value, change.hollow)
    assert hollow == (kinds.index(ChangeKind.MAX_SKEW) > kinds.index(ChangeKind.WHEN_UNSATISFIABLE))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("topology.kubernetes.io/zones", [ZONE], id="a letter too many"),
        pytest.param("zone", [ZONE], id="a short name"),
        pytest.param("failure-domain.beta.kubernetes.io/zone", [ZONE], id="a deprecated name"),
        pytest.param("rack", [], id="nothing like it"),
        pytest.param(ZONE, [], id="right, though a node lacks it"),
    ],
)
def test_topology_keys_as_they_were_meant(key: str, expected: list[str]) -> None:
    """Only a key that no node carries, or that has a new name, can be a mistake."""
    nodes = [a_node("n1", "a"), a_node("n2")]
    for node in nodes:
        node["metadata"]["labels"]["failure-domain.beta.kubernetes.io/region"] = "r"
    changes = proposed(_pod(a_constraint(topologyKey=key)), [*nodes, *on("n1", 2)], others=1)

    assert expected == [change.value for change in changes if change.what is ChangeKind.TOPOLOGY_KEY]


def test_requests_go_down_to_the_roomiest_node() -> None:
    """It is the node that lacks the smallest share; full ones, or with nothing left, are none."""
    small = [{**a_node(name), "status": {"allocatable": size}} for name, size in ROOMS.items()]
    containers = [{"name": "c", "resources": {"requests": {"cpu": "4", "memory": "4Gi"}}}]
    (change,) = proposed(a_pod(spec={"containers": containers}), small)

    assert (ChangeKind.REQUESTS, (("memory", 3 * 2**30),)) == (change.what, change.requests)


#: The resources of nodes: half the processors, three quarters of the memory, no pods, no memory.
ROOMS = {
    "half": {"cpu": "2", "memory": "8Gi", "pods": "9"},
    "most": {"cpu": "8", "memory": "3Gi", "pods": "9"},
    "full": {"cpu": "8", "memory": "3900Mi", "pods": "0"},
    "none": {"cpu": "8", "pods": "9"},
}


def test_a_gate_goes_first() -> None:
    """While a gate holds the pod back nothing else is worth a verdict."""
    pod = _pod(a_constraint(topologyKey="row"), schedulingGates=[{"name": "g"}])

    assert [Change(what=ChangeKind.SCHEDULING_GATES)] == proposed(pod, FULL)
