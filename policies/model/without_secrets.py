"""The part of an object that is kept where nothing secret may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import STORAGE_CLASS, VOLUME
from policies.model.pod_template import LAST_APPLIED
from policies.model.revisions import written_digest
from policies.model.snapshot import kind_of

#: What is kept of a container. The rest says how it is started (arguments, environment, probes), places
#: nothing, and is where people put passwords.
_CONTAINER_FIELDS: Final = frozenset({"name", "image", "ports", "resources", "restartPolicy"})
#: What is kept of a volume of a CSI driver, and what is not of a storage class: drivers may want secrets.
_CSI_FIELDS: Final = ("driver", "volumeHandle")
_CLASS_SECRETS: Final = frozenset({"parameters", "mountOptions"})
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def without_secrets(obj: Mapping[str, Any], found: ErrorList | None = None) -> dict[str, Any]:
    """Return an object without what only its managers need, and what its containers are started with.

    Args:
        obj: The object.
        found: Keeps what takes long to find out of a large one.
    """
    kept: dict[str, Any] = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    kept |= {**obj, "metadata": _metadata(obj.get("metadata"))}
    spec = obj.get("spec")
    if kind_of(obj) == STORAGE_CLASS:
        return {name: value for name, value in kept.items() if name not in _CLASS_SECRETS}
    if kind_of(obj) == VOLUME and isinstance(spec, dict) and isinstance(spec.get("csi"), dict):
        csi = {name: spec["csi"][name] for name in _CSI_FIELDS if name in spec["csi"]}
        return kept | {"spec": {**spec, "csi": csi}}
    if isinstance(spec, dict):
        template = spec.get("template")
        kept["spec"] = _pod_spec(spec)
        if isinstance(template, dict):
            kept["metadata"] = _with_annotations(kept["metadata"], written_digest(obj, found))
            kept["spec"]["template"] = {
                **template,
                "metadata": _metadata(template.get("metadata")),
                "spec": _pod_spec(template.get("spec")),
            }
    return kept


def _with_annotations(metadata: object, more: dict[str, str]) -> object:
    if not isinstance(metadata, dict) or not more:
        return metadata
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), **more}}


def _metadata(metadata: object) -> object:
    if not isinstance(metadata, dict):
        return metadata
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict):
        kept["annotations"] = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    return kept


def _pod_spec(spec: object) -> Any:
    if not isinstance(spec, dict):
        return spec
    lists = {name: spec[name] for name in _CONTAINERS if isinstance(spec.get(name), list)}
    return {**spec} | {name: list(map(_container, listed)) for name, listed in lists.items()}


def _container(container: object) -> object:
    if not isinstance(container, dict):
        return container
    return {name: value for name, value in container.items() if name in _CONTAINER_FIELDS}
