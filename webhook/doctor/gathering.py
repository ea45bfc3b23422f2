"""Reads from a cluster what the checks need, as far as the caller may; each read may be forbidden."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, TypeVar

from certs.clocks import clock_problem
from certs.inject import CONFIGURATION_KINDS
from policies.model.version import KubernetesVersion
from policies.model.workload import KNOWN_KINDS
from webhook.access.reviews import ACCESS_REVIEWS
from webhook.doctor import objects, permissions, tally
from webhook.doctor.asking import ask_replicas, ask_through_service, service_ports
from webhook.doctor.deadline import HurriedApiServer, SilentApiServerError
from webhook.doctor.exclusions import SYSTEM
from webhook.doctor.facts import (
    Ask,
    Budget,
    Configuration,
    Endpoints,
    Fact,
    Facts,
    Injection,
    Known,
    Names,
    Namespace,
    Place,
    Replica,
    Resource,
    Unknown,
    Voice,
    Workload,
)
from webhook.kube import list as listing
from webhook.kube.api_server import ApiError, ApiServer
from webhook.kube.server_version import kubernetes_version
from webhook.settings import Access
from webhook.vouching.configurations import collection

#: Seconds for what the API server itself answers. Arbitrary; counting the pods of a large cluster takes most.
PATIENCE_S: Final = 30.0
#: The label that leads from an EndpointSlice to its Service.
_SLICE_LABEL: Final = "kubernetes.io/service-name"
#: Where the API server has each kind of webhook configuration.
_CONFIGURATIONS: Final = {kind: collection(kind) for kind in CONFIGURATION_KINDS}

T = TypeVar("T")


def gather(
    api: ApiServer, names: Names, *, now: datetime, tool_version: str, patience_s: float = PATIENCE_S
) -> Facts:
    """Read everything; nothing is written but reviews and a token, which leave no trace.

    Args:
        api: The cluster, with the caller's credentials.
        names: What to look for.
        now: The current time, with a time zone.
        tool_version: The release of this program.
        patience_s: Seconds for everything that the API server itself answers; then the rest is unknown.

    Raises:
        UnreachableError: There is no answer to begin with.
        ApiError: The API server does not take the credentials.
    """
    hurried = HurriedApiServer(api, total_s=patience_s)
    cluster = _Cluster(hurried, names)
    version = _fact(cluster.version, "get /version")
    skew = now - hurried.date if hurried.date else timedelta(0)
    ours, others = cluster.configurations()
    namespaces = _fact(cluster.namespaces, "list namespaces")
    service = _fact(cluster.service, f"get Service {names.namespace}/{names.service}")
    selector = _selector(service)
    workload = _fact(lambda: cluster.workload(selector), f"list deployments in {names.namespace}")
    replicas = cluster.replicas(service, workload)
    voices = ask_replicas(api, names, replicas.value if isinstance(replicas, Known) else ())
    replicas = _looked_at_again(cluster, replicas, voices)
    known_replicas = replicas.value if isinstance(replicas, Known) else ()
    secret = _secret_name(known_replicas) or names.secret
    account = known_replicas[0].service_account if known_replicas else names.service
    return Facts(
        names=names,
        now=now - skew if clock_problem(skew) else now,
        skew=skew,
        tool_version=tool_version,
        version=version,
        ours=ours,
        others=others,
        namespaces=namespaces,
        protected=cluster.protected(namespaces),
        served=_fact(cluster.served, "look up the kinds of the cluster"),
        service=service if isinstance(service, Unknown) else Known(service.value is not None),
        service_ports=service_ports(service),
        through_service=ask_through_service(api, names, service, ours),
        endpoints=_fact(cluster.endpoints, f"list endpoints in {names.namespace}"),
        workload=workload,
        replicas=replicas,
        voices=voices,
        budgets=_fact(cluster.budgets, f"list poddisruptionbudgets in {names.namespace}"),
        places=_fact(cluster.places, "list nodes"),
        secret=secret,
        certificate=_fact(lambda: cluster.certificate(secret), f"get Secret {names.namespace}/{secret}"),
        account=account,
        access=cluster.access(replicas, account, secret),
        client_access=cluster.client_access(replicas),
        injection=cluster.injection(namespaces),
    )


def _fact(ask: Callable[[], T], what: str) -> Fact[T]:
    """Return what is read, or why it cannot be."""
    try:
        return Known(ask())
    except ApiError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            raise
        return Unknown(f"may not {what}" if error.forbidden else f"cannot {what}: {error}")
    except SilentApiServerError as error:
        return Unknown(str(error))


def _looked_at_again(
    cluster: _Cluster, replicas: Fact[tuple[Replica, ...]], voices: Mapping[str, Voice]
) -> Fact[tuple[Replica, ...]]:
    """Return the replicas, those that did not answer as they are now: one may have ended meanwhile."""
    if isinstance(replicas, Unknown):
        return replicas
    return Known(
        tuple(
            cluster.replica_now(replica) if voices[replica.name].unreachable else replica
            for replica in replicas.value
        )
    )


def _selector(service: Fact[dict[str, Any] | None]) -> dict[str, str] | None:
    """Return the labels that a Service selects; None if it selects nothing, or is not there or not known."""
    found = service.value if isinstance(service, Known) else None
    return dict(found["spec"].get("selector") or {}) or None if found else None


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def _secret_name(replicas: tuple[Replica, ...]) -> str:
    """Return the Secret of the certificate: kept by replicas or mounted by them; else empty."""
    for replica in replicas:
        if kept := replica.settings.get("cert-secret"):
            return kept
        if replica.secrets:
            return replica.secrets[0]
    return ""


def _settings(replicas: Fact[tuple[Replica, ...]]) -> Fact[Mapping[str, str]]:
    """Return what the replicas were started with."""
    if isinstance(replicas, Unknown):
        return Unknown(f"the replicas' account: {replicas.why}")
    return Known(replicas.value[0].settings) if replicas.value else Unknown("there is no replica")


class _Cluster:
    """A cluster and the names that are looked for in it."""

    def __init__(self, api: ApiServer, names: Names) -> None:
        self._api = api
        self._names = names
        self._home = f"/api/v1/namespaces/{names.namespace}"

    def version(self) -> KubernetesVersion:
        """Return the API server's release."""
        return kubernetes_version(self._api)

    def configurations(
        self,
    ) -> tuple[Fact[tuple[Configuration, ...]], Fact[tuple[Configuration, ...]]]:
        """Return our webhook configurations, and all others."""
        everything = _fact(self._all_configurations, "list webhook configurations")
        if isinstance(everything, Unknown):
            return _fact(self._named_configurations, "get webhook configurations"), everything
        ours = tuple(entry for entry in everything.value if entry.name == self._names.webhooks)
        others = tuple(entry for entry in everything.value if entry.name != self._names.webhooks)
        return Known(ours), Known(others)

    def _all_configurations(self) -> tuple[Configuration, ...]:
        return tuple(
            objects.read_configuration(entry, kind)
            for kind, path in _CONFIGURATIONS.items()
            for entry in self._list(path)
        )

    def _named_configurations(self) -> tuple[Configuration, ...]:
        found = {kind: self._get(f"{path}/{self._names.webhooks}") for kind, path in _CONFIGURATIONS.items()}
        return tuple(objects.read_configuration(entry, kind) for kind, entry in found.items() if entry)

    def namespaces(self) -> tuple[Namespace, ...]:
        """Return all namespaces."""
        return tuple(map(objects.read_namespace, self._list("/api/v1/namespaces")))

    def protected(self, namespaces: Fact[tuple[Namespace, ...]]) -> Fact[tuple[Namespace, ...]]:
        """Return kube-system and our own namespace."""
        wanted = dict.fromkeys((SYSTEM, self._names.namespace))
        if isinstance(namespaces, Known):
            return Known(tuple(entry for entry in namespaces.value if entry.name in wanted))
        return _fact(
            lambda: tuple(
                objects.read_namespace(entry)
                for name in wanted
                if (entry := self._get(f"/api/v1/namespaces/{name}"))
            ),
            f"get namespaces {' and '.join(wanted)}",
        )

    def served(self) -> dict[Resource, frozenset[str]]:
        """Return the versions in which the kinds that Evenkeel knows are served."""
        known = {(kind.group, kind.kind) for kind in KNOWN_KINDS}
        found: dict[Resource, frozenset[str]] = {}
        for group in dict.fromkeys(kind.group for kind in KNOWN_KINDS):
            for version, path in self._versions(group):
                for entry in self._api.call("GET", path).get("resources") or ():
                    if (group, entry["kind"]) in known and "/" not in entry["name"]:
                        resource = Resource(group, entry["name"])
                        found[resource] = found.get(resource, frozenset()) | {version}
        return found

    def _versions(self, group: str) -> Iterable[tuple[str, str]]:
        if not group:
            return [("v1", "/api/v1")]
        told = self._get(f"/apis/{group}") or {}
        return [(entry["version"], f"/apis/{entry['groupVersion']}") for entry in told.get("versions") or ()]

    def service(self) -> dict[str, Any] | None:
        """Return the Service."""
        return self._get(f"{self._home}/services/{self._names.service}")

    def endpoints(self) -> Endpoints:
        """Count what stands behind the Service: by EndpointSlices, before 1.21 by Endpoints."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._names.namespace}/endpointslices"
        try:
            slices = list(self._list(path))
        except ApiError as error:
            # Where nothing is served, nobody may be let in either.
            if not error.not_found and not error.forbidden:
                raise
            found = self._get(f"{self._home}/endpoints/{self._names.service}")
            return objects.read_endpoints(found or {})
        mine = [
            entry for entry in slices if objects.labels_of(entry).get(_SLICE_LABEL) == self._names.service
        ]
        return objects.read_slices(mine)

    def workload(self, selector: Mapping[str, str] | None) -> Workload | None:
        """Return the Deployment whose pods the Service selects; without a Service, the one of its name."""
        for entry in self._list(f"/apis/apps/v1/namespaces/{self._names.namespace}/deployments"):
            workload = objects.read_workload(entry)
            if _selects(selector, workload.labels) if selector else workload.name == self._names.service:
                return workload
        return None

    def replicas(
        self, service: Fact[dict[str, Any] | None], workload: Fact[Workload | None]
    ) -> Fact[tuple[Replica, ...]]:
        """Return the pods that the Service selects; without a Service, those of the Deployment."""
        selector = _selector(service)
        if selector is None and isinstance(workload, Known) and workload.value:
            selector = dict(workload.value.labels)
        if selector is None:
            unread = service if isinstance(service, Unknown) else workload
            return unread if isinstance(unread, Unknown) else Known(())
        wanted = selector
        return _fact(
            lambda: tuple(
                objects.read_replica(entry)
                for entry in self._list(f"{self._home}/pods")
                if _selects(wanted, objects.labels_of(entry))
                and not entry["metadata"].get("deletionTimestamp")
            ),
            f"list pods in {self._names.namespace}",
        )

    def replica_now(self, replica: Replica) -> Replica:
        """Return a replica as it is now; the given one, not ready any more, if its pod is gone."""
        found = _fact(lambda: self._get(f"{self._home}/pods/{replica.name}"), "get pods")
        if isinstance(found, Unknown):
            return replica
        if found.value is None or found.value["metadata"].get("deletionTimestamp"):
            return replace(replica, ready=False, state="its pod was deleted meanwhile")
        return objects.read_replica(found.value)

    def budgets(self) -> tuple[Budget, ...]:
        """Return the disruption budgets of our namespace; before 1.21 they are of v1beta1."""
        path = f"/namespaces/{self._names.namespace}/poddisruptionbudgets"
        try:
            found = list(self._list(f"/apis/policy/v1{path}"))
        except ApiError as error:
            if not error.not_found:
                raise
            found = list(self._list(f"/apis/policy/v1beta1{path}"))
        return tuple(map(objects.read_budget, found))

    def places(self) -> tuple[Place, ...]:
        """Return the nodes that take pods."""
        return tuple(filter(None, map(objects.read_place, self._list("/api/v1/nodes"))))

    def certificate(self, secret: str) -> bytes | None:
        """Return the certificates of a Secret; its key is not kept."""
        found = self._get(f"{self._home}/secrets/{secret}")
        text = ((found or {}).get("data") or {}).get("tls.crt")
        try:
            return base64.b64decode(text) if text else None
        except binascii.Error:
            return b""

    def access(self, replicas: Fact[tuple[Replica, ...]], account: str, secret: str) -> Fact[dict[Ask, bool]]:
        """Return what the replicas' account may do, of what they need and of what is too much."""
        settings = _settings(replicas)
        if isinstance(settings, Unknown):
            return settings
        asks: list[Ask] = []
        if "live" in settings.value:
            asks += [*permissions.following(), *permissions.REVIEWING]
        if "cert-secret" in settings.value:
            lease = settings.value.get("lease", self._names.service)
            asks += permissions.vouching(self._names, secret, lease)
        return self._answers(account, (*asks, *permissions.EXCESSIVE))

    def client_access(self, replicas: Fact[tuple[Replica, ...]]) -> Fact[dict[Ask, bool]]:
        """Return what the account may do in whose name people ask."""
        settings = _settings(replicas)
        if isinstance(settings, Unknown):
            return settings
        if "live" not in settings.value or settings.value.get("access") == Access.OPEN:
            return Known({})
        return self._answers(self._names.client, (*permissions.CLIENT_NEEDED, *permissions.CLIENT_EXCESSIVE))

    def _answers(self, account: str, asks: Iterable[Ask]) -> Fact[dict[Ask, bool]]:
        return _fact(
            lambda: {ask: self._may(account, ask) for ask in asks},
            f"create subjectaccessreviews, to ask what {account} may do",
        )

    def _may(self, account: str, ask: Ask) -> bool:
        namespace = self._names.namespace
        attributes = {key: value for key, value in ask._asdict().items() if value}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": f"system:serviceaccount:{namespace}:{account}",
                "groups": [
                    "system:serviceaccounts",
                    f"system:serviceaccounts:{namespace}",
                    "system:authenticated",
                ],
                "nonResourceAttributes" if ask.path else "resourceAttributes": attributes,
            },
        }
        return bool(self._api.call("POST", ACCESS_REVIEWS, body=body)["status"]["allowed"])

    def injection(self, namespaces: Fact[tuple[Namespace, ...]]) -> Fact[Injection]:
        """Count injected pods in the whole cluster, or in each namespace where that is allowed."""
        whole = _fact(lambda: tally.count_cluster(self._api), "list pods")
        if isinstance(whole, Known):
            return Known(whole.value.result())
        told = namespaces.value if isinstance(namespaces, Known) else ()
        # Who may not list namespaces knows at least the one of the context.
        candidates = [entry.name for entry in told] or [self._api.namespace]
        by_namespace = _fact(lambda: tally.count_namespaces(self._api, candidates), "list pods")
        if isinstance(by_namespace, Unknown):
            return by_namespace
        counted, unseen = by_namespace.value
        if unseen == len(candidates):
            return whole
        if not told:
            return Known(counted.result(f"only namespace {self._api.namespace} could be looked at"))
        return Known(counted.result(f"{unseen} of {len(told)} namespaces could not be looked at"))

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None if it is not there."""
        try:
            return self._api.call("GET", path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def _list(self, path: str) -> Iterable[dict[str, Any]]:
        return listing.list_objects(self._api, listing.Resource("", "", path))
