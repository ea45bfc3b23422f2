"""Why a connection failed, or a kubeconfig: what the client libraries raise is for programmers."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http.client import IncompleteRead
from typing import Final

from urllib3 import exceptions

#: What errors mean of which no more needs to be said.
_MEANINGS: Final[dict[type[BaseException], str]] = {
    socket.gaierror: "no such host",
    ConnectionRefusedError: "connection refused",
    IncompleteRead: "the connection broke off",
    ConnectionResetError: "the connection broke off",
    BrokenPipeError: "the connection broke off",
    exceptions.LocationValueError: "is not the address of a server",
}
_NO_PEM: Final = "a certificate or key of the kubeconfig cannot be read"
_NO_TLS: Final = "it does not speak TLS: is it the right port, and https in the kubeconfig?"
#: What a failed handshake means, by OpenSSL's name of the reason.
_TLS_REASONS: Final = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "NO_CERTIFICATE_OR_CRL_FOUND": _NO_PEM,
    "PEM_LIB": _NO_PEM,
    "BAD_BASE64_DECODE": _NO_PEM,
    "NO_START_LINE": _NO_PEM,
    "UNEXPECTED_EOF_WHILE_READING": "the connection broke off",
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
