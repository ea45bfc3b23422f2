"""The way to a live cluster: the kubernetes client.

The client finds the cluster (kubeconfig, a pod's service account), keeps tokens fresh, runs credential
plugins, goes through proxies, verifies certificates, and sends. Its answers are read as bytes: its models
would cost a hundred times what the index keeps of them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from policies.manifests.fields import member, shown
from policies.model.workload import DEFAULT_NAMESPACE
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, KubeconfigError, UnreachableError, Watch
from webhook.kube.error_messages import connection_problem, kubeconfig_problem

#: Seconds for a TCP and TLS connection.
_CONNECT_S: Final = 10.0
#: Connections that are kept: a watch for each kind, and other requests.
_CONNECTIONS: Final = 32
#: Where a pod finds the name of its namespace.
_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
#: Set in every pod.
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
#: The kubeconfig where none is named.
_KUBECONFIG: Final = "~/.kube/config"
#: The files of a configuration.
_FILES: Final = ("ssl_ca_cert", "cert_file", "key_file")


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
    # Who sends a request knows whether to send it again; nor is a redirection followed.
    configuration.retries = False
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
    """Load a context of a kubeconfig, its current one if none is named, and return its namespace.

    Raises:
        ConfigException: The file cannot be used, or its credential plugin gives no credentials.
        OSError: A file that it names cannot be read.
    """
    merged = KubeConfigMerger(file)
    if merged.config is None:
        raise ConfigException("there is no such file")
    names = [entry["name"] for entry in merged.config.value.get("contexts") or ()]
    has = f"it has {', '.join(map(shown, names)) or 'no context'}"
    if context and context not in names:
        raise ConfigException(f"it has no context {shown(context)}; {has}")
    if not context and not merged.config.value.get("current-context"):
        raise ConfigException(f"it has no current-context, {has}; --context chooses one")
    loader = KubeConfigLoader(
        config_dict=merged.config,
        active_context=context or None,
        # Files that are named in it are beside the one that names them.
        config_base_path=None,
        config_persister=merged.save_changes,
        temp_file_path=_credentials_folder(),
    )
    loader.load_and_set(configuration)
    _keep_files(configuration)
    chosen = member(loader.current_context, "context")
    _check_plugin(configuration, merged.config, str(chosen.get("user")))
    return str(chosen.get("namespace") or "")


def _check_plugin(configuration: client.Configuration, kubeconfig: ConfigNode, user: str) -> None:
    """Make sure that a credential plugin gave credentials; if not, the client logs why, and goes on.

    Raises:
        ConfigException: It did not.
    """
    if configuration.api_key or configuration.cert_file or not kubeconfig.safe_get("users"):
        return
    entry = kubeconfig["users"].get_with_name(user, safe=True)
    plugin = entry.safe_get("user").get("exec") if entry else None
    if plugin:
        text = f"the credential plugin {shown(plugin['command'])} gave no credentials"
        hint = plugin.get("installHint")
        raise ConfigException(f"{text}; if it is not installed: {hint}" if hint else text)


@cache
def _credentials_folder() -> str | None:
    """Return the folder of the files that the client makes of embedded certificates and keys.

    OpenSSL reads nothing else. It is removed when this process ends. None where none can be made, which
    matters only to who has embedded some.
    """
    try:
        folder, owner = tempfile.mkdtemp(prefix="evenkeel-"), os.getpid()
    except OSError:
        return None

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _keep_files(configuration: client.Configuration) -> None:
    """Have the files that the client made of embedded certificates and keys outlive forks.

    The client removes them when any process ends that knows of them, be it a worker whose master and
    successors go on reading them.
    """
    folder = _credentials_folder()
    for name in _FILES:
        file = getattr(configuration, name)
        if folder and file and file.startswith(folder):
            kept = f"{file}.kept"
            with suppress(FileExistsError):
                os.link(file, kept)
            setattr(configuration, name, kept)


class KubernetesApiServer(ApiServer):
    """An API server behind the kubernetes client.

    Attributes:
        client: The client, with connections of its own.
    """

    def __init__(self, configuration: client.Configuration, namespace: str) -> None:
        self.client = client.ApiClient(configuration)
        self.url, self.namespace = str(configuration.host), namespace

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
    ) -> Answer:
        """Send a request over one of the kept connections: see ``ApiServer``."""
        with self._opened(method, path, params, body, headers, read_s=timeout_s) as response:
            return Answer(response.status, response.read(most_bytes), response.headers)

    @contextmanager
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> Iterator[Watch]:
        """Open a watch over a connection of its own: see ``ApiServer``."""
        with self._opened("GET", path, {**params, "watch": "1"}, read_s=idle_s) as response:
            if response.status != HTTPStatus.OK:
                raise Answer(response.status, response.read(), response.headers).error()

            def cancel() -> None:
                # It may have ended by itself at the same moment.
                with suppress(OSError, RuntimeError, ValueError):
                    response.shutdown()

            yield Watch(response.read1, cancel)

    @contextmanager
    def _opened(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        read_s: float,
    ) -> Iterator[urllib3.HTTPResponse]:
        sent = {"Accept": "application/json", **(headers or {})}
        if body is not None:
            patch = "json-patch+" if isinstance(body, list) else "merge-patch+" if method == "PATCH" else ""
            sent["Content-Type"] = f"application/{patch}json"
        response = None
        try:
            request = self.client.param_serialize(
                method,
                path,
                query_params=list((params or {}).items()),
                header_params=sent,
                body=body,
                auth_settings=["BearerToken"],
            )
            timeout = min(_CONNECT_S, read_s), read_s
            response = self.client.call_api(*request, _request_timeout=timeout).response
            yield response
        except ConfigException as error:
            raise UnreachableError(f"{self.url}: no credentials: {kubeconfig_problem(error)}") from error
        except (urllib3.exceptions.HTTPError, client.ApiException, OSError) as error:
            # The client's own error stands for one of TLS.
            cause = error.__context__ or error if isinstance(error, client.ApiException) else error
            raise UnreachableError(f"{self.url}: {connection_problem(cause, timeout_s=read_s)}") from error
        finally:
            if response is not None:
                # What was read to its end is kept for the next request; anything else cannot be.
                if not response.isclosed():
                    response.close()
                response.release_conn()
