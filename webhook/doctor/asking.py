"""Asks replicas over the API server's proxy: whether they are ready, their release, their metrics."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from webhook.doctor import objects
from webhook.doctor.facts import (
    DEFAULT_SERVICE_PORT,
    Configuration,
    Fact,
    Known,
    Names,
    Replica,
    ServicePort,
    Unknown,
    Voice,
)
from webhook.kube.api_server import Answer, ApiError, ApiServer, UnreachableError
from webhook.kube.service_proxy import request_token
from webhook.rbac import PROXIED_HEADER

#: Seconds that a replica is waited for. Arbitrary; a webhook call would have been given up long before.
_TIMEOUT_S: Final = 5.0
#: Replicas that are asked at the same time. Arbitrary.
_ASKED_AT_ONCE: Final = 8
#: The type of a Service that is a name of DNS.
_EXTERNAL: Final = "ExternalName"
_BUILD_METRIC: Final = "evenkeel_build_info"


def ask_replica(api: ApiServer, names: Names, replica: Replica) -> Voice:
    """Ask one replica; whatever it does not tell is unknown."""
    proxy = _Proxy(api, names, replica)
    reasons = proxy.reasons()
    if proxy.unreachable or isinstance(reasons, Unknown):
        silent = Unknown(reasons.why if isinstance(reasons, Unknown) else proxy.unreachable)
        return Voice(reasons=reasons, version=silent, metrics=silent, unreachable=proxy.unreachable)
    page = proxy.metrics()
    if isinstance(page, Unknown):
        return Voice(reasons=reasons, version=proxy.version(), metrics=page)
    metrics, version = read_metrics(page.value)
    return Voice(
        reasons=reasons, version=Known(version) if version else proxy.version(), metrics=Known(metrics)
    )


def ask_replicas(api: ApiServer, names: Names, replicas: tuple[Replica, ...]) -> dict[str, Voice]:
    """Ask the replicas at once: one that hangs must not keep the others from being asked."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        voices = pool.map(lambda replica: ask_replica(api, names, replica), replicas)
        return {replica.name: voice for replica, voice in zip(replicas, voices, strict=True)}


def service_ports(service: Fact[dict[str, Any] | None]) -> Fact[tuple[ServicePort, ...]]:
    """Return the ports of a Service that leads to pods."""
    if isinstance(service, Unknown):
        return service
    if service.value is None:
        return Unknown("there is no Service")
    if service.value["spec"].get("type") == _EXTERNAL:
        return Unknown(f"the Service is of type {_EXTERNAL}: no pods stand behind it")
    return Known(objects.read_service_ports(service.value))


def ask_through_service(
    api: ApiServer,
    names: Names,
    service: Fact[dict[str, Any] | None],
    ours: Fact[tuple[Configuration, ...]],
) -> Fact[str]:
    """Return what the API server's proxy says of the port that the webhooks call."""
    ports = service_ports(service)
    if isinstance(ports, Unknown):
        return ports
    webhooks = [hook for entry in ours.value for hook in entry.webhooks] if isinstance(ours, Known) else []
    own = (names.namespace, names.service)
    port = next((hook.port for hook in webhooks if hook.service == own), DEFAULT_SERVICE_PORT)
    if port not in [entry.port for entry in ports.value]:
        return Unknown(f"the Service has no port {port}")
    return _ask_service(api, names, port)


def _ask_service(api: ApiServer, names: Names, port: int) -> Fact[str]:
    """Return what the API server's proxy says of a port; nothing where a replica answers, ready or not."""
    path = f"/api/v1/namespaces/{names.namespace}/services/https:{names.service}:{port}/proxy/readyz"
    try:
        answer = api.send("GET", path, timeout_s=_TIMEOUT_S)
    except UnreachableError as error:
        return Known(str(error))
    told = answer.json_object()
    if answer.status == HTTPStatus.FORBIDDEN:
        return Unknown(f"may not get services/proxy in {names.namespace}, to ask through the Service")
    if told.get("kind") != "Status" and "status" in told:
        return Known("")
    return Known(str(answer.error()))


def read_metrics(page: str) -> tuple[dict[str, float], str]:
    r"""Return the values that have no labels, by name, and the release; empty if it does not stand there.

    >>> read_metrics('evenkeel_leader 1.0\nevenkeel_build_info{version="0.1.0"} 1.0\n')
    ({'evenkeel_leader': 1.0}, '0.1.0')
    """
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    releases = [sample.labels.get("version", "") for sample in samples if sample.name == _BUILD_METRIC]
    values = {sample.name: sample.value for sample in samples if not sample.labels}
    return values, releases[0] if releases else ""


class _Proxy:
    """The way to one replica.

    Attributes:
        unreachable: What the API server says that cannot reach it; empty if it can.
    """

    def __init__(self, api: ApiServer, names: Names, replica: Replica) -> None:
        self._api = api
        self._namespace = names.namespace
        self._client = names.client
        self._name = replica.name
        self._path = f"/api/v1/namespaces/{names.namespace}/pods/https:{replica.name}:{replica.port}/proxy"
        self.unreachable = ""

    def reasons(self) -> Fact[tuple[str, ...]]:
        """Return why it is not ready."""
        answer = self._get("/readyz")
        if answer is None:
            return Unknown(f"{self._name} cannot be reached")
        told = answer.json_object()
        reasons = told.get("reasons")
        if isinstance(reasons, list):
            return Known(tuple(map(str, reasons)))
        if answer.ok:
            return Known(())
        if answer.status == HTTPStatus.FORBIDDEN:
            return Unknown(f"may not get pods/proxy in {self._namespace}, to ask the replicas")
        # A Status object is the API server's; a replica has none.
        if told.get("kind") == "Status" or answer.status >= HTTPStatus.BAD_GATEWAY:
            self.unreachable = str(answer.error())
        return Unknown(f"{self._name} cannot be asked: {answer.error()}")

    def version(self) -> Fact[str]:
        """Return its release."""
        answer = self._get("/openapi.json")
        told = answer.json_object().get("info") if answer and answer.ok else None
        version = told.get("version") if isinstance(told, dict) else None
        return (
            Known(version) if isinstance(version, str) else Unknown(f"{self._name} does not tell its release")
        )

    def metrics(self) -> Fact[str]:
        """Return the page of its metrics; with a token for it, if it asks who calls."""
        answer = self._get("/metrics")
        if answer and answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            try:
                token = request_token(self._api, self._namespace, self._client, timeout_s=_TIMEOUT_S)
            except ApiError as error:
                may_not = f"may not create serviceaccounts/token of {self._client}"
                return Unknown(f"{may_not}, to read the replicas' metrics" if error.forbidden else str(error))
            except UnreachableError as error:
                return Unknown(str(error))
            answer = self._get("/metrics", {PROXIED_HEADER: f"Bearer {token}"})
        if answer and answer.ok:
            return Known(answer.body.decode(errors="replace"))
        return Unknown(
            f"{self._name} does not tell its metrics: {_refusal(answer) if answer else 'no answer'}"
        )

    def _get(self, page: str, headers: dict[str, str] | None = None) -> Answer | None:
        """Return an answer of the replica or of the proxy; None if there is none in time."""
        try:
            return self._api.send("GET", self._path + page, headers=headers, timeout_s=_TIMEOUT_S)
        except UnreachableError as error:
            self.unreachable = str(error)
            return None


def _refusal(answer: Answer) -> str:
    """Return why a page is not told: a replica's words or the proxy's."""
    error = answer.json_object().get("error")
    return error if isinstance(error, str) else str(answer.error())
