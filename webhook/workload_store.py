"""The workloads of a watched cluster beside its index."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

from policies.manifests.fields import ErrorList, FieldError, member
from policies.model.cluster_kinds import POD
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.snapshot import SELECTING_OWNERS, identity, kind_of, without_secrets
from policies.model.workload_kinds import WorkloadKinds
from policies.scheduler.index import ClusterIndex

#: What is missing among the workloads of a live cluster, of which ReplicaSets, ReplicationControllers and
#: StatefulSets are read, in the words of the answers.
UNWATCHED_KINDS: Final = (
    "Not looked at: Deployments scaled to zero, and custom resources that make pods without ReplicaSets, "
    "such as CloneSets"
)
_PENDING_PODS: Final = (
    "Pending pods are not watched: their number is what controllers report, less the pods that have a node"
)


def followed_workloads(kinds: WorkloadKinds, *, pending_pods: bool) -> ClusterWorkloads:
    """Return the store for the workloads of a watched cluster.

    Args:
        kinds: The kinds that make pods.
        pending_pods: Whether pods without a node are followed, too.
    """
    unread = (UNWATCHED_KINDS,) if pending_pods else (UNWATCHED_KINDS, _PENDING_PODS)
    return ClusterWorkloads(kinds, bound_only=not pending_pods, unread=unread)


class WorkloadStore:
    """An index, and the workloads of its cluster: of each what its pods are made of, and nothing secret.

    A child process reads the workloads without a lock, for no thread changes its copy.
    """

    def __init__(self, index: ClusterIndex, workloads: ClusterWorkloads) -> None:
        self._index = index
        self._workloads = workloads
        self._lock = threading.Lock()

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Add an object or replace it; return why it is left out."""
        found = ErrorList()
        errors, kind = self._index.apply(obj, found), kind_of(obj)
        if kind == POD and not self._workloads.bound_only:
            with self._lock:
                self._workloads(obj)
        elif kind in SELECTING_OWNERS and errors:
            self._forget(kind[1], *identity(obj))
        elif kind in SELECTING_OWNERS:
            status = {"replicas": member(obj, "status").get("replicas")}
            kept = {**without_secrets(obj, found), "status": status}
            with self._lock:
                self._workloads(kept, found)
        return errors

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there is passed over."""
        self._index.remove(api_version, kind, namespace, name)
        if (api_version, kind) == POD or (api_version, kind) in SELECTING_OWNERS:
            self._forget(kind, namespace, name)

    def names(self, kind: tuple[str, str]) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind; of pods, also of those that are pending."""
        names = self._index.names(kind)
        if kind == POD:
            with self._lock:
                names |= self._workloads.pending_pods()
        return names

    def count(self, kind: tuple[str, str]) -> int:
        """Return how many objects of a kind there are."""
        return self._index.count(kind)

    def set_unread(self, kind: tuple[str, str], why: str) -> None:
        """Take note why the objects of a kind cannot be read; empty: all are known."""
        self._index.set_unread(kind, why)

    def workloads(self) -> ClusterWorkloads:
        """Return the workloads as they are now; events go on meanwhile."""
        with self._lock:
            return self._workloads.copy()

    def _forget(self, kind: str, namespace: str, name: str) -> None:
        with self._lock:
            if kind == POD[1]:
                self._workloads.remove_pod(namespace, name)
            else:
                self._workloads.remove(kind, namespace, name)
