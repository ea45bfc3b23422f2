"""The way to a live cluster, with whatever credentials there are, by the kubernetes client.

The client finds the cluster (kubeconfig, a pod's service account), keeps tokens fresh, runs credential
plugins and verifies certificates. Objects pass through as JSON: the client's models would cost a hundred
times what the index keeps of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config import kube_config
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from policies.manifests.fields import shown
from policies.model.workload import DEFAULT_NAMESPACE
from webhook.kube.api_server import (
    LARGEST_OBJECT,
    OBJECT_HEAD,
    TIMEOUT_S,
    Answer,
    ApiServer,
    KubeconfigError,
    UnreachableError,
)
from webhook.kube.error_messages import connection_problem, kubeconfig_problem, plugin_problem

#: Seconds for a TCP and TLS connection.
_CONNECT_S: Final = 10.0
#: Connections that are kept: a watch for each kind, and other requests.
_CONNECTIONS: Final = 32
#: Bytes of a watch that are read at once, if there are as many.
_BLOCK: Final = 2**16
#: Bytes of a line after which it is taken to have no end.
_ENDLESS: Final = 2**28
#: Where a pod finds the name of its namespace.
_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
#: The function of the client that only logs why a credential plugin gave nothing.
_PLUGIN_FUNCTION: Final = "_load_from_exec_plugin"
#: Set in every pod.
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
#: The kubeconfig where none is named.
_KUBECONFIG: Final = "~/.kube/config"


def _leave_files_to_parent() -> None:
    """Have the end of this process remove none of the files that the client made for the one it came from.

    The client writes the certificates and keys that a kubeconfig embeds to files, for OpenSSL reads no other,
    and removes them when a process ends, be it a worker whose master and successors go on reading them.
    """
    kube_config._temp_files.clear()  # noqa: SLF001  # nothing public says so


os.register_at_fork(after_in_child=_leave_files_to_parent)


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
            namespace = _load_kubeconfig(configuration, context, kubeconfig or _KUBECONFIG)
    except (
        ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError,
    ) as error:  # fmt: skip
        file = kubeconfig or _KUBECONFIG
        what = "the credentials of this pod" if in_pod else f"kubeconfig {file}"
        problem = kubeconfig_problem(error).removeprefix(file).removeprefix(":").strip()
        raise KubeconfigError(f"cannot load {what}: {problem}") from error
    return KubernetesApiServer(configuration, namespace or DEFAULT_NAMESPACE)


def _load_kubeconfig(configuration: client.Configuration, context: str, file: str) -> str:
    """Take over what a kubeconfig says of a context, its current one if none is named; return its namespace.

    The client's own functions know the namespace only where there is a current context, and go on without
    credentials where a plugin gives none.

    Raises:
        ConfigException: The file cannot be used.
        OSError: A file that it names cannot be read.
    """
    merged = KubeConfigMerger(file)
    if merged.config is None:
        raise ConfigException("there is no such file")
    if not isinstance(merged.config.value, dict):
        raise ConfigException("it is no kubeconfig")
    names = [entry["name"] for entry in merged.config.value.get("contexts") or ()]
    has = f"it has {', '.join(map(shown, names)) or 'no context'}"
    if context and context not in names:
        raise ConfigException(f"it has no context {shown(context)}; {has}")
    if not context and not merged.config.value.get("current-context"):
        raise ConfigException(f"it has no current-context, {has}; --context chooses one")
    loader = _Loader(  # type: ignore[no-untyped-call]  # the client's
        config_dict=merged.config,
        active_context=context or None,
        # Files that are named in it are beside the one that names them.
        config_base_path=None,
        config_persister=merged.save_changes,
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # the client's
    return str(loader.current_context["context"].get("namespace") or "")


class _Loader(KubeConfigLoader):
    """The client's loader, which fails where a credential plugin does."""

    def _load_from_exec_plugin(self) -> bool | None:
        """Run the plugin of the user, if there is one.

        Raises:
            ConfigException: It gives no credentials.
        """
        user: Any = self._user
        if "exec" not in user:
            return None
        with _logged() as logged:
            loaded = super()._load_from_exec_plugin()  # type: ignore[no-untyped-call]  # the client's
        if not loaded:
            raise ConfigException(plugin_problem(user["exec"], logged[-1] if logged else ""))
        return True


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Give what the client logs of a credential plugin, which reaches no one else."""
    texts: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.funcName == _PLUGIN_FUNCTION:
                texts.append(record.getMessage())

    root, handler = logging.getLogger(), Handler()
    root.addHandler(handler)
    try:
        yield texts
    finally:
        root.removeHandler(handler)


class KubernetesWatch:
    """A watch on a response of its own."""

    def __init__(self, response: urllib3.HTTPResponse) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield its lines as they come, one event each; an unfinished one at its end is dropped.

        Of a line that is longer than any object the head is given. What was read of a line is joined once.

        Raises:
            UnreachableError: A line has no end.
        """
        begun, size = list[bytes](), 0
        while block := self._response.read1(_BLOCK):
            *ends, rest = block.split(b"\n")
            for end in ends:
                line = b"".join((*begun, end))
                if line:
                    yield line if size + len(end) <= LARGEST_OBJECT else line[:OBJECT_HEAD]
                begun, size = [], 0
            size += len(rest)
            if size <= LARGEST_OBJECT:
                begun.append(rest)
            elif size > _ENDLESS:
                raise UnreachableError(f"a line of a watch is longer than {_ENDLESS >> 20} MiB")
            else:
                begun = [b"".join(begun)[:OBJECT_HEAD]]

    def cancel(self) -> None:
        """End it, from any thread; a thread that waits for its next line wakes up."""
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
        most_bytes: int | None = None,
    ) -> Answer:
        """Send a request over one of the kept connections: see ``ApiServer``."""
        with self._opened(method, path, params or {}, body, headers or {}, read_s=timeout_s) as response:
            return _answer(response, most_bytes)

    @contextmanager
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> Iterator[KubernetesWatch]:
        """Open a watch over a connection of its own: see ``ApiServer``."""
        query = {**params, "watch": "1"}
        with self._opened("GET", path, query, None, {}, read_s=idle_s) as response:
            if response.status != HTTPStatus.OK:
                raise _answer(response).error()
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
            raise UnreachableError(f"{self.url}: {connection_problem(error, timeout_s=read_s)}") from error
        finally:
            if response is not None:
                # What was read to its end is kept for the next request; anything else cannot be.
                if not response.isclosed():
                    response.close()
                response.release_conn()

    def _credentials(self) -> dict[str, str]:
        """Return the header with the credentials; the client renews them."""
        try:
            token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        except (ConfigException, OSError) as error:
            raise UnreachableError(f"{self.url}: no credentials: {kubeconfig_problem(error)}") from error
        return {"Authorization": token} if token else {}


def _answer(response: urllib3.HTTPResponse, most_bytes: int | None = None) -> Answer:
    """Return a response with its body, or the first bytes of that."""
    headers = {name.lower(): value for name, value in response.headers.itermerged()}
    return Answer(response.status, response.read(most_bytes), headers)
