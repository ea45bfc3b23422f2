"""Leader election by a Lease, with the kubernetes client's own algorithm."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Callable
from copy import copy
from http import HTTPStatus
from typing import Final, cast

import urllib3
from kubernetes import client
from kubernetes.config.config_exception import ConfigException
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from webhook.kube.api_server import JSON_PATCH, Answer, ApiError, ClusterError, unchanged
from webhook.kube.client import KubernetesApiServer
from webhook.kube.error_messages import connection_problem
from webhook.telemetry.logs import LOGGER

#: Seconds that a Lease lasts, for which its holder tries to renew it, and between two tries: as in
#: Kubernetes' own components.
_LEASE_S, _RENEW_S, _RETRY_S = 15, 10, 2
#: Seconds for one request about a Lease; the client has no timeout.
_LEASE_TIMEOUT_S: Final = 5.0
#: How often releasing a Lease is tried that changes meanwhile; its holder alone writes it.
_RELEASE_ATTEMPTS: Final = 3


def lead(
    api: KubernetesApiServer,
    lease: str,
    started: Callable[[], None],
    stopped: Callable[[], None],
    *,
    identity: str = "",
) -> Callable[[], None]:
    """Stand for election by a Lease of the API server's namespace, in a thread of its own, again and again.

    Args:
        api: The cluster.
        lease: The name of the Lease; it is made if need be.
        started: Called when this one begins to lead.
        stopped: Called when it leads no more, as often as ``started`` before.
        identity: The name of this candidate, unlike that of any other; by default that of this process.

    Returns:
        What ends it and gives the Lease back, so that another leads at once.
    """
    # A pod's host name is its own name; each of its workers stands for itself.
    identity = identity or f"{socket.gethostname()}-{os.getpid()}"
    election = _Election(api, lease, identity, started, stopped)
    threading.Thread(target=election.run, name="election", daemon=True).start()
    return election.resign


class _ResignedError(Exception):
    """Ends the client's election, which has no end of its own."""


class _Term:
    """The time from winning an election to losing the Lease, which may both be reported late or twice."""

    def __init__(self, started: Callable[[], None], stopped: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._started, self._stopped = started, stopped
        self._begun = self._ended = False

    def begin(self) -> None:
        with self._lock:
            if not self._ended:
                self._begun = True
                self._started()

    def end(self) -> None:
        with self._lock:
            if self._begun and not self._ended:
                self._stopped()
            self._ended = True


class _Leases:
    """The three calls of the client's Lease lock, made to end in time and to fail as the lock expects it."""

    def __init__(self, configuration: client.Configuration, resigned: threading.Event, path: str) -> None:
        own = copy(configuration)
        # The lock tries again by itself, and urllib3 would log each of its tries.
        own.retries = False
        self._api = client.CoordinationV1Api(client.ApiClient(own))
        self._resigned = resigned
        self._path = path
        self._is_refused = False

    def read_namespaced_lease(self, name: str, namespace: str) -> client.V1Lease:
        return self._call(self._api.read_namespaced_lease, name, namespace)

    def create_namespaced_lease(self, namespace: str, body: client.V1Lease) -> client.V1Lease:
        return self._call(self._api.create_namespaced_lease, namespace, body)

    def replace_namespaced_lease(self, name: str, namespace: str, body: client.V1Lease) -> client.V1Lease:
        return self._call(self._api.replace_namespaced_lease, name, namespace, body)

    def _call(self, call: Callable[..., client.V1Lease], *arguments: object) -> client.V1Lease:
        if self._resigned.is_set():
            raise _ResignedError
        try:
            return call(*arguments, _request_timeout=_LEASE_TIMEOUT_S)
        except client.ApiException as error:
            self._report_refusal(error)
            raise
        except (urllib3.exceptions.HTTPError, ConfigException, OSError) as error:
            raise client.ApiException(
                status=0, reason=connection_problem(error, timeout_s=_LEASE_TIMEOUT_S)
            ) from error

    def _report_refusal(self, error: client.ApiException) -> None:
        """Log once that a right is missing: the lock takes it for a Lease that another holds."""
        if error.status == HTTPStatus.FORBIDDEN and not self._is_refused:
            self._is_refused = True
            reason = str(Answer(error.status, (error.body or "").encode()).error())
            LOGGER.warning("election_failed", extra={"fields": {"lease": self._path, "error": reason}})


class _Election:
    """One candidate of a Lease."""

    def __init__(
        self,
        api: KubernetesApiServer,
        lease: str,
        identity: str,
        started: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._api = api
        self._identity = identity
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases/{lease}"
        self._started, self._stopped = started, stopped
        self._resigned = threading.Event()
        self._term = _Term(started, stopped)
        self._lock = LeaseLock(lease, api.namespace, identity)
        self._lock.api_instance = cast(
            "client.CoordinationV1Api", _Leases(api.configuration, self._resigned, self._path)
        )

    def run(self) -> None:
        """Stand for election, lead while the Lease is held, and begin again."""
        while not self._resigned.is_set():
            self._term = term = _Term(self._started, self._stopped)
            try:
                rules = Config(self._lock, _LEASE_S, _RENEW_S, _RETRY_S, term.begin, term.end)
                LeaderElection(rules).run()
            except _ResignedError:
                pass
            except Exception as error:  # noqa: BLE001  # a Lease that a user wrote may hold anything
                fields = {"lease": self._path, "error": f"{type(error).__name__}: {error}"}
                LOGGER.warning("election_failed", extra={"fields": fields})
            term.end()
            # Candidates should not try in step with one another.
            self._resigned.wait(_RETRY_S * random.uniform(0.5, 1.5))  # noqa: S311  # no secret

    def resign(self) -> None:
        """Lead no more, and give the Lease back; one that cannot be given back ends by itself."""
        self._resigned.set()
        self._term.end()
        for _ in range(_RELEASE_ATTEMPTS):
            try:
                self._release()
            except ApiError as error:
                if not error.conflict:
                    return
            except ClusterError:
                return
            else:
                return

    def _release(self) -> None:
        held = self._api.call("GET", self._path, timeout_s=_LEASE_TIMEOUT_S)
        if held.get("spec", {}).get("holderIdentity") != self._identity:
            return
        patch = [
            unchanged(held["metadata"]["resourceVersion"]),
            {"op": "replace", "path": "/spec/holderIdentity", "value": ""},
        ]
        self._api.call("PATCH", self._path, body=patch, content_type=JSON_PATCH, timeout_s=_LEASE_TIMEOUT_S)
