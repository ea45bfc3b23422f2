"""Which object of a cluster is meant."""

from __future__ import annotations

from typing import NamedTuple

from policies.model.workload import Workload


class WorkloadRef(NamedTuple):
    """An object of a cluster that makes pods, or a pod.

    Attributes:
        namespace: Its namespace.
        kind: Its kind, as those who compare references write it: with or without its group.
        name: Its name.
    """

    namespace: str
    kind: str
    name: str

    @classmethod
    def of(cls, workload: Workload) -> WorkloadRef:
        """Return which object a workload is, its kind with its group."""
        return cls(workload.namespace, workload.kind.name, workload.name)
