"""The sources of the replicas of a workload that leaves their number out."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.replica_number import ReplicaNumber, ReplicaOrigin
from policies.model.replica_sources import DESIRED_ANNOTATION, ReplicaSources
from policies.model.workload import Workload
from policies.model.workload_kinds import KNOWN_KINDS

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def _object(version: str, kind: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    named = {"name": "web", "namespace": "shop", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": named, "spec": spec}


def _replica_set(replicas: int, desired: str = "") -> dict[str, Any]:
    owner = {**_TARGET, "uid": "u", "controller": True}
    annotations = {DESIRED_ANNOTATION: desired} if desired else {}
    return _object(
        "apps/v1", "ReplicaSet", {"replicas": replicas}, ownerReferences=[owner], annotations=annotations
    )


_HPA = _object("autoscaling/v2", "HorizontalPodAutoscaler", {"minReplicas": 4, "scaleTargetRef": _TARGET})
_HPA["spec"]["maxReplicas"] = 9
_KEDA = _object("keda.sh/v1alpha1", "ScaledObject", {"scaleTargetRef": {"name": "web"}})
_STORED = _object("apps/v1", "Deployment", {"replicas": 7})
_ZERO = _object("apps/v1", "Deployment", {"replicas": 0})
_MANIFEST, _CLUSTER, _SCALER, _DEFAULT = ReplicaOrigin


@pytest.mark.parametrize(
    ("stated", "objects", "running", "expected"),
    [
        pytest.param(3, [_STORED, _HPA], 6, (3, _MANIFEST, ""), id="3-stated-7-stored"),
        pytest.param(0, [_STORED, _HPA], 6, (0, _MANIFEST, ""), id="0-stated"),
        pytest.param(None, [_STORED, _HPA], 6, (7, _CLUSTER, "Deployment web"), id="7-stored-6-run"),
        pytest.param(None, [_replica_set(5), _HPA], 6, (5, _CLUSTER, "its ReplicaSets"), id="5-of-its-set"),
        pytest.param(
            None,
            [_replica_set(5, "6"), _replica_set(2, "6"), _replica_set(0, "9")],
            7,
            (6, _CLUSTER, "its ReplicaSets"),
            id="6-wanted-7-in-a-rollout-9-long-ago",
        ),
        pytest.param(None, [_HPA], 6, (6, _CLUSTER, ""), id="6-run-4-at-least"),
        pytest.param(None, [_HPA], 0, (4, _SCALER, "HorizontalPodAutoscaler web"), id="4-at-least"),
        pytest.param(None, [_ZERO, _HPA], 0, (4, _SCALER, "HorizontalPodAutoscaler web"), id="0-stored"),
        pytest.param(None, [_KEDA], 0, (1, _SCALER, "ScaledObject web"), id="0-at-least"),
        pytest.param(None, [], 0, (1, _DEFAULT, ""), id="nothing"),
    ],
)
def test_number(
    stated: int | None, objects: list[dict[str, Any]], running: int, expected: tuple[int, ReplicaOrigin, str]
) -> None:
    """The manifest counts first, then what runs, then the least of an autoscaler, then 1."""
    sources = ReplicaSources()
    for obj in objects:
        sources(obj)
    obj = _object("apps/v1", "Deployment", {} if stated is None else {"replicas": stated})
    (kind,) = (kind for kind in KNOWN_KINDS if kind.kind == "Deployment")
    found = sources.number(Workload.read(obj, kind, "shop"), lambda: running)
    assert found == ReplicaNumber(*expected)


@pytest.mark.parametrize("replicas", [None, "3", -1, True, [2]], ids=repr)
def test_no_number(replicas: object) -> None:
    """A number of another type says nothing."""
    sources = ReplicaSources()
    sources(_object("apps/v1", "Deployment", {"replicas": replicas}))
    (kind,) = (kind for kind in KNOWN_KINDS if kind.kind == "Deployment")
    workload = Workload.read(_object("apps/v1", "Deployment", {}), kind, "shop")
    assert sources.number(workload, lambda: 0).origin is _DEFAULT
