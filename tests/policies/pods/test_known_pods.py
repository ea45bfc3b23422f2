"""The facts that are kept of a snapshot for rollouts and scales."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from policies.model.labels import LabelSelector
from policies.model.replica_sources import DESIRED_ANNOTATION
from policies.pods.known_pods import KnownPods
from tests.builders import a_pod

WEB = LabelSelector((("app", "web"),))


def _read(*objects: dict[str, Any], now: float = 0.0) -> KnownPods:
    known = KnownPods(None, now=now)
    for obj in objects:
        known(obj)
    return known


def _a_node(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([_a_node()], "", id="no time"),
        pytest.param(
            [a_pod(creationTimestamp="2026-01-02T00:00:00Z")], "2026-01-02T00:00:00Z", id="a creation"
        ),
        pytest.param(
            [
                a_pod(creationTimestamp="2026-01-02T00:00:00Z"),
                _a_node(conditions=[{"type": "Ready", "lastHeartbeatTime": "2026-01-02T00:05:00Z"}]),
            ],
            "2026-01-02T00:05:00Z",
            id="the heartbeat of a node after that",
        ),
        pytest.param(
            [a_pod(creationTimestamp="zzz-never-Z"), a_pod(creationTimestamp="2026-01-02T00:00:00Z")],
            "2026-01-02T00:00:00Z",
            id="what is no time",
        ),
    ],
)
def test_now(objects: list[dict[str, Any]], expected: str) -> None:
    """The newest time of the whole file."""
    time = datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp() if expected else 0.0

    assert time == _read(*objects).now


def test_the_clock() -> None:
    """A time that is given counts, whatever objects say."""
    assert 5.0 == _read(a_pod(creationTimestamp="2026-01-02T00:00:00Z"), now=5.0).now


def _waiting(name: str, created: str, **changed: Any) -> dict[str, Any]:
    return a_pod(name=name, labels={"app": "web"}, creationTimestamp=created, **changed)


def test_pending() -> None:
    """Pods without a node, oldest first; those being deleted are gone, and others are not selected."""
    known = _read(
        _waiting("b", "2026-01-02T00:00:02Z"),
        _waiting("a", "2026-01-02T00:00:02Z"),
        _waiting("c", "2026-01-02T00:00:01Z"),
        _waiting("bound", "2026-01-02T00:00:01Z", spec={"nodeName": "n1"}),
        _waiting("going", "2026-01-02T00:00:01Z", deletionTimestamp="2026-01-02T00:00:03Z"),
        a_pod(name="api", labels={"app": "api"}),
    )

    assert ["c", "a", "b"] == [pod.name for pod in known.pending("shop", WEB)]


def _owned(name: str, owner: str, **labels: str) -> dict[str, Any]:
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": owner,
        "uid": owner,
        "controller": True,
    }
    return a_pod(
        name=name,
        labels={"app": "web", **labels},
        ownerReferences=[reference],
        spec={"nodeName": "n1", "priority": 7},
    )


def test_sample() -> None:
    """A pod of a revision of the workload, bound or not, without its node."""
    other = _owned("x", "api-1", **{"pod-template-hash": "1", "app": "api"})
    known = _read(other, _owned("a", "web-1", **{"pod-template-hash": "1"}))
    sample = known.sample("shop", "1", WEB)

    assert sample is not None
    assert (7, None, "web") == (
        sample["spec"]["priority"],
        sample["spec"].get("nodeName"),
        sample["metadata"]["labels"]["app"],
    )
    assert known.sample("shop", "2", WEB) is None


@pytest.mark.parametrize(
    ("replicas", "annotation", "expected"),
    [
        pytest.param(3, "5", [("1", 3, 5)], id="as its controller writes it"),
        pytest.param(3, None, [("1", 3, None)], id="without the annotation"),
        pytest.param(3, "many", [("1", 3, None)], id="not a number"),
        pytest.param(0, "5", [], id="scaled to nothing"),
        pytest.param("3", "5", [], id="of the wrong type"),
    ],
)
def test_sizes(replicas: Any, annotation: str | None, expected: list[tuple[str, int, int | None]]) -> None:
    """How many pods each ReplicaSet of a Deployment wants."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    known = _read(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": "web-1",
                "namespace": "shop",
                "labels": {"pod-template-hash": "1"},
                "annotations": {} if annotation is None else {DESIRED_ANNOTATION: annotation},
                "ownerReferences": [owner],
            },
            "spec": {"replicas": replicas},
        }
    )

    assert expected == list(map(tuple, known.sizes("shop", "web")))
