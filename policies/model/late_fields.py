"""Fields of a pod that came with a release of Kubernetes, and where a pod has them.

Those of a constraint are in ``constraint``. What is of the wrong type has none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from policies.manifests.fields import STATUS, FieldPath, list_member, member, object_items
from policies.model.interpod_terms import PREFERRED, REQUIRED
from policies.model.resources import is_sidecar


class LateField(StrEnum):
    """A field, as users know it."""

    SCHEDULING_GATES = "schedulingGates"
    SIDECARS = "restartPolicy of init containers"
    MATCH_LABEL_KEYS = "matchLabelKeys of pod affinity"
    MISMATCH_LABEL_KEYS = "mismatchLabelKeys of pod affinity"
    RESIZE_STATUS = "resources in the status of containers"
    POD_RESOURCES = "resources of the pod"
    IMAGE_VOLUMES = "image of volumes"
    POD_RESIZE_STATUS = "resources in the status of the pod"


#: The fields of a term of pod affinity.
_OF_TERMS = {
    "matchLabelKeys": LateField.MATCH_LABEL_KEYS,
    "mismatchLabelKeys": LateField.MISMATCH_LABEL_KEYS,
}


def late_fields(
    spec: Mapping[str, Any], path: FieldPath, status: object = None
) -> Iterator[tuple[LateField, FieldPath]]:
    """Yield the fields that a pod has, with the path of each.

    Args:
        spec: The pod's spec.
        path: Where it is.
        status: The pod's status; None for a template.
    """
    if spec.get("schedulingGates"):
        yield LateField.SCHEDULING_GATES, path.child("schedulingGates")
    for position, container in enumerate(list_member(spec, "initContainers")):
        if isinstance(container, dict) and is_sidecar(container):
            yield LateField.SIDECARS, path.child("initContainers").index(position).child("restartPolicy")
    if spec.get("affinity"):
        yield from _of_affinity(spec, path.child("affinity"))
    if spec.get("resources"):
        yield LateField.POD_RESOURCES, path.child("resources")
    for position, volume in enumerate(list_member(spec, "volumes")):
        if isinstance(volume, dict) and volume.get("image"):
            yield LateField.IMAGE_VOLUMES, path.child("volumes").index(position).child("image")
    if isinstance(status, dict):
        yield from _of_status(status)


def _of_affinity(spec: Mapping[str, Any], path: FieldPath) -> Iterator[tuple[LateField, FieldPath]]:
    affinity = member(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        for strength in (REQUIRED, PREFERRED):
            for position, entry in enumerate(list_member(member(affinity, kind), strength)):
                where, term = path.child(kind, strength).index(position), entry
                if strength == PREFERRED and isinstance(entry, dict):
                    where, term = where.child("podAffinityTerm"), member(entry, "podAffinityTerm")
                if isinstance(term, dict):
                    yield from (
                        (field, where.child(name)) for name, field in _OF_TERMS.items() if term.get(name)
                    )


def _of_status(status: Mapping[str, Any]) -> Iterator[tuple[LateField, FieldPath]]:
    for name in ("containerStatuses", "initContainerStatuses"):
        if any(entry.get("resources") for entry in object_items(status.get(name))):
            yield LateField.RESIZE_STATUS, STATUS.child(name)
    if status.get("resources"):
        yield LateField.POD_RESIZE_STATUS, STATUS.child("resources")
