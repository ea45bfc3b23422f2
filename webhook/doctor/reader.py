"""Reads objects of a cluster by their paths, and the status of replicas through the API server's proxy.

``observe`` makes of a read a value or why it is missing. All reads are bounded in time: an API server whose
etcd hangs accepts every request and answers none; once it is silent it gets no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from webhook.doctor.installed import ReplicaPod
from webhook.doctor.observations import (
    InstallationNames,
    Missing,
    MissingError,
    Observation,
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

T = TypeVar("T")

#: Requests that are sent at the same time. Each takes some milliseconds, or a round trip to a far cluster; a
#: replica that hangs does not delay the others.
_AT_ONCE: Final = 8
#: Seconds for one answer. A page of a list takes less than a second on a large cluster, and the API server
#: gives a webhook less.
EACH_S: Final = 5.0


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
