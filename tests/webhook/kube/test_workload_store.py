"""The workloads of a live cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policies.model.workload_kinds import WorkloadKinds
from policies.placement.cluster_workloads import ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from tests.builders import a_pod, a_replica_set, a_workload
from tests.webhook.kube.api_server import FakeApiServer, eventually, serving
from tests.webhook.kube.test_informer import a_cluster
from webhook.kube.workload_store import WorkloadStore

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


def test_followed(tmp_path: Path) -> None:
    """Workloads come and go with the events of the cluster; a broken one is not known."""
    workloads = _workloads()
    with serving(FakeApiServer()) as server:
        server.put(a_workload("StatefulSet", name="listed"))
        cluster = a_cluster(tmp_path, server.url, workloads=workloads)
        cluster.start()
        eventually(lambda: ["listed"] == [name for _, name, _ in _names(workloads)])
        server.put(a_workload("StatefulSet", name="more"))
        eventually(lambda: ["listed", "more"] == [name for _, name, _ in _names(workloads)])
        server.put(a_workload("StatefulSet", name="more") | {"spec": 3})
        server.delete(a_workload("StatefulSet", name="listed"))
        eventually(lambda: [] == _names(workloads))
        cluster.stop()
