"""The text of a snapshot, and the part of an object that is kept where nothing secret may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, Final

import orjson

from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import STORAGE_CLASS, VOLUME
from policies.model.pod_template import LAST_APPLIED
from policies.model.revisions import written_digest
from policies.model.snapshot import kind_of

#: The type of the object with which a snapshot of ours says when it was taken. No API server has it.
SNAPSHOT_TIME: Final = {"apiVersion": "snapshot.evenkeel.dev/v1", "kind": "SnapshotTime"}
#: The type of the object with which a snapshot of ours says which kinds are complete, and which are missing.
SNAPSHOT_LISTS: Final = {"apiVersion": "snapshot.evenkeel.dev/v1", "kind": "SnapshotLists"}
#: What is kept of a container. The rest says how it is started (arguments, environment, probes), places
#: nothing, and is where people put passwords.
_CONTAINER_FIELDS: Final = frozenset({"name", "image", "ports", "resources", "restartPolicy"})
#: What is kept of a volume of a CSI driver, and what is not of a storage class: drivers may want secrets.
_CSI_FIELDS: Final = ("driver", "volumeHandle")
_CLASS_SECRETS: Final = frozenset({"parameters", "mountOptions"})
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def snapshot_time(taken: datetime) -> dict[str, Any]:
    """Return the object that says when a snapshot was taken: the newest time that it mentions is its own.

    >>> snapshot_time(datetime(2026, 1, 2, tzinfo=UTC))["metadata"]
    {'creationTimestamp': '2026-01-02T00:00:00Z'}
    """
    time = taken.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**SNAPSHOT_TIME, "metadata": {"creationTimestamp": time}}


def snapshot_lists(lists: Mapping[str, str]) -> dict[str, Any]:
    """Return the object that says what a snapshot holds: a list that is read and empty has no objects.

    Args:
        lists: Why each list could not be read, by the field of a request; empty for one that was.

    >>> found = snapshot_lists({"nodes": "", "csiNodes": "no right to list csinodes.storage.k8s.io"})
    >>> found["read"], found["notRead"]
    (['nodes'], {'csiNodes': 'no right to list csinodes.storage.k8s.io'})
    """
    read = [name for name, why in lists.items() if not why]
    return {**SNAPSHOT_LISTS, "read": read, "notRead": {name: why for name, why in lists.items() if why}}


def written_list(objects: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    r"""Yield the text of a ``v1 List`` piece by piece, an object a line, without what may be secret.

    >>> b"".join(written_list(iter([{"kind": "Node", "metadata": {"managedFields": []}}])))
    b'{"apiVersion":"v1","kind":"List","items":[\n{"kind":"Node","metadata":{}}\n]}\n'
    """
    # Nothing is written before the cluster has answered.
    first = list(islice(objects, 1))
    yield b'{"apiVersion":"v1","kind":"List","items":['
    before = b"\n"
    for obj in chain(first, objects):
        yield before + orjson.dumps(without_secrets(obj))
        before = b",\n"
    yield b"\n]}\n"


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
