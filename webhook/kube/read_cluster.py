"""Reads a live cluster once, with the credentials of whoever asks: into the index, or as a ``v1 List``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Final

import orjson

from policies.model.revisions import written_digest
from policies.scheduler.index import ClusterIndex
from webhook.kube.api_server import ApiError, ApiServer
from webhook.kube.list import WATCHED_RESOURCES, Resource, list_objects

#: What a rule of the linter looks at in a cluster.
NODES: Final = tuple(resource for resource in WATCHED_RESOURCES if resource.kind == "Node")
#: What a picture for later holds: also the pods that have finished or wait for a node.
EVERYTHING: Final = tuple(replace(resource, field_selector="") for resource in WATCHED_RESOURCES)

#: Where kubectl keeps a second copy of an object.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: What is kept of a container. The rest says how it is started (arguments, environment, probes), places
#: nothing, and is where people put passwords.
_CONTAINER_FIELDS: Final = frozenset({"name", "image", "ports", "resources", "restartPolicy"})
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def read_index(
    api: ApiServer,
    resources: tuple[Resource, ...] = WATCHED_RESOURCES,
    *,
    warn: Callable[[str], None],
    advance: Callable[[str], None] = lambda _kind: None,
) -> ClusterIndex:
    """Return the cluster as it is now.

    Args:
        api: Its API server.
        resources: What of it.
        warn: Told, a line at a time, what was left out because it is broken.
        advance: Told the kind of every object that was read.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    index = ClusterIndex()
    for obj in read_objects(api, resources):
        advance(obj["kind"])
        for error in index.apply(obj)[:1]:
            metadata: dict[str, Any] = obj.get("metadata") or {}
            warn(f"{obj['kind']} {metadata.get('namespace', '')}/{metadata.get('name')} is left out: {error}")
    return index


def read_objects(api: ApiServer, resources: tuple[Resource, ...]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster.

    Raises:
        ApiError: The API server refuses; says what to have granted.
        UnreachableError: There is no answer.
    """
    for resource in resources:
        try:
            yield from list_objects(api, resource)
        except ApiError as error:
            if not error.forbidden:
                raise
            text = (
                "have list granted on it in all namespaces, as the ClusterRole view and a right to nodes do"
            )
            raise ApiError(error.status, f"{error}; {text}", reason=error.reason) from error


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
        yield before + orjson.dumps(_without_secrets(obj))
        before = b",\n"
    yield b"\n]}\n"


def _without_secrets(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without what only its managers need, and what its containers are started with."""
    kept: dict[str, Any] = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    kept |= {**obj, "metadata": _metadata(obj.get("metadata"))}
    spec = obj.get("spec")
    if isinstance(spec, dict):
        template = spec.get("template")
        kept["spec"] = _pod_spec(spec)
        if isinstance(template, dict):
            kept["metadata"] = _with_annotations(kept["metadata"], written_digest(obj))
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
        kept["annotations"] = {name: text for name, text in annotations.items() if name != _LAST_APPLIED}
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
