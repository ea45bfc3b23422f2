"""The releases of Kubernetes: how each behaves, which fields it knows, and which of them may be named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from policies.manifests.errors import UsageError
from policies.manifests.fields import STATUS, FieldPath, list_member, member, object_items
from policies.model.constraint import ReleaseFields
from policies.model.interpod_terms import PREFERRED, REQUIRED
from policies.model.resources import is_sidecar
from policies.model.version import KNOWN_VERSION, KubernetesVersion
from policies.scheduler.release_changes import CHANGES, FIELDS, Behavior

#: The oldest release that the table describes: the first with today's wording of most reasons.
OLDEST_VERSION = KubernetesVersion(1, 24)
#: The newest release that may be named: a cluster may be newer than this program.
LAST_VERSION = KubernetesVersion(1, 99)

#: The newest release of the table. A newer one does what this does, as far as is known.
NEWEST_VERSION = max(change.since for change in CHANGES)


class LateField(StrEnum):
    """A field of a pod that came with a release, as users know it."""

    SCHEDULING_GATES = "schedulingGates"
    SIDECARS = "restartPolicy of init containers"
    MATCH_LABEL_KEYS = "matchLabelKeys of pod affinity"
    MISMATCH_LABEL_KEYS = "mismatchLabelKeys of pod affinity"
    RESIZE_STATUS = "resources in the status of containers"
    POD_RESOURCES = "resources of the pod"
    IMAGE_VOLUMES = "image of volumes"
    POD_RESIZE_STATUS = "resources in the status of the pod"


#: The fields of a pod that came with a release, and the attribute of ``Behavior`` that defines whether they
#: count.
POD_FIELDS: dict[LateField, str] = {
    LateField.SCHEDULING_GATES: "scheduling_gates",
    LateField.SIDECARS: "sidecars",
    LateField.MATCH_LABEL_KEYS: "affinity_label_keys",
    LateField.MISMATCH_LABEL_KEYS: "affinity_label_keys",
    LateField.RESIZE_STATUS: "resize_status",
    LateField.POD_RESOURCES: "pod_resources",
    LateField.IMAGE_VOLUMES: "image_volumes",
    LateField.POD_RESIZE_STATUS: "pod_resize_status",
}
#: The fields of a term of pod affinity.
_OF_TERMS = {
    "matchLabelKeys": LateField.MATCH_LABEL_KEYS,
    "mismatchLabelKeys": LateField.MISMATCH_LABEL_KEYS,
}


def late_fields(
    spec: Mapping[str, Any], path: FieldPath, status: object = None
) -> Iterator[tuple[LateField, FieldPath]]:
    """Yield the late fields that a pod has, with the path of each; what is of the wrong type has none.

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


def field_since(name: str) -> KubernetesVersion:
    """Return the first release that has a field of ``FIELDS`` or ``POD_FIELDS``."""
    flag = POD_FIELDS[name] if isinstance(name, LateField) else FIELDS[name]
    return next(change.since for change in CHANGES if change.field == flag and change.value)


def dropped_of_pod(
    spec: Mapping[str, Any], path: FieldPath, behavior: Behavior, status: object = None
) -> list[tuple[LateField, FieldPath]]:
    """Return the fields of a pod that a release drops, with the path of each; see ``late_fields``."""
    found = late_fields(spec, path, status)
    return [(name, where) for name, where in found if not getattr(behavior, POD_FIELDS[name])]


#: The values of the fields of a constraint that mean what a release does without them.
_WITHOUT: dict[str, tuple[object, ...]] = {
    "minDomains": (None, 1),
    "nodeAffinityPolicy": (None, "Honor"),
    "nodeTaintsPolicy": (None, "Ignore"),
    "matchLabelKeys": (None, []),
}


def dropped_fields(constraint: Mapping[str, Any], behavior: Behavior) -> list[str]:
    """Return the fields of a raw constraint with an effect that a release drops.

    >>> dropped_fields({"minDomains": 3, "nodeTaintsPolicy": "Ignore"}, behavior_of(OLDEST_VERSION))
    ['minDomains']
    """
    return [name for name in behavior.dropped if constraint.get(name) not in _WITHOUT[name]]


def release_fields(version: KubernetesVersion) -> ReleaseFields:
    """Return which fields of constraints a release knows, and how it reads them."""
    return fields_in(behavior_of(version), strict=version <= KNOWN_VERSION)


def fields_in(behavior: Behavior, *, strict: bool) -> ReleaseFields:
    """Return the same of what a release does, and whether a field that is not known is an error."""
    return ReleaseFields(
        strict=strict,
        dropped=frozenset(behavior.dropped),
        drops_of_pods=not all(getattr(behavior, flag) for flag in POD_FIELDS.values()),
        affinity_label_keys=behavior.affinity_label_keys,
        checks_selectors=behavior.checks_selectors,
    )


def parse_release(text: str) -> KubernetesVersion:
    """Read the release that an option or a document names.

    Raises:
        UsageError: The text is no version, or that of a release before or after all that can be known.

    >>> str(parse_release("v1.30.4-gke.1"))
    '1.30'
    """
    version = KubernetesVersion.parse(text)
    if not OLDEST_VERSION <= version <= LAST_VERSION:
        raise UsageError(
            f"Kubernetes {version} is not supported: supported versions: {OLDEST_VERSION} to {LAST_VERSION}"
        )
    return version


def judged_as(version: KubernetesVersion) -> KubernetesVersion:
    """Return the release whose behavior is used for a release: the nearest of the table.

    >>> str(judged_as(KubernetesVersion(1, 99))) == str(NEWEST_VERSION)
    True
    """
    return max(OLDEST_VERSION, min(version, NEWEST_VERSION))


def unknown_release(version: KubernetesVersion) -> str:
    """Return the warning for a release that is newer or older than the table; empty for any other.

    >>> unknown_release(NEWEST_VERSION), unknown_release(KubernetesVersion(1, 99))[:40]
    ('', 'Kubernetes 1.99 is newer than any releas')
    """
    known = judged_as(version)
    if known == version:
        return ""
    compared = "newer" if version > known else "older"
    return f"Kubernetes {version} is {compared} than any release that is known: evaluated as {known}"


def behavior_of(version: KubernetesVersion) -> Behavior:
    """Return the behavior of a release; one outside the table behaves as the nearest release does.

    >>> behavior_of(KubernetesVersion(1, 26)).min_domains
    False
    """
    return _behavior_of(version, version.patch)


# Patches are equal as versions.
@lru_cache(maxsize=128)
def _behavior_of(version: KubernetesVersion, _patch: int | None) -> Behavior:
    changed = {change.field: change.value for change in CHANGES if change.is_in(version)}
    return Behavior(**changed)
