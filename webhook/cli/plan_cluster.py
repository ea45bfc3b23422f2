"""The workloads that a cluster has now, in place of a set of manifests that a plan compares with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from policies.manifests.documents import ManifestObject
from policies.model.workload import Workload
from policies.placement.core.cluster_workloads import ClusterWorkloads
from policies.placement.core.replica_set_owner import owner_object
from webhook.cli.targets import ObjectTarget, as_manifest, fetch
from webhook.kube.api_server import ApiError, ApiServer

#: HTTP status of an object that is not there.
_NOT_FOUND: Final = 404


def find_workloads(
    wanted: Iterable[Workload], workloads: ClusterWorkloads, file: str
) -> list[ManifestObject]:
    """Return the objects of some workloads as a snapshot has them.

    A ReplicaSet is used for a workload that is not in it; of several, the one with most pods is what runs.

    Args:
        wanted: The workloads.
        workloads: Those of the snapshot.
        file: The snapshot.
    """
    by_key = {(workload.namespace, workload.kind.kind, workload.name): workload for workload in wanted}
    found: dict[tuple[str, str, str], Workload] = {}
    for entry in workloads.each():
        if entry is None:
            continue
        key = (entry.workload.namespace, entry.kind, entry.name)
        if key in by_key and (key not in found or _size(entry.workload) > _size(found[key])):
            found[key] = entry.workload
    return [as_manifest(_as(by_key[key], stored), file) for key, stored in found.items()]


def _size(workload: Workload) -> int:
    return workload.replicas or 0


def _as(wanted: Workload, stored: Workload) -> dict[str, Any]:
    if stored.kind == wanted.kind:
        return dict(stored.obj)
    return owner_object(stored.obj, wanted.obj, wanted.kind, namespace=wanted.namespace, name=wanted.name)


def fetch_workloads(wanted: Iterable[Workload], api: ApiServer) -> list[ManifestObject]:
    """Return the workloads of a live cluster; those that it does not have are left out.

    Raises:
        ClusterError: They cannot be read.
    """
    found = []
    # Several builds may describe one object.
    different = {(workload.kind, workload.namespace, workload.name): workload for workload in wanted}
    for workload in different.values():
        if not workload.name:
            continue
        try:
            found.append(fetch(ObjectTarget(workload.kind, workload.name), workload.namespace, api))
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
    return found
