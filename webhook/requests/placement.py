"""The fields of every request that places pods: a cluster, default constraints, a release, an autoscaler.

How many pods one may have goes by the nodes that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, TypeVar

from planning.autoscaler import sources
from planning.simulation.node_source import NodeSource
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.config.node_groups import MOST_GROUPS
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    invalid_value,
    objects_at,
    required_value,
)
from policies.manifests.wire import Form, Keywords, Received
from policies.manifests.words import plural
from policies.model.cluster_kinds import LIST_NAMES, OPTIONAL_KINDS
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.constraint import INT32_MAX, NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.replica_sources import ReplicaSources
from policies.pods.known_pods import KnownPods
from policies.pods.placement import PlacementError
from policies.scheduler.configuration import DefaultingType, SchedulerConfig, argument_errors, build_profile
from policies.scheduler.index import ClusterIndex
from policies.scheduler.releases import parse_release
from webhook.requests.cluster import ClusterBody, ClusterList, index_cluster
from webhook.requests.frame import ApiObject, RequestError, check_release, refuse

#: Where the cluster of a request is.
CLUSTER: Final = FieldPath(("cluster",))

#: The result of placing an object.
_Result = TypeVar("_Result")
#: What one request may cost: each pod costs its nodes, and besides as much as ``POD_COST`` of them. It takes
#: some seconds on a machine that does nothing else, which is less than the timeout of a request.
MOST_WORK: Final = 10_000_000
POD_COST: Final = 1_000
#: What each pod costs besides for each node group that may get nodes, as ``POD_COST``.
GROUP_COST: Final = 500


class DefaultConstraint(TypedDict):
    """One default constraint; its selector is deduced for each pod."""

    #: How many more matching pods a domain may have than the global minimum.
    maxSkew: Annotated[int, Keywords(minimum=1, maximum=INT32_MAX)]
    topologyKey: str  #: The node label whose values are the domains.
    whenUnsatisfiable: WhenUnsatisfiable  #: Whether it filters nodes or scores them.
    minDomains: NotRequired[int | None]  #: With fewer eligible domains than this the global minimum is 0.
    #: Whether nodes outside the pod's node affinity are left out.
    nodeAffinityPolicy: NotRequired[NodeInclusionPolicy | None]
    #: Whether nodes with untolerated taints are left out.
    nodeTaintsPolicy: NotRequired[NodeInclusionPolicy | None]
    matchLabelKeys: NotRequired[list[str] | None]  #: Keys whose value on the pod narrows the selector.


class DefaultsBody(TypedDict):
    """The arguments of PodTopologySpread, in place of the server's policies and configuration."""

    #: Whether the scheduler's own default constraints hold, or those of the list.
    defaultingType: NotRequired[DefaultingType | None]
    defaultConstraints: NotRequired[list[DefaultConstraint] | None]  #: The list.


@dataclass(frozen=True, kw_only=True)
class PlacementFields(Received):
    """The inputs by which pods are scheduled; the server's own for those that are left out."""

    # Its lists are read as they are.
    #: The cluster: objects by kind, or a List.
    cluster: Annotated[dict[str, Any], Form(ClusterBody | ClusterList)] | None = None
    # Read as kube-scheduler reads them.
    #: The default constraints of the scheduler.
    defaults: Annotated[dict[str, Any], Form(DefaultsBody)] | None = None
    kubernetes_version: str | None = None  #: The release to behave as, such as ``1.36``.

    def check(self, found: ErrorList) -> None:
        """Record what kube-scheduler would refuse, and a release that is none."""
        if self.defaults is not None:
            found.extend(argument_errors(self.defaults, FieldPath(("defaults",))))
        check_release(self.kubernetes_version, found)

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

    def state(
        self, server: AdmissionContext, known: KnownPods, found: ErrorList
    ) -> tuple[AdmissionContext, KnownPods]:
        """Return what ``context`` does, and what is known of the pods of its cluster.

        Args:
            server: What holds where the request leaves something out.
            known: What is known of the pods of the server's cluster.
            found: Takes what is wrong with the cluster.
        """
        if self.cluster is None:
            return self.context(server, found), known
        objects: list[dict[str, Any]] = []
        known = KnownPods(lambda: objects, now=0.0)
        context = self.context(server, found, objects.append)
        for obj in objects:
            known(obj)
        return context, known


def unread_kinds(cluster: ClusterIndex) -> tuple[str, ...]:
    """Return the kinds of a cluster that were not read, as kubectl names them."""
    return tuple(LIST_NAMES[kind].lower() for kind in OPTIONAL_KINDS if not cluster.knows(kind))


def cluster_state(
    request: PlacementFields,
    server: AdmissionContext,
    known: KnownPods,
    workloads: ClusterWorkloads | None,
    found: ErrorList,
) -> ClusterState:
    """Return the cluster of a request, or else the server's own.

    Args:
        request: The request.
        server: What holds where it leaves something out.
        known: What is known of the pods of the server's cluster.
        workloads: The workloads of that; None without one.
        found: Takes what is wrong with the cluster.
    """
    own = workloads
    if request.cluster is not None:
        objects: list[dict[str, Any]] = []
        known = KnownPods(lambda: objects, now=0.0)
        own, sources = ClusterWorkloads(server.kinds, every_kind=True), ReplicaSources()
        context = request.context(server, found, objects.append)
        for obj in objects:
            known(obj)
            own(obj)
            sources(obj)
        context = replace(context, replica_sources=sources)
    else:
        context = request.context(server, found)
    cluster = context.cluster or ClusterIndex()
    return ClusterState(
        context=context,
        known=known,
        workloads=own or ClusterWorkloads(server.kinds, every_kind=True),
        unread=unread_kinds(cluster),
    )


def try_placing(place: Callable[[], _Result], at: FieldPath, found: ErrorList) -> _Result:
    """Place an object of a request, which may have errors already: those of the object are added to them.

    Args:
        place: Places it and returns the result, or raises PlacementError.
        at: Where the object is.
        found: Takes what is wrong with it.

    Raises:
        RequestError: Kubernetes would refuse it, or the request has errors; holds every one.
    """
    try:
        placed = place()
    except PlacementError as error:
        found.extend(replace(entry, path=at + entry.path) for entry in error.errors)
        raise RequestError(tuple(found.errors)) from error
    refuse(found)
    return placed


#: What adds nodes: the documents that the file of ``--autoscale`` has, or what the nodes of the cluster show.
AutoscaleField: TypeAlias = Literal["deduced"] | Annotated[list[ApiObject], Keywords(maxItems=MOST_GROUPS)]
#: Where the field is.
AUTOSCALE: Final = FieldPath(("autoscale",))


def autoscaler_of(
    field: AutoscaleField | None, known: ClusterIndex | None, found: ErrorList
) -> NodeSource | None:
    """Return the autoscaler; None without the field, or where it has an error.

    Args:
        field: The field.
        known: The cluster of the request; None if it has none.
        found: Takes what is wrong.
    """
    if field is None:
        return None
    cluster = ClusterIndex() if known is None else known
    reader, before = sources.AutoscalerReader(cluster), len(found.errors)
    for path, document in () if isinstance(field, str) else objects_at(field, AUTOSCALE):
        found.extend(replace(error, path=path + error.path) for error in reader.take(document))
    if len(found.errors) > before:
        return None
    try:
        return sources.deduce(cluster) if isinstance(field, str) else reader.autoscaler()
    except DocumentError as error:
        why = " ".join(error.problems)
        if isinstance(field, str):
            found.add(invalid_value(AUTOSCALE, field, why, VALUE_INVALID))
        else:
            found.add(required_value(AUTOSCALE, why, FIELD_MISSING))
        return None


class PodLimit(NamedTuple):
    """The limit on the pods of one request."""

    nodes: int  #: How many nodes there are.
    groups: int = 0  #: How many node groups may get some.
    runs: int = 1  #: How often the pods are scheduled.

    @property
    def most(self) -> int:
        """The most pods that are scheduled in bounded time."""
        return MOST_WORK // (self.nodes + POD_COST + self.groups * GROUP_COST) // self.runs

    def refuses(self, pods: int, path: FieldPath, found: ErrorList) -> bool:
        """Return whether this many pods at a place of the request are too many, which is recorded."""
        if pods <= self.most:
            return False
        counts = [
            plural(self.nodes, "node"),
            *([plural(self.groups, "node group")] if self.groups else ()),
            *([plural(self.runs, "run")] if self.runs > 1 else ()),
        ]
        text = f"must be at most {self.most:,} pods for one request with {' and '.join(counts)}"
        found.add(invalid_value(path, pods, text, VALUE_INVALID))
        return True


def nodes_of(context: AdmissionContext) -> int:
    """Return how many nodes the cluster of a request has; 0 without one."""
    return 0 if context.cluster is None else context.cluster.node_count
