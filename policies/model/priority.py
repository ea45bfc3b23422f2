"""Priorities of pods, by the classes that name them.

Source: ``pkg/apis/scheduling/types.go`` and ``plugin/pkg/admission/priority/admission.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, text_member
from policies.model.object_table import ObjectTable

_PATH: Final = FieldPath()


class PriorityClass(NamedTuple):
    """A class of priorities."""

    name: str  #: Its name.
    value: int  #: The priority of its pods.
    preempts: bool = True  #: Whether its pods may have others evicted.
    is_default: bool = False  #: Whether pods without a class have it.

    @property
    def keys(self) -> tuple[str, ...]:
        """The names by which pods have it: its own, and the empty one of pods without a class."""
        return (self.name, "") if self.is_default else (self.name,)


#: The classes that every cluster has.
SYSTEM_CLASSES: Final = {
    entry.name: entry
    for entry in (
        PriorityClass("system-cluster-critical", 2_000_000_000),
        PriorityClass("system-node-critical", 2_000_001_000),
    )
}


def read_priority_class(obj: Mapping[str, Any], found: ErrorList) -> PriorityClass:
    """Read a PriorityClass; what is of the wrong type is recorded and read as absent."""
    path = _PATH.child("metadata")
    return PriorityClass(
        found.name(found.mapping(obj.get("metadata"), path), path),
        found.integer(obj.get("value"), _PATH.child("value")) or 0,
        found.text(obj.get("preemptionPolicy"), _PATH.child("preemptionPolicy")) != "Never",
        found.flag(obj.get("globalDefault"), _PATH.child("globalDefault")),
    )


def class_of(spec: Mapping[str, Any], classes: ObjectTable[PriorityClass]) -> PriorityClass | None:
    """Return the class that the API server gives a pod's priority by; None if it is not known.

    Args:
        spec: The spec of the pod.
        classes: The classes of the cluster.
    """
    if name := text_member(spec, "priorityClassName"):
        return classes.get(name) or SYSTEM_CLASSES.get(name)
    defaults = [entry for entry in classes if entry.is_default]
    return defaults[0] if defaults else None
