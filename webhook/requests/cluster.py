"""The cluster of a request: its objects as lists by kind, or as one ``v1 List``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeAlias

from policies.manifests.fields import (
    NAME,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    objects_at,
    required_value,
)
from policies.manifests.wire import Keywords, Received
from policies.model.cluster_kinds import LISTS, NODE, POD, SERVICE
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex

#: Objects of the Kubernetes API.
_Objects: TypeAlias = list[dict[str, Any]] | None

#: The rule that an object breaks which is in the list of another kind.
WRONG_KIND: Final = "wrong-kind"
#: The rule that an object breaks which cannot be told from others.
NAME_INVALID: Final = "name-invalid"


@dataclass(frozen=True, kw_only=True)
class ClusterBody(Received):
    """The objects of a cluster by kind; each may leave out its apiVersion and kind."""

    nodes: _Objects = None  #: The nodes, each with ``metadata.name``.
    pods: _Objects = None  #: The pods; their names may be left out.
    #: The namespaces, each with ``metadata.name``; affinity terms select them by their labels.
    namespaces: _Objects = None
    #: The Services; their names may be left out. The scheduler's default constraints use them.
    services: _Objects = None
    #: The ReplicationControllers, each with ``metadata.name``, for the same.
    replication_controllers: _Objects = None
    replica_sets: _Objects = None  #: The ReplicaSets, each with ``metadata.name``, for the same.
    stateful_sets: _Objects = None  #: The StatefulSets, each with ``metadata.name``, for the same.
    #: The PersistentVolumeClaims. An empty list of storage says that there are none; without one that
    #: matters, what becomes of claims is not modeled.
    persistent_volume_claims: _Objects = None
    persistent_volumes: _Objects = None  #: The PersistentVolumes.
    storage_classes: _Objects = None  #: The StorageClasses.
    csi_nodes: _Objects = None  #: The CSINodes: how many volumes each node takes.
    csi_drivers: _Objects = None  #: The CSIDrivers: whether they say how much capacity is left.
    csi_storage_capacities: _Objects = None  #: The CSIStorageCapacities.
    volume_attachments: _Objects = None  #: The VolumeAttachments.
    #: The PodDisruptionBudgets with their status: preemption spares what they protect.
    pod_disruption_budgets: _Objects = None
    #: The PriorityClasses, for pods that name one and have no ``spec.priority``.
    priority_classes: _Objects = None


@dataclass(frozen=True, kw_only=True)
class ClusterList(Received):
    """The output of ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json``.

    With ``pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments,pdb,pc`` it has volumes and
    priorities too.
    """

    api_version: str | None = None  #: Its version.
    #: ``List``, or of one kind, such as ``PodList``.
    kind: Annotated[str, Keywords(pattern=r"List$(?!\n)", title="List or that of a kind, as in PodList")]
    metadata: object = None  #: Not used.
    items: _Objects  #: The objects; those of other kinds are passed over.


#: The kinds that nothing refers to by name: in a request they may be without one.
NAMELESS_KINDS: Final = frozenset({POD, SERVICE})


def index_cluster(
    cluster: Mapping[str, Any],
    path: FieldPath,
    found: ErrorList,
    seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
) -> ClusterIndex:
    """Return the index of a request's cluster, without what is broken.

    In a ``v1 List`` objects of other kinds are only seen, since kubectl prints all that was requested.

    Args:
        cluster: The cluster. Objects without apiVersion and kind get them.
        path: Where it is.
        found: Has what is no object, and takes what else is wrong.
        seen: Shown every object but those that are broken.
    """
    index = ClusterIndex()
    names: set[tuple[str, str, str]] = set()
    if "items" in cluster:
        listed = _listed(cluster, path)
    else:
        listed = _by_kind(cluster, path, found)
        index.list_kinds(kind for name, kind in LISTS.items() if cluster.get(name) is not None)
    for where, obj in listed:
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


def _by_kind(
    cluster: Mapping[str, Any], path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a cluster with their paths, each with apiVersion and kind."""
    for name, wanted in LISTS.items():
        for where, obj in objects_at(cluster.get(name), path.child(name)):
            _fill_in(obj, wanted)
            if (obj["apiVersion"], obj["kind"]) == wanted:
                yield where, obj
            elif not found.has_enough(WRONG_KIND):
                found.add(_wrong_kind(where, wanted, obj))


def _listed(cluster: Mapping[str, Any], path: FieldPath) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a List, or of a typed one (``PodList``), whose items may leave out their kind."""
    item_kind = cluster["kind"].removesuffix("List")
    for where, obj in objects_at(cluster["items"], path.child("items")):
        if item_kind:
            _fill_in(obj, (cluster.get("apiVersion"), item_kind))
        yield where, obj


def _fill_in(obj: dict[str, Any], kind: tuple[Any, str]) -> None:
    for name, value in zip(("apiVersion", "kind"), kind, strict=True):
        if obj.get(name) in (None, ""):
            obj[name] = value


def _name_by_place(obj: dict[str, Any], where: FieldPath) -> None:
    """Give an object without a name one that no object can have: where it is."""
    metadata = obj.get("metadata")
    if metadata is None or (isinstance(metadata, dict) and metadata.get("name") in (None, "")):
        obj["metadata"] = (metadata or {}) | {"name": str(where)}


def _wrong_kind(where: FieldPath, wanted: tuple[str, str], obj: dict[str, Any]) -> FieldError:
    kind = f"{obj['apiVersion']} {obj['kind']}"
    return invalid_value(where.child("kind"), kind, f"must be {wanted[0]} {wanted[1]}", WRONG_KIND)


def _name_errors(obj: dict[str, Any], seen: set[tuple[str, str, str]]) -> list[FieldError]:
    """Return the errors that keep an object of the right shape from being identified."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name")
    if not name:
        return [required_value(NAME, "", NAME_INVALID)]
    namespace = "" if kind_of(obj) == NODE else metadata.get("namespace") or DEFAULT_NAMESPACE
    key = (obj["kind"], namespace, name)
    if key in seen:
        return [duplicate_value(NAME, name, NAME_INVALID)]
    seen.add(key)
    return []


def filled_in(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with what a pod may leave out here, as the objects of the cluster may."""
    if obj and obj.get("kind") in (None, "Pod") and obj.get("apiVersion") is None:
        return obj | {"apiVersion": "v1", "kind": "Pod"}
    return obj
