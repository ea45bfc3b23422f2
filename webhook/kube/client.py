"""The way to a live cluster: the kubernetes client.

The client finds the cluster (kubeconfig, a pod's service account), keeps tokens fresh, runs credential
plugins, goes through proxies, verifies certificates, and sends. Its answers are read as bytes: its models
would cost a hundred times what the index keeps of them. Why a connection or a kubeconfig failed is said here,
since what the libraries raise is for programmers.
"""

from __future__ import annotations

import os
import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import IncompleteRead
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger
from kubernetes.utils.keepalive import tcp_keepalive_socket_options
from urllib3 import exceptions
from urllib3.util import create_urllib3_context

from policies.manifests.fields import member, shown
from policies.model.workload import DEFAULT_NAMESPACE
from webhook.kube.api_server import TIMEOUT_S, Answer, ApiServer, KubeconfigError, UnreachableError, Watch

#: What errors mean of which no more needs to be said.
_BROKE_OFF: Final = "the connection broke off"
_MEANINGS: Final[dict[type[BaseException], str]] = {
    socket.gaierror: "no such host",
    ConnectionRefusedError: "connection refused",
    **dict.fromkeys((IncompleteRead, ConnectionResetError, BrokenPipeError), _BROKE_OFF),
    exceptions.LocationValueError: "is not the address of a server",
}
_NO_PEM: Final = "a certificate or key of the kubeconfig cannot be read"
_NO_TLS: Final = "it does not speak TLS: is it the right port, and https in the kubeconfig?"
#: What a failed handshake means, by OpenSSL's name of the reason.
_TLS_REASONS: Final = {
    **dict.fromkeys(("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"), _NO_TLS),
    **dict.fromkeys(
        ("NO_CERTIFICATE_OR_CRL_FOUND", "PEM_LIB", "BAD_BASE64_DECODE", "NO_START_LINE"), _NO_PEM
    ),
    "UNEXPECTED_EOF_WHILE_READING": _BROKE_OFF,
}


def connection_problem(error: BaseException, *, timeout_s: float | None = None) -> str:
    """Return why there is no answer, in the words of the first cause that is known.

    Args:
        error: What the client raised.
        timeout_s: Seconds for which an answer was waited for; None if that is not known.
    """
    causes = list(_causes(error))
    by_proxy = any(isinstance(cause, exceptions.ProxyError) for cause in causes)
    known = (words for cause in reversed(causes) if (words := _words(cause, timeout_s)))
    return f"{'the proxy does not answer: ' if by_proxy else ''}{next(known, _plain(causes[-1]))}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it, the first cause last."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        # urllib3 keeps a cause in either place, and of some errors only among their arguments.
        places = (getattr(cause, "reason", None), cause.__cause__, *cause.args)
        cause = next((inner for inner in places if isinstance(inner, BaseException)), None)


def _words(error: BaseException, timeout_s: float | None) -> str:
    """Return the words for an error; empty for one that only wraps another, or is not known."""
    for kind, meaning in _MEANINGS.items():
        if isinstance(error, kind):
            return meaning
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate cannot be verified: {error.verify_message.rstrip('.')}"
        case ssl.SSLError():
            name = error.reason or _plain(error)
            return _TLS_REASONS.get(name) or f"the TLS handshake failed: {name.lower().replace('_', ' ')}"
        case exceptions.TimeoutError() | TimeoutError() if "handshake" in str(error):
            return "it accepts connections and says nothing: it hangs, or is not an API server"
        case exceptions.TimeoutError():
            what = "connection" if isinstance(error, exceptions.ConnectTimeoutError) else "answer"
            return f"no {what} in time" if timeout_s is None else f"no {what} within {timeout_s:.2g} s"
        case TimeoutError():
            return ""  # urllib3's error around it says what was waited for.
        case OSError():
            # The system's words, with the file that they are about.
            return ": ".join(filter(None, (error.strerror and error.filename, error.strerror)))
    return ""


def _plain(error: BaseException) -> str:
    """Return the message of an error, without the addresses of Python objects."""
    text = str(error)
    return text.rpartition(">: ")[2] or text


def kubeconfig_problem(error: Exception) -> str:
    """Return the problem of a kubeconfig, on one line and without its content."""
    if isinstance(error, ssl.SSLError):
        return _NO_PEM
    if isinstance(error, OSError) and (words := _words(error, None)):
        return words
    if isinstance(error, ValueError | TypeError | KeyError | AttributeError):
        # Python's own words, of a value that is not of the type that the client takes it to be.
        return "it is not a valid kubeconfig"
    text = " ".join(str(error).split()).removeprefix("Invalid kube-config file. ")
    # The client names an object of the file by all that stands in it, which may be secret.
    before, _, content = (
        text.removeprefix("Invalid kube-config. ").replace("Expected", "expected").partition("{")
    )
    return before.removesuffix("/") + content.rpartition("}")[2]


#: Seconds for a TCP and TLS connection.
_CONNECT_S: Final = 10.0
#: Connections that are kept: a watch for each kind, and other requests.
_CONNECTIONS: Final = 32
#: Where a pod finds the name of its namespace.
_POD_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
#: The kubeconfig where none is named.
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
    # Who sends a request knows whether to send it again; nor is a redirection followed.
    configuration.retries = False
    # The client reads the variable once, when it is imported.
    kubeconfig = kubeconfig or os.environ.get("KUBECONFIG", "")
    in_pod = not context and not kubeconfig and "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        if in_pod:
            config.load_incluster_config(client_configuration=configuration)
            namespace = _POD_NAMESPACE.read_text().strip() if _POD_NAMESPACE.exists() else ""
        else:
            namespace = _load_kubeconfig(configuration, context, kubeconfig or _KUBECONFIG)
        return KubernetesApiServer(configuration, namespace or DEFAULT_NAMESPACE)
    except (
        ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError,
    ) as error:  # fmt: skip
        file = kubeconfig or _KUBECONFIG
        what = "the credentials of this pod" if in_pod else f"kubeconfig {file}"
        problem = kubeconfig_problem(error).removeprefix(file).removeprefix(":").strip()
        raise KubeconfigError(f"cannot load {what}: {problem}") from error


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
    )
    loader.load_and_set(configuration)
    chosen = member(loader.current_context, "context")
    entry = merged.config["users"].get_with_name(chosen.get("user"), safe=True)
    plugin = entry["user"].safe_get("exec") if entry else None
    if plugin and not (configuration.api_key or configuration.cert_file):
        # The client logs why, and goes on.
        text = f"the credential plugin {shown(plugin['command'])} gave no credentials"
        hint = plugin.get("installHint")
        raise ConfigException(f"{text}; if it is not installed: {hint}" if hint else text)
    return str(chosen.get("namespace") or "")


def _take_embedded(configuration: client.Configuration) -> ssl.SSLContext | None:
    """Return the context of certificates and keys that a kubeconfig embeds; None if it embeds none.

    The client writes them into temporary files, which it removes when any process ends that knows of them,
    be it a worker whose master and successors go on. Files that a kubeconfig names are read again for each
    connection: others may write new ones.
    """
    ca, certificate, key = configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file
    if tempfile.tempdir not in {str(Path(file).parent) for file in (ca, certificate, key) if file}:
        return None
    context = create_urllib3_context(cert_reqs=None if configuration.verify_ssl else ssl.CERT_NONE)
    if ca:
        context.load_verify_locations(ca)
    else:
        context.load_default_certs()
    if certificate:
        # Without a password nobody is asked for one.
        context.load_cert_chain(certificate, key, password="")
    configuration.ssl_ca_cert = configuration.cert_file = configuration.key_file = None
    return context


class KubernetesApiServer(ApiServer):
    """An API server behind the kubernetes client.

    Attributes:
        client: The client, with connections of its own.
    """

    def __init__(self, configuration: client.Configuration, namespace: str) -> None:
        context = _take_embedded(configuration)
        self.client = client.ApiClient(configuration)
        if context is not None:
            self.client.rest_client.pool_manager.connection_pool_kw["ssl_context"] = context
        self.url, self.namespace = str(configuration.host), namespace

    def send(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int | None = None,
        **options: Any,
    ) -> Answer:
        """Send a request over one of the kept connections: see ``ApiServer``."""
        with self._opened(method, path, read_s=timeout_s, **options) as response:
            return Answer(response.status, response.read(most_bytes), response.headers)

    @contextmanager
    def watch(self, path: str, params: Mapping[str, str], *, idle_s: float) -> Iterator[Watch]:
        """Open a watch over a connection of its own: see ``ApiServer``."""
        with self._opened("GET", path, read_s=idle_s, params={**params, "watch": "1"}) as response:
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
        *,
        read_s: float,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
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
