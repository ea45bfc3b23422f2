"""Why there is no answer, in words."""

from __future__ import annotations

import socket
import ssl
from http.client import IncompleteRead

import pytest
from urllib3 import exceptions

from webhook.kube.client import connection_problem

REFUSED = ConnectionRefusedError(111, "Connection refused")


def tls(name: str | None) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {name}] whatever (_ssl.c:1006)")
    error.reason = name  # type: ignore[assignment]
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1006)")
    error.verify_message = "self-signed certificate"
    return error


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(REFUSED, "connection refused", id="refused"),
        pytest.param(caused(exceptions.HTTPError("x"), REFUSED), "connection refused", id="refused, wrapped"),
        pytest.param(
            exceptions.ProxyError("x", REFUSED), "the proxy does not answer: connection", id="proxy"
        ),
        pytest.param(socket.gaierror(-2, "Name or service not known"), "no such host", id="name"),
        pytest.param(exceptions.SSLError(untrusted()), "cannot be verified: self-signed", id="certificate"),
        pytest.param(exceptions.SSLError(tls("WRONG_VERSION_NUMBER")), "does not speak TLS", id="no TLS"),
        pytest.param(tls("NO_CERTIFICATE_OR_CRL_FOUND"), "of the kubeconfig cannot be read", id="no CA"),
        pytest.param(
            tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
            "the TLS handshake failed: tlsv13 alert certificate required",
            id="alert",
        ),
        pytest.param(TimeoutError("timed out"), "timed out", id="time of the socket"),
        pytest.param(exceptions.ConnectTimeoutError(), "no connection in time", id="time to connect"),
        pytest.param(exceptions.ReadTimeoutError(None, "", "x"), "no answer in time", id="time to read"),  # type: ignore[arg-type]
        pytest.param(
            exceptions.ProtocolError("x", IncompleteRead(b"")), "the connection broke off", id="broken"
        ),
        pytest.param(exceptions.ProtocolError("x", ConnectionResetError(104, "x")), "broke off", id="reset"),
        pytest.param(exceptions.LocationParseError("x"), "is not the address of a server", id="no URL"),
        pytest.param(
            OSError(101, "Network is unreachable"), "Network is unreachable", id="the system's words"
        ),
        pytest.param(exceptions.HTTPError("<X object at 0x7f>: odd"), "odd", id="unknown"),
    ],
)
def test_reason(error: Exception, expected: str) -> None:
    """The first cause is told as a sentence: without numbers, modules and objects of Python."""
    told = connection_problem(error)

    assert expected in told
    assert [] == [word for word in ("Errno", "_ssl.c", "object at", "Error(") if word in told]


def test_causes_in_a_circle() -> None:
    """An error that is its own cause is told all the same."""
    error = exceptions.HTTPError("odd")
    error.__cause__ = error

    assert "odd" == connection_problem(error)
