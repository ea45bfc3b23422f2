"""The workloads of a live cluster, kept in sync for audits: of each what its pods are made of."""

from __future__ import annotations

from typing import Any, Final

from policies.manifests.fields import member
from policies.model.snapshot import SELECTING_OWNERS, kind_of
from policies.model.workload_kinds import WorkloadKinds
from policies.placement.cluster_workloads import ClusterWorkloads
from webhook.kube.snapshot import without_secrets

#: What an audit of the cache does not see, in the words of its answer.
NOT_CACHED: Final = (
    "Custom resources that make pods without ReplicaSets, such as CloneSets, are not watched and not audited",
    "Pending pods are not watched: their number is what controllers report, less the pods that have a node",
)


class WorkloadCache:
    """Follows the controllers of a cluster; each thread that applies events has kinds of its own.

    A request is answered in a child process, whose copy no thread changes, so there is no lock.

    Attributes:
        workloads: The workloads.
    """

    def __init__(self) -> None:
        self.workloads = ClusterWorkloads(WorkloadKinds(), bound_only=True, unread=NOT_CACHED)

    def apply(self, obj: dict[str, Any]) -> None:
        """Add a controller, or replace it; other kinds are passed over."""
        if kind_of(obj) in SELECTING_OWNERS:
            status = member(obj, "status").get("replicas")
            self.workloads({**without_secrets(obj), "status": {"replicas": status}})

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove an object; one that is not there changes nothing."""
        self.workloads.remove(kind, namespace, name)
