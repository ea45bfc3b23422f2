"""The parts of a pod, or of a pod template, that spreading looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.fields import ErrorList, FieldPath
from policies.model.workload import WorkloadKind, descend

#: The annotation of a static pod's mirror; the kubelet creates it, and nothing may change it.
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that an object belongs to."""

    api_version: str
    kind: str
    name: str


class PodPart(NamedTuple):
    """A pod or a pod template, as it was read.

    Attributes:
        labels: Its labels.
        annotations: Its annotations.
        constraints: ``topologySpreadConstraints`` of any type, as it came; None if absent or null.
        scheduler_name: Which profile schedules it.
        exists: Whether there is a pod spec at all; a Rollout may refer to a Deployment instead.
    """

    labels: dict[str, str]
    annotations: dict[str, str]
    constraints: object
    scheduler_name: str
    exists: bool


def read_pod_part(obj: Mapping[str, Any], kind: WorkloadKind, found: ErrorList) -> PodPart:
    """Read the pod part of an object, recording what is of the wrong type."""
    template = descend(obj, kind.template, found)
    at = FieldPath(kind.template)
    metadata = _member(template, "metadata", at, found)
    spec = _member(template, "spec", at, found)
    return PodPart(
        labels=_labels(metadata, "labels", at, found),
        annotations=_labels(metadata, "annotations", at, found),
        constraints=spec.get("topologySpreadConstraints"),
        scheduler_name=scheduler if isinstance(scheduler := spec.get("schedulerName"), str) else "",
        exists=bool(spec),
    )


def controller_of(metadata: Mapping[str, Any]) -> Owner | None:
    """Return the owner that controls an object; None if none does or the references are no such list."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            api_version, kind, name = (reference.get(key) for key in ("apiVersion", "kind", "name"))
            if isinstance(api_version, str) and isinstance(kind, str) and isinstance(name, str):
                return Owner(api_version, kind, name)
    return None


def _member(parent: dict[str, Any], name: str, at: FieldPath, found: ErrorList) -> dict[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else found.mapping(value, at.child(name))


def _labels(metadata: dict[str, Any], name: str, at: FieldPath, found: ErrorList) -> dict[str, str]:
    raw = metadata.get(name)
    return {} if raw is None else found.labels(raw, at.child("metadata", name))
