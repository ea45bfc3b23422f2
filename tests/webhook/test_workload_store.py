"""The workloads of a live cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.model.cluster_kinds import POD, STATEFUL_SET
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod, a_replica_set, a_workload
from tests.policies.scheduler.test_kept_parts import LARGE, MANY, calls
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer, serving
from tests.webhook.kube.test_informer import a_cluster
from webhook.kube.informer import ClusterCache
from webhook.kube.watched_resources import WITH_PENDING_PODS
from webhook.workload_store import WorkloadStore, followed_workloads

DEPLOYMENT = a_workload(
    "Deployment", spec={"containers": [{"name": "c", "env": [{"name": "K", "value": "secret"}]}]}
)


def _workloads() -> ClusterWorkloads:
    return ClusterWorkloads(WorkloadKinds(), bound_only=True)


def _names(workloads: ClusterWorkloads) -> list[tuple[str, str, int | None]]:
    return [(each.kind, each.name, each.made) for each in workloads.each() if each is not None]


def _revision(name: str, replicas: int) -> dict[str, Any]:
    made = a_replica_set(DEPLOYMENT, name, name=f"web-{name}") | {"status": {"replicas": replicas}}
    made["spec"]["replicas"] = replicas
    return made


def test_rollout() -> None:
    """The current ReplicaSet stands for its Deployment; what is scaled to 0 is forgotten."""
    workloads = _workloads()
    store = WorkloadStore(ClusterIndex(), workloads)
    store.apply(_revision("old", 2))
    before = _names(workloads)
    store.apply(_revision("new", 3))
    store.apply(_revision("old", 0))

    assert [("Deployment", "web", 2)] == before
    assert ([("Deployment", "web", 3)], 1) == (_names(workloads), len(workloads))


def test_what_is_kept() -> None:
    """Nothing is kept of a container that may be secret, and nothing of other kinds."""
    workloads = _workloads()
    store = WorkloadStore(ClusterIndex(), workloads)
    store.apply(_revision("new", 1))
    store.apply(a_pod())
    (each,) = workloads.each()

    assert each is not None
    assert "secret" not in str(each.workload.obj)


@pytest.mark.parametrize("fields", LARGE[STATEFUL_SET])
def test_an_event_of_a_large_workload(fields: dict[str, Any]) -> None:
    """What its pods are made of is kept as it is while that does not change, and the rest is taken over."""
    workloads = _workloads()
    store = WorkloadStore(ClusterIndex(), workloads)
    obj = a_workload("StatefulSet") | fields
    store.apply(obj)
    metadata = obj["metadata"] | {"annotations": {"a": "2"}}
    counted = calls(lambda: store.apply({**obj, "metadata": metadata, "status": {"replicas": 2}}))
    store.apply(obj | {"spec": {**obj["spec"], "replicas": 3}, "status": {"replicas": 2}})
    (each,) = workloads.each()

    # Of each container a few members are taken; it is neither written nor compressed again.
    assert counted <= 5 * MANY
    assert each is not None
    assert (3, 2) == (each.workload.obj["spec"]["replicas"], each.made)


def test_followed(tmp_path: Path) -> None:
    """Workloads come and go with the events of the cluster; a broken one is not known."""
    workloads = _workloads()
    with serving(FakeApiServer()) as server:
        server.put(a_workload("StatefulSet", name="listed"))
        cluster = a_cluster(tmp_path, server.url, workloads=workloads)
        store = cluster.store
        assert store is not None
        cluster.start()
        eventually(lambda: ["listed"] == [name for _, name, _ in _names(store.workloads())])
        server.put(a_workload("StatefulSet", name="more"))
        eventually(lambda: ["listed", "more"] == [name for _, name, _ in _names(store.workloads())])
        server.put(a_workload("StatefulSet", name="more") | {"spec": 3})
        server.delete(a_workload("StatefulSet", name="listed"))
        eventually(lambda: [] == _names(store.workloads()))
        cluster.stop()


OWNER = ("apps/v1", "StatefulSet", "web")
PENDING = a_pod(name="web-0", owner=OWNER) | {"status": {"phase": "Pending"}}
BOUND = a_pod(name="web-1", owner=OWNER, spec={"nodeName": "n1"})
WORKLOAD = a_workload("StatefulSet")


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with serving(FakeApiServer()) as state:
        yield state


@pytest.fixture
def cluster(server: FakeApiServer, tmp_path: Path) -> Iterator[ClusterCache]:
    cluster = a_cluster(
        tmp_path, server.url, workloads=followed_workloads(WorkloadKinds(), pending_pods=True)
    )
    yield cluster
    cluster.stop()


def _pending(store: WorkloadStore | None) -> dict[str, int]:
    assert store is not None
    return {each.name: each.pending for each in store.workloads().each() if each}


def test_pending_pods_are_watched(server: FakeApiServer, cluster: ClusterCache) -> None:
    """They come and go, and the index has those with a node alone."""
    for obj in (WORKLOAD, PENDING, BOUND):
        server.put(obj)
    cluster.start()
    eventually(lambda: cluster.synced)
    before = _pending(cluster.store), cluster.index.pod_count
    server.put(PENDING | {"spec": {"nodeName": "n1", "containers": []}})
    eventually(lambda: cluster.index.pod_count == 2)
    server.delete(WORKLOAD)
    eventually(lambda: _pending(cluster.store) == {})

    assert ({"web": 1}, 1) == before
    (asked, *_) = server.requests(watch=True)
    assert "status.phase!=Succeeded,status.phase!=Failed" == asked.query["fieldSelector"]


def test_what_a_list_no_longer_has_is_gone(server: FakeApiServer, cluster: ClusterCache) -> None:
    """Pods that went while nothing was watched count no longer, bound or pending."""
    for obj in (WORKLOAD, PENDING, BOUND):
        server.put(obj)
    cluster.start()
    eventually(lambda: cluster.synced)
    with server.changed:
        for name in ("web-0", "web-1"):
            del server.objects["Pod", "shop", name]
    server.compact()
    server.drop()
    eventually(lambda: _pending(cluster.store) == {"web": 0})

    eventually(lambda: cluster.index.pod_count == 0)


def test_no_secret_is_kept() -> None:
    """Of a template only what places pods is kept, as in a snapshot."""
    store = WorkloadStore(ClusterIndex(), ClusterWorkloads(WorkloadKinds()))
    container = {"name": "c", "image": "i", "env": [{"name": "PASSWORD", "value": "s3cret"}]}
    errors = store.apply(a_workload("StatefulSet", spec={"containers": [container]}))
    (found,) = store.workloads().each()

    assert not errors
    assert found is not None
    assert "s3cret" not in str(found.workload.obj)


def test_pending_pods_are_names_of_the_store() -> None:
    """A reflector removes what a list lacks of these."""
    store = WorkloadStore(ClusterIndex(), ClusterWorkloads(WorkloadKinds()))
    for pod in (PENDING, BOUND):
        store.apply(pod)

    assert ({("shop", "web-0"), ("shop", "web-1")}, 1) == (store.names(POD), store.count(POD))


def test_only_pods_are_selected_otherwise() -> None:
    """All else is followed as without workloads."""
    assert {"Pod"} == {resource.kind for resource in WITH_PENDING_PODS if resource.field_selector}


@pytest.mark.parametrize("pending_pods", [True, False])
def test_what_an_audit_says_of_pending_pods(*, pending_pods: bool) -> None:
    """Where they are not followed, their number is what controllers report, and an audit says so."""
    workloads = followed_workloads(WorkloadKinds(), pending_pods=pending_pods)

    assert pending_pods == (not workloads.bound_only)
    assert pending_pods == (not any("Pending pods" in line for line in workloads.unread))
