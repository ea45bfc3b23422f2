"""Leader election by a Lease, with the kubernetes client's own algorithm."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Final, cast

import urllib3
from kubernetes import client
from kubernetes.config.config_exception import ConfigException
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.utils.retry import retry_on_conflict

from webhook.kube.api_server import Answer
from webhook.kube.client import KubernetesApiServer
from webhook.kube.error_messages import connection_problem
from webhook.telemetry.logs import LOGGER

#: Seconds that a Lease lasts, for which its holder tries to renew it, and between two tries: as in
#: Kubernetes' own components.
_LEASE_S, _RENEW_S, _RETRY_S = 15, 10, 2
#: Seconds for one request about a Lease; the client has no timeout.
_LEASE_TIMEOUT_S: Final = 5.0
#: The calls of the client's lock.
_LEASE_CALLS: Final = ("read_namespaced_lease", "create_namespaced_lease", "replace_namespaced_lease")
#: What the client raises where there is no answer, or are no credentials.
_NO_ANSWER: Final = (urllib3.exceptions.HTTPError, ConfigException, OSError)


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
    election = _Election(api, LeaseLock(lease, api.namespace, identity), started, stopped)
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


class _Election:
    """One candidate of a Lease."""

    def __init__(
        self,
        api: KubernetesApiServer,
        lock: LeaseLock,
        started: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._leases = client.CoordinationV1Api(api.client)
        self._lock = lock
        # Its own has no time limit, and fails in other ways than it expects.
        calls = {name: partial(self._call, getattr(self._leases, name)) for name in _LEASE_CALLS}
        self._lock.api_instance = cast("client.CoordinationV1Api", SimpleNamespace(**calls))
        self._started, self._stopped = started, stopped
        self._term = _Term(started, stopped)
        self._resigned = threading.Event()
        self._is_refused = False

    def run(self) -> None:
        """Stand for election, lead while the Lease is held, and begin again."""
        while not self._resigned.is_set():
            self._term = term = _Term(self._started, self._stopped)
            try:
                LeaderElection(Config(self._lock, _LEASE_S, _RENEW_S, _RETRY_S, term.begin, term.end)).run()
            except _ResignedError:
                pass
            except Exception as error:  # noqa: BLE001  # a Lease that a user wrote may hold anything
                self._report(f"{type(error).__name__}: {error}")
            term.end()
            # Candidates should not try in step with one another.
            self._resigned.wait(_RETRY_S * random.uniform(0.5, 1.5))  # noqa: S311  # no secret

    def resign(self) -> None:
        """Lead no more, and give the Lease back; one that cannot be given back ends by itself."""
        self._resigned.set()
        self._term.end()
        with suppress(client.ApiException, *_NO_ANSWER, ValueError):
            retry_on_conflict(self._release)

    def _release(self) -> None:
        named = {"name": self._lock.name, "namespace": self._lock.namespace}
        lease = self._leases.read_namespaced_lease(**named, _request_timeout=_LEASE_TIMEOUT_S)
        if lease.spec and lease.spec.holder_identity == self._lock.identity:
            lease.spec.holder_identity = ""
            self._leases.replace_namespaced_lease(**named, body=lease, _request_timeout=_LEASE_TIMEOUT_S)

    def _call(
        self, call: Callable[..., client.V1Lease], *arguments: object, **named: object
    ) -> client.V1Lease:
        """Call the client for its lock."""
        if self._resigned.is_set():
            raise _ResignedError
        try:
            return call(*arguments, **named, _request_timeout=_LEASE_TIMEOUT_S)
        except client.ApiException as error:
            # The lock takes a right that is missing for a Lease that another holds.
            if error.status == HTTPStatus.FORBIDDEN and not self._is_refused:
                self._is_refused = True
                self._report(str(Answer(error.status, (error.body or "").encode()).error()))
            raise
        except _NO_ANSWER as error:
            reason = connection_problem(error, timeout_s=_LEASE_TIMEOUT_S)
            raise client.ApiException(status=0, reason=reason) from error

    def _report(self, error: str) -> None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._lock.namespace}/leases/{self._lock.name}"
        LOGGER.warning("election_failed", extra={"fields": {"lease": path, "error": error}})
