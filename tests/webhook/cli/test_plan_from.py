"""The workloads that a cluster has, in place of manifests."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from planning.simulation.object_differences import differences
from policies.config.context import AdmissionContext
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload import Workload
from policies.model.workload_kinds import WorkloadKinds
from policies.pods.placement import read_workload
from tests.builders import a_replica_set, a_workload
from tests.planning.planned import a_deployment
from webhook.cli.plan_from import fetch_workloads, find_workloads
from webhook.kube.api_server import ApiError
from webhook.lint.files import Text
from webhook.lint.parse import parse
from webhook.snapshot_file import write_snapshot

CONTEXT = AdmissionContext(policies=())


def _read(obj: dict[str, Any]) -> Workload:
    return read_workload(obj, CONTEXT)


def _found(wanted: dict[str, Any], *objects: dict[str, Any]) -> list[Workload]:
    workloads = ClusterWorkloads(WorkloadKinds(), every_kind=True)
    for obj in objects:
        workloads(obj)
    return [_read(entry.value) for entry in find_workloads([_read(wanted)], workloads, "cluster.json")]


def test_the_object_itself() -> None:
    """The snapshot has it, beside others."""
    (found,) = _found(a_deployment(3), a_deployment(2), a_deployment(9, "else"))

    assert 2 == found.replicas


def test_a_kind_without_replicas() -> None:
    """DaemonSets are found as well."""
    (found,) = _found(a_workload("DaemonSet"), a_workload("DaemonSet"))

    assert "DaemonSet.apps" == found.kind.name


def test_a_replica_set_stands_for_its_deployment() -> None:
    """Of several the one with most pods; nothing differs from what it was made of but the number."""
    wanted, older = a_deployment(3), a_deployment(3, spec={"hostNetwork": True})
    running, idle = a_replica_set(wanted, "7c9", number=1), a_replica_set(older, "5d9", number=2)
    running["spec"]["replicas"], idle["spec"]["replicas"] = 3, 0
    (found,) = _found(wanted, idle, running)

    assert ("Deployment.apps", "web", 3) == (found.kind.name, found.name, found.replicas)
    assert () == differences(found, _read(wanted))


def test_a_snapshot_of_ours() -> None:
    """It has a digest in place of a part of the template."""
    wanted = a_deployment(1)
    wanted["spec"]["template"]["spec"]["containers"][0]["args"] = ["--secret"]
    text = b"".join(write_snapshot([a_replica_set(wanted, "7c9")], {}, datetime.now(UTC)))
    stored, *_about = parse(Text("cluster.json", text)).objects
    (found,) = _found(wanted, stored.value)
    other = copy.deepcopy(wanted)
    other["spec"]["template"]["spec"]["containers"][0]["args"] = ["--other"]

    assert b"--secret" not in text
    assert () == differences(found, _read(wanted))
    assert differences(found, _read(other))


@pytest.mark.parametrize(
    "obj", [{}, {"kind": "Deployment"}, a_workload("StatefulSet"), {"apiVersion": "v1", "kind": "Pod"}]
)
def test_none(obj: dict[str, Any]) -> None:
    """Other objects are passed over."""
    assert [] == _found(a_deployment(1), obj)


class _Api:
    """An API server that has one Deployment."""

    def __init__(self, status: int) -> None:
        self.status = status

    def call(self, _method: str, path: str) -> dict[str, Any]:
        if path.endswith("/namespaces/shop/deployments/web"):
            return a_deployment(2)
        raise ApiError(self.status, "no")


def test_live() -> None:
    """Each workload is read by its name; one that is not there is left out."""
    wanted = [_read(a_deployment(3)), _read(a_deployment(1, "new"))]

    assert ["web"] == [
        entry.value["metadata"]["name"]
        for entry in fetch_workloads(wanted, _Api(404))  # type: ignore[arg-type]
    ]
    with pytest.raises(ApiError):
        fetch_workloads(wanted, _Api(403))  # type: ignore[arg-type]
