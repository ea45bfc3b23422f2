"""Reads objects of a cluster by their paths, and the status of replicas through the API server's proxy.

``observe`` makes of a read a value or why it is missing. All reads are bounded in time: an API server whose
etcd hangs accepts every request and answers none; once it is silent it gets no more.

The webhooks themselves are called by a dry run of a Deployment, which is not stored. Whatever a configuration
says, only a webhook that is called answers. The API server passes warnings on, also those of a webhook before
another one that refuses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from policies.model.workload_kinds import KNOWN_KINDS
from webhook.doctor.installed import RegisteredWebhook, ReplicaPod
from webhook.doctor.observations import (
    DryRunAnswer,
    InstallationNames,
    Missing,
    MissingError,
    Observation,
    Observations,
    Observed,
    ReplicaStatus,
)
from webhook.doctor.permissions import review_attributes
from webhook.kube.api_server import (
    TIMEOUT_S,
    Answer,
    ApiError,
    ApiServer,
    ClusterError,
    UnreachableError,
    Watch,
)
from webhook.kube.list import list_objects
from webhook.kube.watched_resources import ListedResource
from webhook.rbac import ACCESS_REVIEWS, access_review
from webhook.registration import PROBE_ANNOTATION, answers, is_sent, labels_for, probe_answer

T = TypeVar("T")

#: Requests that are sent at the same time. Each takes some milliseconds, or a round trip to a far cluster; a
#: replica that hangs does not delay the others.
_AT_ONCE: Final = 8
#: Seconds for one answer. A page of a list takes less than a second on a large cluster, and the API server
#: gives a webhook less.
EACH_S: Final = 5.0
#: Where people try things, if the webhooks look at it.
_USUAL_NAMESPACE: Final = "default"
_NAME: Final = "evenkeel-probe"
_DEPLOYMENT: Final = next(kind for kind in KNOWN_KINDS if kind.name == "Deployment.apps")
#: The start of what it says of a caller who lacks the right.
_NO_RIGHT: Final = "forbidden: User"


def observe(read: Callable[[], T]) -> Observation[T]:
    """Return the value that is read, or why it is missing: mostly the API server's own words."""
    try:
        return Observed(read())
    except (ClusterError, MissingError) as error:
        return Missing(str(error))


class Reader:
    """Reads with the credentials of the caller; what it cannot read raises ClusterError."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None if it does not exist."""
        try:
            return self._api.find(path)
        except ApiError as error:
            raise _located(error, path) from error

    def list(self, path: str, *, api_version: str = "", kind: str = "") -> list[dict[str, Any]]:
        """Return all objects of a list, each of a kind, which those of a list do not name themselves."""
        try:
            return list(list_objects(self._api, ListedResource(api_version, kind, path)))
        except ApiError as error:
            raise _located(error, path) from error

    def permissions(self, account: str, wanted: Collection[str]) -> dict[str, bool]:
        """Return which permissions a ServiceAccount, NAMESPACE/NAME, has."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = pool.map(lambda permission: self._has(account, permission), wanted)
            return dict(zip(wanted, answers, strict=True))

    def _has(self, account: str, permission: str) -> bool:
        namespace, _, name = account.partition("/")
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        user = {"user": f"system:serviceaccount:{namespace}:{name}", "groups": groups}
        body = access_review(user, review_attributes(permission))
        return bool(self._api.call("POST", ACCESS_REVIEWS, body=body)["status"]["allowed"])


def _located(error: ApiError, path: str) -> ApiError:
    """Return an error that names what could not be read, as the API server's refusals do by themselves."""
    return error if error.forbidden else ApiError(error.status, f"cannot read {path}: {error}")


class BoundedApiServer(ApiServer):
    """Passes requests on to another API server until its time is over."""

    def __init__(
        self, api: ApiServer, *, total_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the clock: ``total_s`` are the seconds for all answers together."""
        self.url, self.namespace = api.url, api.namespace
        self._api = api
        self._total_s = total_s
        self._clock = clock
        self._deadline = clock() + total_s
        self._answered = False
        self._hangs = ""

    def send(self, method: str, path: str, *, timeout_s: float = TIMEOUT_S, **options: Any) -> Answer:
        """Send a request: see ``ApiServer``.

        Raises:
            UnreachableError: There is no answer, or no time left for one.
        """
        left_s = self._deadline - self._clock()
        if not self._hangs and left_s <= 0:
            self._hangs = f"not read within {self._total_s:.0f} s: --timeout allows more"
        if self._hangs:
            raise UnreachableError(self._hangs)
        try:
            answer = self._api.send(method, path, timeout_s=min(timeout_s, EACH_S, left_s), **options)
        except UnreachableError as error:
            if not self._answered:
                raise
            self._hangs = f"{error}; it has answered before, so it or its etcd hangs"
            raise UnreachableError(self._hangs) from error
        self._answered = True
        return answer

    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> AbstractContextManager[Watch]:
        """Open a watch: see ``ApiServer``; its time is not bounded."""
        return self._api.watch(path, params, idle_s=idle_s)


def read_statuses(
    api: ApiServer, names: InstallationNames, replicas: Iterable[ReplicaPod]
) -> dict[str, ReplicaStatus]:
    """Return the status that each replica reports, by pod name."""
    paths = {replica.name: f"pods/https:{replica.name}:{replica.port}" for replica in replicas}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda path: read_status(api, names, path), paths.values())
        return dict(zip(paths, answers, strict=True))


def read_status(api: ApiServer, names: InstallationNames, path: str) -> ReplicaStatus:
    """Return the status that a replica behind a proxied pod or Service of Evenkeel's namespace reports."""
    try:
        answer = api.send("GET", f"{names.api_path}/{path}/proxy/readyz", timeout_s=EACH_S)
    except UnreachableError as error:
        return ReplicaStatus(Missing(str(error)), unreachable=str(error))
    body = answer.json_object()
    # A Status object is the API server's own.
    if "status" in body and body.get("kind") != "Status":
        return ReplicaStatus(Observed(body))
    refusal = answer.error()
    return ReplicaStatus(Missing(str(refusal)), unreachable="" if refusal.forbidden else str(refusal))


def probe(api: ApiServer, observed: Observations) -> DryRunAnswer:
    """Create a Deployment as a dry run where the webhooks of workloads look, and return which were called.

    Raises:
        ClusterError: There is no answer.
        MissingError: No webhook should be called, or it is not known where.
    """
    asked = probed(observed)
    if not asked:
        raise MissingError("no webhook should be called for a Deployment")
    labels = labels_for(webhook.object_selector for webhook in asked)
    namespace = _namespace(observed, asked)
    if labels is None or not namespace:
        raise MissingError("no Deployment is looked at by all webhooks")
    answer = api.send(
        "POST",
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        params={"dryRun": "All"},
        body=_deployment(labels),
    )
    refusal = "" if answer.ok else str(answer.error())
    if _NO_RIGHT in refusal:
        raise MissingError(f"a dry run needs the right to create it: {refusal}")
    told = answer.headers.get("warning", "")
    paths = {webhook.path for webhook in asked if probe_answer(webhook.path) in told}
    return DryRunAnswer(namespace, frozenset(paths), refusal)


def probed(observed: Observations) -> list[RegisteredWebhook]:
    """Return the webhooks that should be called about a new Deployment."""
    return [
        webhook
        for webhook in observed.all_webhooks()
        if is_sent(webhook.fields, _DEPLOYMENT, ["CREATE"])
        and answers(webhook.fields, webhook.kind, observed.surroundings)
    ]


def _namespace(observed: Observations, asked: list[RegisteredWebhook]) -> str:
    """Return a namespace that all webhooks select; where none can be read, the usual one."""
    if not isinstance(observed.all_namespaces, Observed):
        return _USUAL_NAMESPACE
    found = [
        metadata["name"]
        for metadata in (namespace["metadata"] for namespace in observed.all_namespaces.value)
        if not metadata.get("deletionTimestamp")
        and all(webhook.namespace_selector.matches(metadata.get("labels") or {}) for webhook in asked)
    ]

    def rank(name: str) -> tuple[bool, bool, str]:
        needed = name.startswith("kube-") or name == observed.names.namespace
        return name != _USUAL_NAMESPACE, needed, name

    return min(found, key=rank, default="")


def _deployment(labels: dict[str, str]) -> dict[str, Any]:
    pod = {"app.kubernetes.io/name": _NAME}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "labels": labels, "annotations": {PROBE_ANNOTATION: ""}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": pod},
            "template": {
                "metadata": {"labels": {**labels, **pod}},
                "spec": {"containers": [{"name": "probe", "image": "registry.example/probe"}]},
            },
        },
    }
