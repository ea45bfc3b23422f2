"""The facts that are kept of the pods of a cluster, and their replacements."""

from __future__ import annotations

from typing import Any

import pytest

from policies.pods.pod_objects import PodObject, PodObjects
from tests.builders import a_constraint, a_pod

REPLICA_SET = ("apps/v1", "ReplicaSet", "web-5d9")


def _kept(pod: dict[str, Any]) -> PodObject | None:
    pods = PodObjects(None)
    pods(pod)
    return pods.find("shop", "web-0")


def _running(owner: tuple[str, str, str] | None = REPLICA_SET, **metadata: Any) -> dict[str, Any]:
    return a_pod(spec={"nodeName": "n1"}, owner=owner, **metadata)


@pytest.mark.parametrize(
    ("pod", "replaced"),
    [
        pytest.param(_running(), True, id="of a ReplicaSet"),
        pytest.param(_running(("batch/v1", "Job", "import")), True, id="of a Job"),
        pytest.param(_running(None), False, id="a bare pod"),
        pytest.param(_running(("apps/v1", "DaemonSet", "agent")), False, id="of a DaemonSet"),
        pytest.param(_running(("v1", "Node", "n1")), False, id="a static pod, by its owner"),
        pytest.param(
            _running(annotations={"kubernetes.io/config.mirror": "x"}), False, id="a static pod, marked so"
        ),
    ],
)
def test_what_is_replaced(pod: dict[str, Any], *, replaced: bool) -> None:
    """Controllers replace a pod on another node, but those of DaemonSets do not, nor does a kubelet."""
    known = _kept(pod)

    assert known is not None
    assert replaced is (not known.why_final)


def test_what_a_replacement_looks_like() -> None:
    """It has all that a scheduler reads, and neither the node nor what its containers are started with."""
    pod = _running(annotations={"cni.example/address": "10.0.0.1"}, creationTimestamp="2026-01-01T00:00:00Z")
    pod["spec"] |= {
        "priority": 7,
        "topologySpreadConstraints": [a_constraint()],
        "volumes": [
            {"name": "kube-api-access-x1", "projected": {}},
            {"persistentVolumeClaim": {"claimName": "c"}},
        ],
    }
    pod["spec"]["containers"][0] |= {"env": [{"name": "SECRET"}], "resources": {"requests": {"cpu": "1"}}}
    known = _kept(pod)
    assert known is not None
    spec = known.to_dict("web-0")["spec"]

    assert (7, "2026-01-01T00:00:00Z") == (known.priority, known.created)
    assert {"containers", "priority", "topologySpreadConstraints", "volumes"} == spec.keys()
    assert {"name", "image", "resources"} == spec["containers"][0].keys()
    assert [{"persistentVolumeClaim": {"claimName": "c"}}] == spec["volumes"]
    assert {} == known.to_dict("web-0")["metadata"]["annotations"]


def test_pods_of_one_controller_share_what_is_kept() -> None:
    """A cluster has few kinds of pods, however many there are."""
    pods = PodObjects(None)
    for number in range(2):
        pods(a_pod(name=f"web-{number}", spec={"nodeName": f"n{number}"}, owner=REPLICA_SET))
    first, second = pods.find("shop", "web-0"), pods.find("shop", "web-1")

    assert first is not None
    assert second is not None
    assert first.manifest is second.manifest


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(_running() | {"status": {"phase": "Succeeded"}}, id="has finished"),
        pytest.param(_running() | {"kind": "Node"}, id="is no pod"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": [], "spec": 3}, id="is broken"),
        pytest.param(
            a_pod(spec={"nodeName": "n1", "overhead": {"cpu": 2**70}}), id="has a number that JSON has not"
        ),
    ],
)
def test_what_is_not_kept(obj: dict[str, Any]) -> None:
    """Only pods that run lose a node."""
    assert _kept(obj) is None


def test_a_pod_that_waits_for_a_node() -> None:
    """It is found, and is among those that wait alone."""
    pods = PodObjects(None)
    pods(a_pod(name="web-0"))

    assert pods.find("shop", "web-0") is not None
    assert ([("shop", "web-0")], []) == (list(pods.waiting()), list(pods.items()))
