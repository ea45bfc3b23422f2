"""Leader election by a Lease, with the kubernetes client's own algorithm."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
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
from webhook.telemetry.logs import LOGGER

#: Seconds that a Lease lasts, for which its holder tries to renew it, and between two tries: as in
#: Kubernetes' own components.
_LEASE_S, _RENEW_S, _RETRY_S = 15, 10, 2
#: Seconds for one request about a Lease; the client has no timeout.
_LEASE_TIMEOUT_S: Final = 5.0
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
    candidate = _Candidate(api, LeaseLock(lease, api.namespace, identity), started, stopped)
    threading.Thread(target=candidate.run, name="election", daemon=True).start()
    return candidate.resign


class _Candidate:
    """One candidate of a Lease. The client's own loop has no end, so only its single step is used."""

    def __init__(
        self,
        api: KubernetesApiServer,
        lock: LeaseLock,
        started: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._leases = client.CoordinationV1Api(api.client)
        self._lock = lock
        # Its own calls have no time limit, and fail in other ways than it expects.
        calls = ("read_namespaced_lease", "create_namespaced_lease", "replace_namespaced_lease")
        limited = {name: partial(self._call, getattr(self._leases, name)) for name in calls}
        lock.api_instance = cast("client.CoordinationV1Api", SimpleNamespace(**limited))
        self._election = LeaderElection(Config(lock, _LEASE_S, _RENEW_S, _RETRY_S, started, stopped))
        self._started, self._stopped = started, stopped
        self._changing = threading.Lock()
        self._leads = False
        self._resigned = threading.Event()
        self._problem = ""

    def run(self) -> None:
        """Try to take the Lease, renew it as long as that is possible, and begin again."""
        renewed_at = 0.0
        while not self._resigned.is_set():
            try:
                is_held = self._election.try_acquire_or_renew()
            except Exception as error:  # noqa: BLE001  # a Lease that a user wrote may hold anything
                is_held = False
                self._report(f"{type(error).__name__}: {error}")
            if is_held:
                renewed_at, self._problem = time.monotonic(), ""
                self._lead(leads=True)
            elif time.monotonic() - renewed_at > _RENEW_S:
                self._lead(leads=False)
            # Candidates should not try in step with one another.
            self._resigned.wait(_RETRY_S * random.uniform(0.8, 1.2))  # noqa: S311  # no secret

    def resign(self) -> None:
        """Lead no more, and give the Lease back; one that cannot be given back ends by itself."""
        self._resigned.set()
        self._lead(leads=False)
        with suppress(client.ApiException, *_NO_ANSWER, ValueError):
            retry_on_conflict(self._release)

    def _lead(self, *, leads: bool) -> None:
        """Begin or end to lead; who has resigned does not begin."""
        with self._changing:
            if leads != self._leads and not (leads and self._resigned.is_set()):
                self._leads = leads
                (self._started if leads else self._stopped)()

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
            # It must not take again what is being given back.
            raise client.ApiException(status=0, reason="resigned")
        try:
            return call(*arguments, **named, _request_timeout=_LEASE_TIMEOUT_S)
        except client.ApiException as error:
            # The lock takes a right that is missing for a Lease that another holds.
            if error.status == HTTPStatus.FORBIDDEN:
                self._report(str(Answer(error.status, (error.body or "").encode()).error()))
            raise
        except _NO_ANSWER as error:
            raise client.ApiException(status=0, reason=str(error)) from error

    def _report(self, problem: str) -> None:
        """Log a problem when it begins."""
        if problem != self._problem:
            path = f"/apis/coordination.k8s.io/v1/namespaces/{self._lock.namespace}/leases/{self._lock.name}"
            LOGGER.warning("election_failed", extra={"fields": {"lease": path, "error": problem}})
        self._problem = problem
