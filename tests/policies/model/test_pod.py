"""Pods on nodes, and pods that wait for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.pod import BoundPod, read_bound_pod, read_pod
from policies.model.taints import Toleration
from tests.builders import a_pod
from tests.hostile import broken_copies

#: A pod with something in every field that is read.
FULL_POD = a_pod(
    owner=("apps/v1", "ReplicaSet", "web-1"),
    annotations={"a": "b"},
    deletionTimestamp="2026-01-01T00:00:00Z",
    spec={
        "nodeName": "n1",
        "schedulingGates": [{"name": "wait"}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "containers": [
            {
                "name": "c",
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
            }
        ],
        "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
        "overhead": {"cpu": "1"},
        "resources": {"limits": {"memory": "2Gi"}},
        "resourceClaims": [{"name": "gpu"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["5"]}]}
                    ]
                }
            },
        },
    },
) | {
    "status": {
        "phase": "Running",
        "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}],
        "conditions": [{"type": "PodResizePending", "reason": "Deferred"}],
    }
}


def test_a_bound_pod() -> None:
    """A pod of the cluster is its place, its labels and what it takes."""
    found = ErrorList()
    spec = {"nodeName": "n1", "containers": [{"resources": {"requests": {"memory": "1Ki", "cpu": "1"}}}]}
    pod = a_pod(spec=spec) | {"status": {"phase": "Running"}}
    expected = BoundPod(
        namespace="shop",
        name="web-0",
        labels={"app": "web"},
        node_name="n1",
        finished=False,
        terminating=False,
        requests=(("cpu", 1000), ("memory", 1024)),
        assumed=(("cpu (assumed)", 1000), ("memory (assumed)", 1024)),
    )

    assert expected == read_bound_pod(pod, found)
    assert [] == found.errors


@pytest.mark.parametrize(
    ("phase", "finished"),
    [("Pending", False), ("Running", False), ("Unknown", False), ("Succeeded", True), ("Failed", True)],
)
def test_finished_pods(phase: str, *, finished: bool) -> None:
    """A pod is over when it succeeded or failed."""
    assert finished is read_bound_pod({"status": {"phase": phase}}, ErrorList()).finished


def test_terminating_pods() -> None:
    """A pod terminates from when it has a time of deletion."""
    stamps = ({"deletionTimestamp": stamp} for stamp in (None, "2026-01-01T00:00:00Z"))

    assert [False, True] == [read_bound_pod({"metadata": stamp}, ErrorList()).terminating for stamp in stamps]


def test_a_bound_pod_without_anything_is_in_the_default_namespace() -> None:
    """An empty object reads as an unbound pod; only its name is missed."""
    found = ErrorList()
    pod = read_bound_pod({}, found)

    assert ("default", "", {}, "", ()) == (pod.namespace, pod.name, pod.labels, pod.node_name, pod.requests)
    assert not pod.finished
    assert not pod.terminating
    assert ["metadata.name"] == [str(error.path) for error in found.errors]


def test_mistakes_in_a_bound_pod_are_told() -> None:
    """Fields of the wrong type are told at their paths, all at once."""
    found = ErrorList()
    read_bound_pod(
        {
            "metadata": {"name": 1, "namespace": [], "labels": {"a": 1}},
            "spec": {"nodeName": {}, "containers": [{"resources": {"requests": {"cpu": "x"}}}]},
            "status": {"phase": 2},
        },
        found,
    )

    assert {
        "metadata.namespace",
        "metadata.name",
        "metadata.labels[a]",
        "spec.nodeName",
        "status.phase",
        "spec.containers[0].resources.requests[cpu]",
    } == {str(error.path) for error in found.errors}


def test_a_pending_pod() -> None:
    """A pod to place is read with all that the engine's filters look at, and the rest is named."""
    found = ErrorList()
    pod = read_pod(FULL_POD, FieldPath(), found)

    assert ("shop", "web-0", {"app": "web"}, "n1", True) == (
        pod.namespace,
        pod.name,
        pod.labels,
        pod.node_name,
        pod.gated,
    )
    assert (Toleration("gpu", "Exists"),) == pod.tolerations
    assert (("cpu", 3000), ("memory", 2**30)) == pod.requests
    assert [False, True] == [pod.affinity.matches("n1", {"disk": "ssd", "gen": gen}) for gen in ("5", "6")]
    assert ("persistentVolumeClaims", "resourceClaims") == pod.unmodeled
    assert [] == found.errors


@pytest.mark.parametrize(
    ("spec", "unmodeled"),
    [
        ({}, ()),
        ({"volumes": [{"emptyDir": {}}]}, ()),
        ({"volumes": [{"ephemeral": {"volumeClaimTemplate": {}}}]}, ("persistentVolumeClaims",)),
        ({"resourceClaims": []}, ()),
    ],
    ids=str,
)
def test_what_else_a_scheduler_looks_at(spec: dict[str, Any], unmodeled: tuple[str, ...]) -> None:
    """A pod names what the engine leaves out, if it asks for it."""
    assert unmodeled == read_pod({"spec": spec}, FieldPath(), ErrorList()).unmodeled


def test_mistakes_in_a_pending_pod_are_told_where_it_came_from() -> None:
    """A pod that was made from a template is wrong where the template is."""
    found = ErrorList()
    pod = {"metadata": {"labels": []}, "spec": {"schedulingGates": 1, "tolerations": [{"operator": "x"}]}}

    assert "default" == read_pod(pod, FieldPath(("spec", "template")), found).namespace
    assert {
        "spec.template.metadata.labels",
        "spec.template.spec.schedulingGates",
        "spec.template.spec.tolerations[0].operator",
    } == {str(error.path) for error in found.errors}


@given(broken_copies(FULL_POD))
def test_no_pod_is_too_broken_to_read(raw: dict[str, Any]) -> None:
    """A broken value in any field still gives a pod whose amounts are positive integers."""
    bound = read_bound_pod(raw, ErrorList())
    pending = read_pod(raw, FieldPath(), ErrorList())

    assert isinstance(bound.node_name, str)
    assert all(type(size) is int and size > 0 for _, size in (*bound.requests, *pending.requests))
    assert isinstance(pending.affinity.matches("n1", {"gen": "6"}), bool)
