"""The fields of every request that places pods: a cluster, default constraints, a release.

The cluster comes as lists of API objects by kind, or as one ``v1 List``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, NotRequired, TypeAlias, TypedDict, TypeVar

from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    FIELD_MISSING,
    NAME,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from policies.manifests.wire import Form, Keywords, Received, document_name, members
from policies.manifests.wire_reader import Checked
from policies.model.cluster_kinds import LISTS, NODE, POD, SERVICE, Kind
from policies.model.constraint import INT32_MAX, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE
from policies.placement.core.placement import PlacementError
from policies.scheduler.configuration import DefaultingType, SchedulerConfig, argument_errors, build_profile
from policies.scheduler.index import INDEXED_KINDS, ClusterIndex
from policies.scheduler.releases import parse_release
from webhook.requests.frame import Release, objects_of

#: Objects of the Kubernetes API.
_Objects: TypeAlias = list[dict[str, Any]] | None

#: The rule that an object breaks which is in the list of another kind.
WRONG_KIND: Final = "wrong-kind"
#: The rule that an object breaks which cannot be told from others.
NAME_INVALID: Final = "name-invalid"
#: Where the cluster of a request is.
CLUSTER: Final = FieldPath(("cluster",))

#: The result of placing an object.
_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class ClusterBody(Received):
    """The objects of a cluster by kind; each may leave out its apiVersion and kind.

    Attributes:
        nodes: The nodes, each with ``metadata.name``.
        pods: The pods; their names may be left out.
        namespaces: The namespaces, each with ``metadata.name``; affinity terms select them by their labels.
        services: The Services; their names may be left out. The scheduler's default constraints use them.
        replication_controllers: The ReplicationControllers, each with ``metadata.name``, for the same.
        replica_sets: The ReplicaSets, each with ``metadata.name``, for the same.
        stateful_sets: The StatefulSets, each with ``metadata.name``, for the same.
        persistent_volume_claims: The PersistentVolumeClaims. An empty list of storage says that there are
            none; without one that matters, what becomes of claims is not modeled.
        persistent_volumes: The PersistentVolumes.
        storage_classes: The StorageClasses.
        csi_nodes: The CSINodes: how many volumes each node takes.
        csi_drivers: The CSIDrivers: whether they say how much capacity is left.
        csi_storage_capacities: The CSIStorageCapacities.
        volume_attachments: The VolumeAttachments.
        pod_disruption_budgets: The PodDisruptionBudgets with their status: preemption spares what they
            protect.
        priority_classes: The PriorityClasses, for pods that name one and have no ``spec.priority``.
    """

    nodes: _Objects = None
    pods: _Objects = None
    namespaces: _Objects = None
    services: _Objects = None
    replication_controllers: _Objects = None
    replica_sets: _Objects = None
    stateful_sets: _Objects = None
    persistent_volume_claims: _Objects = None
    persistent_volumes: _Objects = None
    storage_classes: _Objects = None
    csi_nodes: _Objects = None
    csi_drivers: _Objects = None
    csi_storage_capacities: _Objects = None
    volume_attachments: _Objects = None
    pod_disruption_budgets: _Objects = None
    priority_classes: _Objects = None


def _check_list_kind(kind: str, path: FieldPath, found: ErrorList) -> None:
    if not kind.endswith("List"):
        found.add(unsupported_value(path, kind, ["List"], WRONG_KIND))


@dataclass(frozen=True, kw_only=True)
class ClusterList(Received):
    """The output of ``kubectl get nodes,pods,services,rc,rs,sts,ns -A -o json``.

    With ``pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments,pdb,pc`` it has volumes and
    priorities too.

    Attributes:
        api_version: Its version.
        kind: ``List``, or of one kind, such as ``PodList``.
        metadata: Not used.
        items: The objects; those of other kinds are passed over.
    """

    api_version: str | None = None
    kind: Annotated[str, Keywords(pattern="List$"), Checked(_check_list_kind)]
    metadata: object = None
    items: _Objects


#: What the objects of each list are, by attribute: their apiVersion and kind, which they may leave out.
_LISTS: Final[dict[str, Kind]] = {
    entry.attribute: LISTS[document_name(entry.attribute)] for entry in members(ClusterBody)
}
#: The kinds that nothing refers to by name: in a request they may be without one.
NAMELESS_KINDS: Final = frozenset({POD, SERVICE})


def index_cluster(
    cluster: ClusterBody | ClusterList,
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
    if isinstance(cluster, ClusterList):
        listed = _listed(cluster, path, found)
    else:
        listed = _by_kind(cluster, path, found)
        index.list_kinds(kind for name, kind in _LISTS.items() if getattr(cluster, name) is not None)
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
    cluster: ClusterBody, path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a cluster with their paths, each with apiVersion and kind."""
    for name, wanted in _LISTS.items():
        for where, obj in objects_of(getattr(cluster, name) or [], path.child(document_name(name)), found):
            _fill_in(obj, wanted)
            if (obj["apiVersion"], obj["kind"]) == wanted:
                yield where, obj
            elif not found.has_enough(WRONG_KIND):
                found.add(_wrong_kind(where, wanted, obj))


def _listed(
    cluster: ClusterList, path: FieldPath, found: ErrorList
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a List, or of a typed one (``PodList``), whose items may leave out their kind."""
    item_kind = cluster.kind.removesuffix("List")
    for where, obj in objects_of(cluster.items or [], path.child("items"), found):
        if item_kind:
            _fill_in(obj, (cluster.api_version, item_kind))
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


class DefaultConstraint(TypedDict):
    """One default constraint; its selector is deduced for each pod.

    Attributes:
        maxSkew: How many more matching pods a domain may have than the global minimum.
        topologyKey: The node label whose values are the domains.
        whenUnsatisfiable: Whether it filters nodes or scores them.
        minDomains: With fewer eligible domains than this the global minimum is 0.
        nodeAffinityPolicy: Whether nodes outside the pod's node affinity are left out.
        nodeTaintsPolicy: Whether nodes with untolerated taints are left out.
        matchLabelKeys: Keys whose value on the pod narrows the selector.
    """

    maxSkew: Annotated[int, Keywords(minimum=1, maximum=INT32_MAX)]
    topologyKey: str
    whenUnsatisfiable: WhenUnsatisfiable
    minDomains: NotRequired[int | None]
    nodeAffinityPolicy: NotRequired[NodeInclusionPolicy | None]
    nodeTaintsPolicy: NotRequired[NodeInclusionPolicy | None]
    matchLabelKeys: NotRequired[list[str] | None]


class DefaultsBody(TypedDict):
    """The arguments of PodTopologySpread, in place of the server's policies and configuration.

    Attributes:
        defaultingType: Whether the scheduler's own default constraints hold, or those of the list.
        defaultConstraints: The list.
    """

    defaultingType: NotRequired[DefaultingType | None]
    defaultConstraints: NotRequired[list[DefaultConstraint] | None]


def _check_defaults(arguments: Mapping[str, Any], path: FieldPath, found: ErrorList) -> None:
    found.unknown(arguments, path, known=DefaultsBody.__annotations__.keys())
    found.extend(argument_errors(arguments, path))


@dataclass(frozen=True, kw_only=True)
class PlacementFields(Received):
    """The inputs by which pods are scheduled; the server's own for those that are left out.

    Attributes:
        cluster: The cluster: objects by kind, or a List.
        defaults: The default constraints of the scheduler.
        kubernetes_version: The release to behave as, such as ``1.36``.
    """

    cluster: ClusterBody | ClusterList | None = None
    # Read as kube-scheduler reads them.
    defaults: Annotated[dict[str, Any], Form(DefaultsBody), Checked(_check_defaults)] | None = None
    kubernetes_version: Release | None = None

    def context(
        self,
        server: AdmissionContext,
        found: ErrorList,
        seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    ) -> AdmissionContext:
        """Return the server's context, with everything that the request brings.

        Where neither has a cluster, which is an error, it is an empty one.

        Args:
            server: What holds where the request leaves something out.
            found: Takes what is wrong with the cluster.
            seen: Shown every object of the request's cluster, also of kinds that are not indexed.
        """
        if self.cluster is not None:
            cluster = index_cluster(self.cluster, CLUSTER, found, seen)
        elif server.cluster is not None:
            cluster = server.cluster
        else:
            text, cluster = "no cluster is connected, so the request must bring its own", ClusterIndex()
            found.add(required_value(CLUSTER, text, FIELD_MISSING))
        context = replace(server, cluster=cluster)
        if self.kubernetes_version:
            context = replace(context, kubernetes_version=parse_release(self.kubernetes_version))
        if self.defaults is not None:
            scheduler = SchedulerConfig({}, fallback=build_profile(self.defaults))
            context = replace(context, scheduler=scheduler, policies=())
        return context


def filled_in(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with what a pod may leave out here, as the objects of the cluster may."""
    if obj and obj.get("kind") in (None, "Pod") and obj.get("apiVersion") is None:
        return obj | {"apiVersion": "v1", "kind": "Pod"}
    return obj


def try_placing(place: Callable[[], _Result], at: FieldPath, found: ErrorList) -> _Result | None:
    """Place an object of a request; None if Kubernetes would refuse it.

    Args:
        place: Places it and returns the result, or raises PlacementError.
        at: Where the object is.
        found: Takes what is wrong with it.
    """
    try:
        return place()
    except PlacementError as error:
        found.extend(replace(entry, path=at + entry.path) for entry in error.errors)
        return None
