"""Which object of a cluster is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.model.workload import DEFAULT_NAMESPACE, Workload


class WorkloadRef(NamedTuple):
    """An object of a cluster that makes pods, or a pod."""

    namespace: str  #: Its namespace.
    kind: str  #: Its kind, as those who compare references write it: with or without its group.
    name: str  #: Its name.

    @classmethod
    def of(cls, workload: Workload) -> WorkloadRef:
        """Return which object a workload is, its kind with its group."""
        return cls(workload.namespace, workload.kind.name, workload.name)


def with_namespace(obj: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
    """Return an object in a namespace if it names none itself."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace or DEFAULT_NAMESPACE}}
