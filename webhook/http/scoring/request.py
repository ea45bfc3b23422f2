"""A score request: a pod or workload, and what to judge it by where that is not the server's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NotRequired, TypedDict

from policies.config.context import AdmissionContext
from policies.config.type_schema import Keywords
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    required_value,
)
from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.model.validation import INT32_MAX
from policies.model.version import KubernetesVersion
from policies.scheduler.configuration import (
    DefaultingType,
    SchedulerConfig,
    SchedulerProfile,
    argument_errors,
    build_profile,
)
from policies.scheduler.index import ClusterIndex
from webhook.http.scoring.cluster import ClusterBody, ClusterList, read_cluster
from webhook.json_request import REQUEST_INCOMPLETE, read_object, read_version

#: Where the pod stands.
POD = FieldPath(("pod",))
#: Where the cluster stands.
CLUSTER = FieldPath(("cluster",))

_DEFAULTS = FieldPath(("defaults",))


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


class ContextBody(TypedDict):
    """What pods are scheduled by; the server's own where it is left out.

    Attributes:
        cluster: The cluster: objects by kind, or a List.
        defaults: The default constraints of the scheduler.
        kubernetesVersion: The release to behave as, such as ``1.36``.
    """

    cluster: NotRequired[ClusterBody | ClusterList | None]
    defaults: NotRequired[DefaultsBody | None]
    kubernetesVersion: NotRequired[str | None]


class ScoreBody(ContextBody, TypedDict):
    """A pod or workload, and what it is scheduled by.

    Attributes:
        pod: A Pod, or a workload; then the pod that its controller would make next is meant. Only a Pod may
            leave out apiVersion and kind.
    """

    pod: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """What a request brings to place pods by; what is None is the server's.

    Attributes:
        cluster: The cluster.
        defaults: The default constraints of every scheduler, in place of policies and configuration.
        version: The release of Kubernetes.
    """

    cluster: ClusterIndex | None = None
    defaults: SchedulerProfile | None = None
    version: KubernetesVersion | None = None

    @classmethod
    def read(
        cls,
        request: dict[str, Any],
        found: ErrorList,
        seen: Callable[[dict[str, Any]], None] = lambda _obj: None,
    ) -> RequestContext:
        """Read the fields of ``ContextBody``.

        Args:
            request: The request.
            found: Takes what is wrong.
            seen: Shown every object of its cluster, also of kinds that are not indexed.
        """
        cluster = request.get("cluster")
        return cls(
            cluster=None if cluster is None else read_cluster(cluster, CLUSTER, found, seen),
            defaults=_read_defaults(request.get("defaults"), found),
            version=read_version(request.get("kubernetesVersion"), found),
        )

    def missing(self, server: AdmissionContext) -> list[FieldError]:
        """Return the error of a request without a cluster where none is connected; else nothing."""
        if self.cluster is not None or server.cluster is not None:
            return []
        return [missing(CLUSTER, "no cluster is connected, so the request must bring its own")]

    def over(self, server: AdmissionContext) -> AdmissionContext:
        """Return the server's context, with everything that the request brings.

        Where neither has a cluster, it is an empty one.
        """
        context = replace(server, cluster=self.cluster or server.cluster or ClusterIndex())
        if self.version is not None:
            context = replace(context, kubernetes_version=self.version)
        if self.defaults is not None:
            scheduler = SchedulerConfig({}, fallback=self.defaults)
            context = replace(context, scheduler=scheduler, policies=())
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """One score request.

    Attributes:
        pod: The pod or workload, as it came.
        context: What it is placed by.
        errors: What is wrong with the request, except for the pod.
    """

    pod: dict[str, Any]
    context: RequestContext
    errors: tuple[FieldError, ...] = field(default=())

    @classmethod
    def parse(cls, body: bytes) -> ScoreRequest:
        """Read a request; the pod is not looked into.

        Raises:
            RequestError: It is not JSON, or no object.
        """
        found = ErrorList()
        request = read_object(body, ScoreBody, found)
        if not request.get("pod") and isinstance(request.get("pod"), dict | None):
            found.add(missing(POD, "a Pod, or a workload that makes some"))
        return cls(
            pod=filled_in(found.mapping(request.get("pod"), POD)),
            context=RequestContext.read(request, found),
            errors=tuple(found.errors),
        )


def filled_in(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object with what a pod may leave out here, as the objects of the cluster may."""
    if obj and obj.get("kind") in (None, "Pod") and obj.get("apiVersion") is None:
        return obj | {"apiVersion": "v1", "kind": "Pod"}
    return obj


def missing(path: FieldPath, what: str) -> FieldError:
    """Return the error of a request that lacks what it needs."""
    return required_value(path, what, REQUEST_INCOMPLETE)


def _read_defaults(raw: object, found: ErrorList) -> SchedulerProfile | None:
    if raw is None:
        return None
    before = found.count
    arguments = found.mapping(raw, _DEFAULTS)
    if found.count == before:
        found.unknown(arguments, _DEFAULTS, known=DefaultsBody.__annotations__.keys())
        found.extend(argument_errors(arguments, _DEFAULTS))
    return None if found.count > before else build_profile(arguments)
