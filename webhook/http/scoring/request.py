"""A score request: a pod or workload, and what to judge it by where that is not the server's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from policies.config.context import AdmissionContext
from policies.manifests.fields import (
    ErrorList,
    FieldError,
    FieldPath,
    field_names,
    required_value,
)
from policies.model.version import KubernetesVersion
from policies.scheduler.configuration import SchedulerConfig, SchedulerProfile, argument_errors, build_profile
from policies.scheduler.index import ClusterIndex
from webhook.http.scoring.cluster import read_cluster
from webhook.json_request import REQUEST_INCOMPLETE, read_object, read_version

#: The fields of every request that say what pods are placed by.
CONTEXT_FIELDS = field_names("cluster", "defaults", "kubernetesVersion")
#: Every field of a score request.
FIELDS = field_names("pod", *CONTEXT_FIELDS)
#: Every field of ``defaults``: those of PodTopologySpreadArgs.
DEFAULTS_FIELDS = field_names("defaultingType", "defaultConstraints")
#: Where the pod stands.
POD = FieldPath(("pod",))
#: Where the cluster stands.
CLUSTER = FieldPath(("cluster",))

_DEFAULTS = FieldPath(("defaults",))


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
    def read(cls, request: dict[str, Any], found: ErrorList) -> RequestContext:
        """Read ``CONTEXT_FIELDS`` of a request."""
        cluster = request.get("cluster")
        return cls(
            cluster=None if cluster is None else read_cluster(cluster, CLUSTER, found),
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
        request = read_object(body, FIELDS, found)
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
        found.unknown(arguments, _DEFAULTS, known=DEFAULTS_FIELDS)
        found.extend(argument_errors(arguments, _DEFAULTS))
    return None if found.count > before else build_profile(arguments)
