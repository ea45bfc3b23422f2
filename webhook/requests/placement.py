"""The fields of every request that places pods: a cluster, default constraints, a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, NotRequired, TypedDict, TypeVar

from policies.config.context import AdmissionContext
from policies.manifests.fields import FIELD_MISSING, ErrorList, FieldPath, required_value
from policies.manifests.wire import Form, Keywords, Received
from policies.manifests.wire_reader import Checked
from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.validation import INT32_MAX
from policies.placement.core.placement import PlacementError
from policies.scheduler.configuration import DefaultingType, SchedulerConfig, argument_errors, build_profile
from policies.scheduler.index import ClusterIndex
from policies.scheduler.releases import parse_release
from webhook.requests.cluster import ClusterBody, ClusterList, index_cluster
from webhook.requests.frame import Release

#: Where the cluster of a request is.
CLUSTER: Final = FieldPath(("cluster",))

#: The result of placing an object.
_Result = TypeVar("_Result")


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
