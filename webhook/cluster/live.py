"""The way to a live cluster, with whatever credentials there are: alone imports the kubernetes client.

The client finds the cluster (kubeconfig, a pod's service account), keeps tokens fresh, runs credential
plugins and verifies certificates. Objects pass through as JSON: the client's models would cost a hundred
times what the index keeps of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from policies.model.pod import DEFAULT_NAMESPACE
from webhook.cluster.connection import TIMEOUT_S, Answer, KubeconfigError, UnreachableError, status_error

#: Seconds for a TCP and TLS connection. Arbitrary.
_CONNECT_S: Final = 10.0
#: Connections that are kept: a watch for each kind, and what is asked besides. Arbitrary.
_CONNECTIONS: Final = 32
#: Where a pod finds the name of its namespace.
_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
#: Set in every pod.
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"


def connect(context: str = "", *, kubeconfig: str = "") -> LiveApiServer:
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
    in_pod = not context and not kubeconfig and "KUBECONFIG" not in os.environ and _IN_CLUSTER in os.environ
    try:
        if in_pod:
            config.load_incluster_config(client_configuration=configuration)
            namespace = _POD_NAMESPACE.read_text().strip() if _POD_NAMESPACE.exists() else ""
        else:
            config.load_kube_config(
                config_file=kubeconfig or None, context=context or None, client_configuration=configuration
            )
            namespace = _context_namespace(context, kubeconfig)
    except (ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        where = "in this pod" if in_pod else kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        raise KubeconfigError(f"no way to a cluster ({where}): {error}") from error
    return LiveApiServer(configuration, namespace or DEFAULT_NAMESPACE)


def _context_namespace(context: str, kubeconfig: str) -> str:
    contexts, current = config.list_kube_config_contexts(config_file=kubeconfig or None)
    chosen = next((entry for entry in contexts if entry["name"] == context), current)
    return str(chosen["context"].get("namespace") or "")


class LiveApiServer:
    """An API server behind the client's connections."""

    def __init__(self, configuration: client.Configuration, namespace: str) -> None:
        self._configuration = configuration
        self._namespace = namespace
        self._pool: urllib3.PoolManager = client.ApiClient(configuration).rest_client.pool_manager

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
        """Send a request and return the whole answer, also one that is an error.

        Raises:
            UnreachableError: There is none.
        """
        with self._opened(method, path, params or {}, body, headers or {}, read_s=timeout_s) as response:
            return Answer(
                response.status,
                response.read(),
                {name.lower(): value for name, value in response.headers.items()},
            )

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        timeout_s: float = TIMEOUT_S,
    ) -> dict[str, Any]:
        """Send a JSON request and return the object of its answer.

        Raises:
            ApiError: The API server refuses.
            UnreachableError: There is no answer.
        """
        answer = self.send(
            method,
            path,
            params=params,
            body=None if body is None else orjson.dumps(body),
            headers={"Content-Type": content_type},
            timeout_s=timeout_s,
        )
        if not answer.ok:
            raise answer.error()
        try:
            told = orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            raise UnreachableError(f"{self.url}{path}: the answer is no JSON: {error}") from error
        if not isinstance(told, dict):
            raise UnreachableError(f"{self.url}{path}: the answer is no object")
        return told

    @contextmanager
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> Iterator[Iterator[bytes]]:
        """Open a watch: the lines of its answer, one event each, until the API server ends it.

        Args:
            path: Of the list.
            params: Its query, without ``watch``.
            idle_s: Seconds without a byte after which nobody is taken to be there.

        Raises:
            ApiError: The API server refuses, when the watch is opened.
            UnreachableError: There is no answer, or the stream breaks off.
        """
        query = {**params, "watch": "1"}
        with self._opened("GET", path, query, None, {}, read_s=idle_s) as response:
            if response.status != HTTPStatus.OK:
                raise status_error(response.status, response.read(), response.headers.get("retry-after", ""))
            yield _lines(response)

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
                timeout=urllib3.Timeout(connect=_CONNECT_S, read=read_s),
                preload_content=False,
                redirect=False,
                retries=False,
            )
            response = cast("urllib3.HTTPResponse", opened)
            yield response
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise UnreachableError(f"{self.url}: {_reason(error)}") from error
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
            raise UnreachableError(f"{self.url}: no credentials: {error}") from error
        return {"Authorization": token} if token else {}


def _lines(response: urllib3.HTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a stream as they come; an unfinished one at its end is dropped."""
    rest = b""
    for block in response.stream(None):
        *whole, rest = (rest + block).split(b"\n")
        yield from filter(None, whole)


def _reason(error: Exception) -> str:
    """Return what an error of the connection says, without the addresses of Python objects."""
    cause = getattr(error, "reason", None) or error.__cause__ or error
    text = str(cause)
    return text.rpartition(">: ")[2] or text
