"""The workloads of a followed cluster, which reflectors keep beside its index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.manifests.fields import FieldError, member
from policies.model.snapshot import SELECTING_OWNERS, kind_of
from policies.placement.cluster_workloads import ClusterWorkloads
from policies.scheduler.index import ClusterIndex
from webhook.kube.snapshot import without_secrets

#: What an audit of a followed cluster does not see, in the words of its answer.
NOT_FOLLOWED: Final = (
    "Custom resources that make pods without ReplicaSets, such as CloneSets, are not watched and not audited",
    "Pending pods are not watched: their number is what controllers report, less the pods that have a node",
)


class WorkloadStore:
    """An index, and the workloads of its cluster: of each what its pods are made of, and nothing secret.

    There is no lock: whoever reads the workloads does so in a child process, whose copy no thread changes.
    """

    def __init__(self, index: ClusterIndex, workloads: ClusterWorkloads) -> None:
        self._index = index
        self._workloads = workloads

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object or replace it; return why it is left out."""
        errors = self._index.apply(obj)
        if kind_of(obj) in SELECTING_OWNERS:
            if errors:
                metadata = member(obj, "metadata")
                self._workloads.remove(
                    obj["kind"], str(metadata.get("namespace") or ""), str(metadata.get("name"))
                )
            else:
                status = {"replicas": member(obj, "status").get("replicas")}
                self._workloads({**without_secrets(dict(obj)), "status": status})
        return errors

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there is passed over."""
        self._index.remove(api_version, kind, namespace, name)
        if (api_version, kind) in SELECTING_OWNERS:
            self._workloads.remove(kind, namespace, name)

    def names(self, kind: tuple[str, str]) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind."""
        return self._index.names(kind)

    def count(self, kind: tuple[str, str]) -> int:
        """Return how many objects of a kind there are."""
        return self._index.count(kind)
