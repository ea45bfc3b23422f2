"""The requests of pods."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.held_amounts import pod_requests
from policies.model.resources import is_compared
from tests.policies.model.containers import a_container

SPEC = FieldPath(("spec",))


def _limited(**limits: str) -> dict[str, Any]:
    return {"resources": {"limits": limits}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [a_container("100m")]}, {"cpu": 100}, id="100m: one"),
        pytest.param(
            {"containers": [a_container("100m"), a_container("1")]}, {"cpu": 1100}, id="100m + 1: sum"
        ),
        pytest.param(
            {"containers": [a_container("0.5m")] * 2}, {"cpu": 1}, id="0.5m + 0.5m: 1m, rounded once"
        ),
        pytest.param({"containers": [a_container("0"), a_container()]}, {}, id="0 + nothing: nothing"),
        pytest.param({"containers": [_limited(cpu="1")]}, {"cpu": 1000}, id="limit 1 stands in"),
        pytest.param(
            {
                "containers": [
                    {"resources": {"requests": {"cpu": "0"}, "limits": {"cpu": "1", "memory": "5"}}}
                ]
            },
            {"memory": 5},
            id="request 0 keeps limit 1 out",
        ),
        pytest.param(
            {"containers": [a_container("1")], "initContainers": [a_container("3"), a_container("2")]},
            {"cpu": 3000},
            id="init 3, 2; app 1: 3",
        ),
        pytest.param(
            {
                "containers": [a_container("1")],
                "initContainers": [
                    a_container("1", restartPolicy="Always"),
                    a_container("4"),
                    a_container("2", restartPolicy="Always"),
                ],
            },
            {"cpu": 5000},
            id="sidecar 1, init 4, sidecar 2; app 1: 1 + 4",
        ),
        pytest.param(
            {
                "containers": [a_container("3")],
                "initContainers": [a_container("1", restartPolicy="Always"), a_container("2")],
            },
            {"cpu": 4000},
            id="sidecar 1, init 2; app 3: 1 + 3",
        ),
        pytest.param(
            {"containers": [a_container("1")], "overhead": {"cpu": "250m", "memory": "1Ki"}},
            {"cpu": 1250, "memory": 1024},
            id="1 and overhead 250m",
        ),
        pytest.param(
            {
                "containers": [a_container("1")],
                "resources": {"requests": {"cpu": "3"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 4000},
            id="pod 3 before 1, overhead 1",
        ),
        pytest.param(
            {"containers": [a_container("1")], "resources": {"limits": {"cpu": "3", "memory": "5"}}},
            {"cpu": 1000, "memory": 5},
            id="pod limits stand in where nobody requests",
        ),
        pytest.param(
            {
                "containers": [{"resources": {"requests": {"hugepages-2Mi": "2Mi"}}}],
                "resources": {"limits": {"hugepages-2Mi": "4Mi", "example.com/gpu": "1"}},
            },
            {"hugepages-2Mi": 4 * 2**20},
            id="huge pages of the pod before 2Mi; nothing else of a pod",
        ),
        pytest.param(
            {
                "containers": [
                    {"resources": {"requests": {"pods": 1, "storage": 1, "example.com/gpu": 2, "cpu": 0.1}}}
                ]
            },
            {"cpu": 100, "example.com/gpu": 2},
            id="numbers; only what is compared",
        ),
        pytest.param({"containers": None}, {}, id="no containers"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_requests(spec: dict[str, Any], expected: dict[str, int]) -> None:
    """A pod asks for what the scheduler says it does, sorted by name."""
    found = ErrorList()

    assert tuple(sorted(expected.items())) == pod_requests(spec, SPEC, found)
    assert [] == found.errors


def test_pods_of_a_shape_share_their_requests() -> None:
    """The requests of equal pods are one object: a cluster has few shapes and many pods."""
    one, other = (pod_requests({"containers": [a_container("70m")]}, SPEC, ErrorList()) for _ in range(2))

    assert one is other


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (
            {"containers": [{"resources": {"requests": {"cpu": "1 core"}}}]},
            "containers[0].resources.requests[cpu]",
        ),
        ({"containers": [{"resources": {"requests": {"cpu": -1}}}]}, "containers[0].resources.requests[cpu]"),
        (
            {"containers": [{"resources": {"requests": {"cpu": 1}, "limits": {"cpu": "x"}}}]},
            "containers[0].resources.limits[cpu]",
        ),
        ({"containers": [{"resources": {"requests": ["1"]}}]}, "containers[0].resources.requests"),
        ({"containers": [{"resources": 0}]}, "containers[0].resources"),
        ({"containers": [{}, 7]}, "containers[1]"),
        ({"containers": {}}, "containers"),
        ({"initContainers": "x"}, "initContainers"),
        ({"overhead": {"cpu": []}}, "overhead[cpu]"),
        ({"resources": {"limits": {"cpu": True}}}, "resources.limits[cpu]"),
    ],
    ids=str,
)
def test_mistakes_are_told(spec: dict[str, Any], path: str) -> None:
    """A value that is no amount is told once, at its path."""
    found = ErrorList()
    pod_requests(spec, SPEC, found)

    assert [f"spec.{path}"] == [str(error.path) for error in found.errors]


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("cpu", True),
        ("memory", True),
        ("ephemeral-storage", True),
        ("hugepages-1Gi", True),
        ("attachable-volumes-csi-x", True),
        ("example.com/gpu", True),
        ("kubernetes.io/batch-cpu", True),
        ("pods", False),
        ("gpu", False),
        ("requests.example.com/gpu", False),
        ("example.com/not valid", False),
    ],
)
def test_which_resources_are_compared(name: str, *, compared: bool) -> None:
    """The scheduler knows three names, two prefixes and whatever has a domain."""
    assert compared is is_compared(name)


_amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "a/b"]), st.integers(0, 9), max_size=3)


@given(st.lists(st.tuples(st.booleans(), _amounts), max_size=6), st.lists(_amounts, max_size=3))
def test_init_containers_are_added_up_as_kubernetes_does(
    inits: list[tuple[bool, dict[str, int]]], containers: list[dict[str, int]]
) -> None:
    """The sum of containers and sidecars, or what an init container needs with the sidecars before it."""
    spec = {
        "containers": [{"resources": {"requests": amounts}} for amounts in containers],
        "initContainers": [
            {"resources": {"requests": amounts}} | ({"restartPolicy": "Always"} if sidecar else {})
            for sidecar, amounts in inits
        ],
    }
    sidecars, peak = Counter[str](), Counter[str]()
    for sidecar, amounts in inits:
        peak |= sidecars + Counter(amounts)
        sidecars += Counter(amounts if sidecar else {})
    total = sum(map(Counter, containers), sidecars) | peak

    expected = {name: amount * (1000 if name == "cpu" else 1) for name, amount in total.items()}
    assert expected == dict(pod_requests(spec, SPEC, ErrorList()))


def test_sidecars_of_many_resources() -> None:
    """Each asks for a resource of its own: none is added to all before it one by one."""
    sidecars = [
        {"resources": {"requests": {f"example.com/r{n}": 1}}, "restartPolicy": "Always"}
        for n in range(20_000)
    ]

    assert 20_000 == len(pod_requests({"initContainers": sidecars}, SPEC, ErrorList()))
