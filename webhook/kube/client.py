"""The way to a live cluster, with whatever credentials there are, by the kubernetes client.

The client finds the cluster (kubeconfig, a pod's service account), keeps tokens fresh, runs credential
plugins and verifies certificates. Objects pass through as JSON: the client's models would cost a hundred
times what the index keeps of them.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from policies.model.pod import DEFAULT_NAMESPACE
from webhook.kube.api_server import (
    JSON_PATCH,
    TIMEOUT_S,
    Answer,
    ApiError,
    ApiServer,
    ClusterError,
    KubeconfigError,
    UnreachableError,
    status_error,
)
from webhook.kube.connection_errors import reason
from webhook.kube.kubeconfig import load_kubeconfig, problem_of
from webhook.logs import LOGGER

#: Seconds for a TCP and TLS connection. Arbitrary.
_CONNECT_S: Final = 10.0
#: Connections that are kept: a watch for each kind, and what is asked besides. Arbitrary.
_CONNECTIONS: Final = 32
#: Bytes of a watch that are read at once, if there are as many. Arbitrary.
_BLOCK: Final = 2**16
#: Bytes of a line after which it is taken to have no end. etcd holds objects of at most 1.5 MiB. Arbitrary.
_LONGEST_LINE: Final = 2**24
#: Seconds that a Lease lasts, for which its holder tries to renew it, and between two tries: as in
#: Kubernetes' own components.
_LEASE_S, _RENEW_S, _RETRY_S = 15, 10, 2
#: Seconds for one request about a Lease; the client would wait for ever.
_LEASE_TIMEOUT_S: Final = 5.0
#: How often a Lease that changes meanwhile is given back. Arbitrary; its holder alone writes it.
_RESIGN_ATTEMPTS: Final = 3
#: Where a pod finds the name of its namespace.
_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
#: Set in every pod.
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
#: The kubeconfig of whoever names none.
_KUBECONFIG: Final = "~/.kube/config"


def connect(context: str = "", *, kubeconfig: str = "") -> KubernetesApiServer:
    """Find a cluster; nothing is sent to it yet.

    Args:
        context: The context of the kubeconfig; empty for its current one, or in a pod for the pod's cluster.
        kubeconfig: The file; empty for ``$KUBECONFIG`` or the one in the home folder.

    Raises:
        KubeconfigError: There is no description of a cluster, or it cannot be used.
    """
    configuration = client.Configuration()
    configuration.connection_pool_maxsize = _CONNECTIONS
    # A peer that went away without a word is noticed within 40 s.
    configuration.socket_options = tcp_keepalive_socket_options(idle=15, interval=5, count=5)
    # The client reads the variable once, when it is imported.
    kubeconfig = kubeconfig or os.environ.get("KUBECONFIG", "")
    in_pod = not context and not kubeconfig and _IN_CLUSTER in os.environ
    try:
        if in_pod:
            config.load_incluster_config(client_configuration=configuration)
            namespace = _POD_NAMESPACE.read_text().strip() if _POD_NAMESPACE.exists() else ""
        else:
            namespace = load_kubeconfig(configuration, context, kubeconfig or _KUBECONFIG)
    except (
        ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError,
    ) as error:  # fmt: skip
        what = "the credentials of this pod" if in_pod else f"kubeconfig {kubeconfig or _KUBECONFIG}"
        raise KubeconfigError(f"cannot load {what}: {problem_of(error)}") from error
    return KubernetesApiServer(configuration, namespace or DEFAULT_NAMESPACE)


class KubernetesWatch:
    """A watch on a response of its own."""

    def __init__(self, response: urllib3.HTTPResponse) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield its lines as they come, one event each; an unfinished one at its end is dropped.

        Raises:
            UnreachableError: A line has no end.
        """
        rest = b""
        while block := self._response.read1(_BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            yield from filter(None, whole)
            if len(rest) > _LONGEST_LINE:
                raise UnreachableError(f"a line of a watch is longer than {_LONGEST_LINE >> 20} MiB")

    def cancel(self) -> None:
        """End it, from any thread: whoever waits for its next line is told that it broke off, or ended."""
        # It may have ended by itself at the same moment.
        with suppress(OSError, RuntimeError, ValueError):
            self._response.shutdown()


class KubernetesApiServer(ApiServer):
    """An API server behind the client's connections."""

    def __init__(self, configuration: client.Configuration, namespace: str) -> None:
        self._configuration = configuration
        self._namespace = namespace
        self._pool: urllib3.PoolManager = client.ApiClient(configuration).rest_client.pool_manager

    @property
    def configuration(self) -> client.Configuration:
        """How the client reaches it."""
        return self._configuration

    @property
    def url(self) -> str:
        """Where it is, for messages."""
        return str(self._configuration.host)

    @property
    def namespace(self) -> str:
        """The namespace of the context, or of the pod's service account; ``default`` if none is set."""
        return self._namespace

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Answer:
        """Send a request over one of the kept connections: see ``ApiServer``."""
        with self._opened(method, path, params or {}, body, headers or {}, read_s=timeout_s) as response:
            return Answer(
                response.status,
                response.read(),
                {name.lower(): value for name, value in response.headers.items()},
            )

    @contextmanager
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> Iterator[KubernetesWatch]:
        """Open a watch over a connection of its own: see ``ApiServer``."""
        query = {**params, "watch": "1"}
        with self._opened("GET", path, query, None, {}, read_s=idle_s) as response:
            if response.status != HTTPStatus.OK:
                raise status_error(response.status, response.read(), response.headers.get("retry-after", ""))
            yield KubernetesWatch(response)

    @contextmanager
    def _opened(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        read_s: float,
    ) -> Iterator[urllib3.HTTPResponse]:
        url = f"{self.url}{path}?{urlencode(params)}" if params else f"{self.url}{path}"
        response = None
        try:
            opened = self._pool.request(
                method,
                url,
                body=body,
                headers={"Accept": "application/json", **headers, **self._credentials()},
                timeout=urllib3.Timeout(connect=min(_CONNECT_S, read_s), read=read_s),
                preload_content=False,
                redirect=False,
                retries=False,
            )
            response = cast("urllib3.HTTPResponse", opened)
            yield response
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnreachableError(f"{self.url}: {reason(error, timeout_s=read_s)}") from error
        finally:
            if response is not None:
                # What was read to its end is kept for the next request; anything else cannot be.
                if not response.isclosed():
                    response.close()
                response.release_conn()

    def _credentials(self) -> dict[str, str]:
        """Return the header that says who asks; the client renews what it says."""
        try:
            token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        except (ConfigException, OSError) as error:
            raise UnreachableError(f"{self.url}: no credentials: {problem_of(error)}") from error
        return {"Authorization": token} if token else {}


def lead(
    api: KubernetesApiServer,
    lease: str,
    *,
    identity: str,
    started: Callable[[], None],
    stopped: Callable[[], None],
) -> Callable[[], None]:
    """Stand for election by a Lease of the API server's namespace, in a thread of its own, again and again.

    Args:
        api: The cluster.
        lease: The name of the Lease; it is made if need be.
        identity: Who stands; no two may be called the same.
        started: Called when this one begins to lead.
        stopped: Called when it leads no more, as often as ``started`` before.

    Returns:
        What ends it and gives the Lease back, so that another leads at once.
    """
    election = _Election(api, lease, identity, started, stopped)
    threading.Thread(target=election.run, name="election", daemon=True).start()
    return election.resign


class _ResignedError(Exception):
    """Ends the client's election, which has no end of its own."""


class _Term:
    """The time from winning an election to losing the Lease, which may both be told late or twice."""

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

    def __init__(self, configuration: client.Configuration, resigned: threading.Event) -> None:
        own = copy(configuration)
        # The lock tries again by itself, and urllib3 would log each of its tries.
        own.retries = False
        self._api = client.CoordinationV1Api(client.ApiClient(own))
        self._resigned = resigned

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
        except (urllib3.exceptions.HTTPError, ConfigException, OSError) as error:
            raise client.ApiException(status=0, reason=reason(error, timeout_s=_LEASE_TIMEOUT_S)) from error


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
        self._lock.api_instance = cast("client.CoordinationV1Api", _Leases(api.configuration, self._resigned))

    def run(self) -> None:
        """Stand for election, lead while the Lease is held, and begin anew."""
        while not self._resigned.is_set():
            self._term = term = _Term(self._started, self._stopped)
            try:
                rules = Config(self._lock, _LEASE_S, _RENEW_S, _RETRY_S, term.begin, term.end)
                LeaderElection(rules).run()
            except _ResignedError:
                pass
            except Exception as error:  # noqa: BLE001  # a Lease that somebody wrote may hold anything
                fields = {"lease": self._path, "error": f"{type(error).__name__}: {error}"}
                LOGGER.warning("election_failed", extra={"fields": fields})
            term.end()
            # Who stands for election should not do so in step with others.
            self._resigned.wait(_RETRY_S * random.uniform(0.5, 1.5))  # noqa: S311  # no secret

    def resign(self) -> None:
        """Lead no more, and give the Lease back; one that cannot be given back ends by itself."""
        self._resigned.set()
        self._term.end()
        for _ in range(_RESIGN_ATTEMPTS):
            try:
                self._give_back()
            except ApiError as error:
                if not error.conflict:
                    return
            except ClusterError:
                return
            else:
                return

    def _give_back(self) -> None:
        held = self._api.call("GET", self._path, timeout_s=_LEASE_TIMEOUT_S)
        if held.get("spec", {}).get("holderIdentity") != self._identity:
            return
        patch = [
            # Written, a resourceVersion is compared: a Lease that has changed is a conflict.
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": held["metadata"]["resourceVersion"],
            },
            {"op": "replace", "path": "/spec/holderIdentity", "value": ""},
        ]
        self._api.call("PATCH", self._path, body=patch, content_type=JSON_PATCH, timeout_s=_LEASE_TIMEOUT_S)
