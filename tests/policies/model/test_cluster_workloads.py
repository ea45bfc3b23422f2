"""The workloads of a cluster, gathered from its objects."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.label_query import parse_label_query
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_node, a_pod, a_replica_set, a_workload

DEPLOYMENT = a_workload("Deployment")
CURRENT = a_replica_set(DEPLOYMENT, "5d9")
OLD = a_replica_set(DEPLOYMENT, "777", name="web-777")
OLD["spec"]["replicas"] = 0


def _found(*objects: Any, namespace: str = "", query: str = "") -> list[tuple[str, str, int]]:
    selector = parse_label_query(query) if query else None
    found = ClusterWorkloads(WorkloadKinds(), namespace, selector)
    for obj in objects:
        found(obj)
    return [(each.kind, each.name, each.pending) for each in found.each() if each is not None]


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def _pending(name: str, owner: tuple[str, str, str], **status: Any) -> dict[str, Any]:
    return a_pod(name=name, owner=owner) | {"status": {"phase": "Pending", **status}}


def test_replica_sets_stand_for_their_deployment() -> None:
    """By themselves they have its name, an old one is none; with the Deployment there is that alone."""
    pod = _pending("web-1", ("apps/v1", "ReplicaSet", CURRENT["metadata"]["name"]))

    assert [("Deployment", "web", 1)] == _found(CURRENT, OLD, pod)
    assert [("Deployment", "web", 1)] == _found(pod, OLD, CURRENT, DEPLOYMENT)


def test_owners_that_are_no_workloads() -> None:
    """Workloads that an operator's resource owns are no revisions of it: two StatefulSets stay two."""
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Kafka",
        "name": "k",
        "uid": "u",
        "controller": True,
    }
    found = ClusterWorkloads(WorkloadKinds())
    for name in ("a", "b"):
        obj = a_workload("StatefulSet", name=name)
        obj["metadata"] |= {"ownerReferences": [owner], "uid": name}
        found(obj)

    assert [("StatefulSet", "a", "apps/v1", "a"), ("StatefulSet", "b", "apps/v1", "b")] == [
        (each.kind, each.name, each.api_version, each.uid) for each in found.each() if each is not None
    ]


def test_owners_of_revisions() -> None:
    """A ReplicaSet has the apiVersion and the uid of what it is a revision of."""
    current = a_replica_set(DEPLOYMENT, "5d9")
    current["metadata"]["ownerReferences"][0]["uid"] = "uid-of-web"
    found = ClusterWorkloads(WorkloadKinds())
    found(current)
    (each,) = found.each()

    assert each is not None
    assert ("apps/v1", "uid-of-web") == (each.api_version, each.uid)


def test_pods_that_wait() -> None:
    """Pods with a node, finished ones and those that are being deleted do not wait."""
    owner = ("apps/v1", "StatefulSet", "web")
    gone = _pending("web-3", owner)
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    bound = a_pod(name="web-2", owner=owner, spec={"nodeName": "n1"})
    pods = [_pending("web-1", owner), bound, gone, _pending("web-4", owner, phase="Failed")]

    assert [("StatefulSet", "web", 1)] == _found(a_workload("StatefulSet"), *pods)


def test_which_are_looked_at() -> None:
    """Kinds without a number of replicas are not, nor those of other namespaces and labels."""
    labeled = a_workload("StatefulSet", labels={"app": "web"}) | {}
    labeled["metadata"]["labels"] = {"team": "a"}
    objects = [labeled, a_workload("DaemonSet"), a_workload("CronJob", "batch"), a_node("n1"), {"kind": 1}]

    assert [("StatefulSet", "web", 0)] == _found(*objects)
    assert [("StatefulSet", "web", 0)] == _found(*objects, namespace="shop", query="team in (a,b)")
    assert [] == _found(*objects, namespace="other")
    assert [] == _found(*objects, query="team!=a")


def test_objects_that_change() -> None:
    """Objects that are replaced or removed leave no trace."""
    owner = ("apps/v1", "StatefulSet", "web")
    found = ClusterWorkloads(WorkloadKinds())
    for obj in (a_workload("StatefulSet"), _pending("web-1", owner), _pending("web-2", owner), CURRENT):
        found(obj)
    before = found.copy()
    found(a_pod(name="web-1", owner=owner, spec={"nodeName": "n1"}))
    found.remove_pod("shop", "web-2")
    # A rollout leaves it behind without pods.
    found(CURRENT | {"spec": CURRENT["spec"] | {"replicas": 0}})
    changed = [(each.kind, each.pending) for each in found.each() if each]
    found.remove("StatefulSet", "shop", "web")
    found.remove("StatefulSet", "shop", "web")

    assert [("Deployment", 0), ("StatefulSet", 2)] == [(e.kind, e.pending) for e in before.each() if e]
    assert [("StatefulSet", 0)] == changed
    assert (0, set()) == (len(found), found.pending_pods())
    assert {("shop", "web-1"), ("shop", "web-2")} == before.pending_pods()


@pytest.mark.parametrize(
    ("odd", "left_out"),
    [
        pytest.param(2**70, 0, id="an integer beyond 64 bits"),
        pytest.param(_nested(300), 0, id="more levels than orjson writes"),
        pytest.param(_nested(5_000), 1, id="more levels than json writes"),
    ],
)
def test_objects_that_no_api_has(odd: object, left_out: int) -> None:
    """A workload is kept with whatever a field holds, or a line says that it is left out."""
    odd_one = a_workload("StatefulSet", name="odd")
    odd_one["spec"]["odd"] = odd
    found = ClusterWorkloads(WorkloadKinds())
    for obj in (odd_one, a_workload("StatefulSet")):
        found(obj)

    assert 2 - left_out == sum(each is not None for each in found.each())
    assert left_out == len(found.unread)
