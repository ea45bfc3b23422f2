"""The cluster that a score request brings along: lists of API objects by kind, or one ``v1 List``.

Unlike in a file, a broken object is an error: whoever sends a request is there to mend it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict

from policies.config.type_schema import Keywords
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE
from policies.scheduler.index import INDEXED_KINDS, NODE, POD, ClusterIndex

#: Objects of the Kubernetes API.
_Objects: TypeAlias = list[dict[str, Any]] | None


class ClusterBody(TypedDict):
    """The objects of a cluster by kind; each may leave out its apiVersion and kind.

    Attributes:
        nodes: The nodes, each with ``metadata.name``.
        pods: The pods; their names may be left out.
        namespaces: The namespaces, each with ``metadata.name``; affinity terms select them by their labels.
        services: The Services; their names may be left out. The scheduler's default constraints use them.
        replicationControllers: The ReplicationControllers, each with ``metadata.name``, for the same.
        replicaSets: The ReplicaSets, each with ``metadata.name``, for the same.
        statefulSets: The StatefulSets, each with ``metadata.name``, for the same.
    """

    nodes: NotRequired[_Objects]
    pods: NotRequired[_Objects]
    namespaces: NotRequired[_Objects]
    services: NotRequired[_Objects]
    replicationControllers: NotRequired[_Objects]
    replicaSets: NotRequired[_Objects]
    statefulSets: NotRequired[_Objects]


class ClusterList(TypedDict):
    """What ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json`` prints.

    Attributes:
        apiVersion: Its version.
        kind: ``List``, or of one kind, such as ``PodList``.
        metadata: Not used.
        items: The objects; those of other kinds are passed over.
    """

    apiVersion: NotRequired[str | None]
    kind: Annotated[str, Keywords(pattern="List$")]
    metadata: NotRequired[object]
    items: _Objects


#: The lists of a cluster, with the apiVersion and kind that their objects may leave out.
LISTS = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "namespaces": ("v1", "Namespace"),
    "services": ("v1", "Service"),
    "replicationControllers": ("v1", "ReplicationController"),
    "replicaSets": ("apps/v1", "ReplicaSet"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}
#: The kinds that nothing refers to by name: in a request they may be without one.
NAMELESS_KINDS = frozenset({POD, LISTS["services"]})
#: The fields by which a v1 List is told from an object of lists.
LIST_FIELDS = ("apiVersion", "kind", "items")

#: The rule that an object breaks which stands in the list of another kind.
WRONG_KIND = "wrong-kind"
#: The rule that an object breaks which cannot be told from others.
NAME_INVALID = "name-invalid"

_METADATA = FieldPath(("metadata",))
_NAME = _METADATA.child("name")


def read_cluster(
    raw: object,
    path: FieldPath,
    found: ErrorList,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> ClusterIndex:
    """Return the index of a request's cluster, without what is broken.

    In a ``v1 List`` objects of other kinds are only seen, since kubectl prints whatever it was asked for.

    Args:
        raw: The cluster as it came. Objects without apiVersion and kind get them.
        path: Where it stands.
        found: Takes what is wrong.
        seen: Shown every object but those that are broken.
    """
    index = ClusterIndex()
    names: set[tuple[str, str, str]] = set()
    for where, obj in _objects(found.mapping(raw, path), path, found):
        if kind_of(obj) not in INDEXED_KINDS:
            seen(obj)
            continue
        if kind_of(obj) in NAMELESS_KINDS:
            _name_by_place(obj, where)
        errors = index.apply(obj) or _name_errors(obj, names)
        if not errors:
            seen(obj)
        found.extend(replace(error, path=where + error.path) for error in errors)
        if found.full:
            break
    return index


def _objects(
    cluster: dict[str, Any], path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a cluster with their paths, each with apiVersion and kind."""
    if any(name in cluster for name in LIST_FIELDS):
        yield from _listed(cluster, path, found)
        return
    found.unknown(cluster, path, known=LISTS.keys())
    for name, wanted in LISTS.items():
        for where, obj in found.objects(cluster.get(name), path.child(name)):
            _fill_in(obj, wanted)
            if (obj["apiVersion"], obj["kind"]) == wanted:
                yield where, obj
            else:
                found.add(_wrong_kind(where, wanted, obj))


def _listed(
    cluster: dict[str, Any], path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a List, or of a typed one (``PodList``), whose items may leave out their kind."""
    kind = found.text(cluster.get("kind"), path.child("kind"))
    if not kind.endswith("List") and isinstance(cluster.get("kind"), str | None):
        found.add(unsupported_value(path.child("kind"), kind, ["List"], WRONG_KIND))
        return
    item_kind = kind.removesuffix("List")
    for where, obj in found.objects(cluster.get("items"), path.child("items")):
        if item_kind:
            _fill_in(obj, (cluster.get("apiVersion"), item_kind))
        yield where, obj


def _fill_in(obj: dict[str, Any], kind: tuple[Any, str]) -> None:
    for name, value in zip(("apiVersion", "kind"), kind, strict=True):
        if obj.get(name) in (None, ""):
            obj[name] = value


def _name_by_place(obj: dict[str, Any], where: FieldPath) -> None:
    """Let an object without a name be called what no object can be: where it stands."""
    metadata = obj.get("metadata")
    if metadata is None or (isinstance(metadata, dict) and metadata.get("name") in (None, "")):
        obj["metadata"] = (metadata or {}) | {"name": str(where)}


def _wrong_kind(where: FieldPath, wanted: tuple[str, str], obj: dict[str, Any]) -> FieldError:
    kind = f"{obj['apiVersion']} {obj['kind']}"
    return invalid_value(where.child("kind"), kind, f"must be {wanted[0]} {wanted[1]}", WRONG_KIND)


def _name_errors(obj: dict[str, Any], seen: set[tuple[str, str, str]]) -> list[FieldError]:
    """Return what keeps an object of the right shape from being told from others."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        return [required_value(_NAME, "", NAME_INVALID)]
    namespace = "" if kind_of(obj) == NODE else metadata.get("namespace") or DEFAULT_NAMESPACE
    key = (obj["kind"], namespace, name)
    if key in seen:
        return [duplicate_value(_NAME, name, NAME_INVALID)]
    seen.add(key)
    return []
