"""Why a connection failed, or a kubeconfig: what the client libraries raise is for programmers."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http.client import IncompleteRead, RemoteDisconnected
from typing import Final

from urllib3 import exceptions

#: How the client begins.
_PREFIXES: Final = ("Invalid kube-config file. ", "Invalid kube-config. ")


def connection_problem(error: BaseException, *, timeout_s: float | None = None) -> str:
    """Return why there is no answer, in the words of the first cause that is known.

    Args:
        error: What the client raised.
        timeout_s: Seconds for which an answer was waited for; None if that is not known.
    """
    causes = list(_causes(error))
    by_proxy = any(isinstance(cause, exceptions.ProxyError) for cause in causes)
    proxied = "the proxy does not answer: " if by_proxy else ""
    for cause in reversed(causes):
        if text := _words(cause, timeout_s):
            return proxied + text
    return proxied + _plain(causes[-1])


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
    match error:
        case exceptions.NameResolutionError() | socket.gaierror():
            return "no such host"
        case ssl.SSLCertVerificationError():
            return f"its certificate cannot be verified: {error.verify_message.rstrip('.')}"
        case ssl.SSLError():
            return _tls_words(error)
        case ConnectionRefusedError():
            return "connection refused"
        case exceptions.TimeoutError() | TimeoutError():
            return _timeout_words(error, timeout_s)
        case IncompleteRead() | RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "the connection broke off"
        case exceptions.LocationParseError() | exceptions.LocationValueError():
            return "is not the address of a server"
        case OSError():
            return _system_words(error)
    return ""


def _timeout_words(error: BaseException, timeout_s: float | None) -> str:
    if "handshake" in str(error):
        return "it accepts connections and says nothing: it hangs, or is no API server"
    if not isinstance(error, exceptions.TimeoutError):
        return ""  # urllib3's error around it says what was waited for.
    what = "connection" if isinstance(error, exceptions.ConnectTimeoutError) else "answer"
    return f"no {what} in time" if timeout_s is None else f"no {what} within {timeout_s:.2g} s"


def _tls_words(error: ssl.SSLError) -> str:
    """Return the words for a failed handshake; OpenSSL names the reason in capitals."""
    match error.reason:
        case "WRONG_VERSION_NUMBER" | "HTTP_REQUEST" | "RECORD_LAYER_FAILURE":
            return "it does not speak TLS: is it the right port, and https in the kubeconfig?"
        case "NO_CERTIFICATE_OR_CRL_FOUND" | "PEM_LIB" | "BAD_BASE64_DECODE" | "NO_START_LINE":
            return "a certificate or key of the kubeconfig cannot be read"
        case "UNEXPECTED_EOF_WHILE_READING":
            return "the connection broke off"
    told = error.reason.lower().replace("_", " ") if error.reason else _plain(error)
    return f"the TLS handshake failed: {told}"


def _system_words(error: OSError) -> str:
    """Return the system's words for an error, with the file that it is about; empty if there are none."""
    return ": ".join(filter(None, (error.strerror and error.filename, error.strerror)))


def _plain(error: BaseException) -> str:
    """Return the message of an error, without the addresses of Python objects."""
    text = str(error)
    return text.rpartition(">: ")[2] or text


def kubeconfig_problem(error: Exception) -> str:
    """Return the problem of a kubeconfig, on one line and without its content."""
    if isinstance(error, OSError) and (words := _system_words(error)):
        return words
    if isinstance(error, ValueError | TypeError | KeyError | AttributeError):
        # Python's own words, of a value that is not of the type that the client takes it to be.
        return "it is no valid kubeconfig"
    text = " ".join(str(error).split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    # The client names an object of the file by all that stands in it, which may be secret.
    before, _, content = text.replace("Expected", "expected").partition("{")
    return before.removesuffix("/") + content.rpartition("}")[2]
