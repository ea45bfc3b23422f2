"""An HTTP endpoint that answers score requests, as ``POST /v1/score`` does."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from conformance.case import Operation
from conformance.implementation import (
    MOST_ANSWER_BYTES,
    DeclinedError,
    ImplementationError,
    NoAnswerError,
)
from policies.manifests.errors import EvenkeelError, UsageError
from policies.manifests.sanitize import one_line

#: What says that an endpoint does not answer such a request, or none at all.
_DECLINED: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.NOT_IMPLEMENTED,
    }
)
#: What no other request would change.
_REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_REDIRECTS: Final = range(300, 400)
#: Requests without an answer after each other until an endpoint is given up.
_MOST_FAILURES: Final = 3


class Endpoint:
    """An endpoint. See ``Implementation``."""

    def __init__(self, url: str, *, token: str, ca_file: str | None, timeout_s: float) -> None:
        """Take its address; nothing is sent yet.

        Args:
            url: Where score requests are posted to. If its path ends in ``/score``, simulate requests go to
                ``/simulate`` beside it.
            token: Sent as ``Authorization: Bearer``; empty for none.
            ca_file: Certificates of the CAs to trust; None for the system's.
            timeout_s: Seconds for each answer.

        Raises:
            UsageError: The URL is none, or the token would be sent in the clear.
        """
        self.title = one_line(url)
        parts = _split(url)
        if token and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise UsageError("a token is only sent over https, or to the loopback interface")
        self._paths = {Operation.SCORE: f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"}
        if parts.path.endswith("/score"):
            self._paths[Operation.SIMULATE] = parts.path.removesuffix("score") + "simulate"
        self.operations = frozenset(self._paths)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout_s = timeout_s
        self._connection = _connection(parts, ca_file, timeout_s)
        self._failures = 0
        self._answered = False

    def answer(self, operation: Operation, request: bytes) -> bytes:
        """Return the answer; see ``Implementation``."""
        status, body = self._post(self._paths[operation], request)
        if status == HTTPStatus.OK:
            return body
        text = one_line(body[:200].decode(errors="replace").strip())
        if status in _REDIRECTS:
            text = "redirects are not followed"
        what = f"HTTP {status}{f': {text}' if text else ''}"
        if status in _REFUSED:
            raise ImplementationError(f"{self.title}: {what}")
        if status in _DECLINED:
            raise DeclinedError(what)
        raise NoAnswerError(what)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _post(self, path: str, request: bytes) -> tuple[int, bytes]:
        """Send a request, again if the server had closed the connection since the last, as servers do."""
        reused = self._connection.sock is not None
        deadline = _Deadline(self._timeout_s)
        try:
            status, body = self._send(path, request, deadline)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if reused and isinstance(error, ConnectionError) and not deadline.passed:
                return self._post(path, request)
            raise self._failure(error, deadline) from error
        self._answered, self._failures = True, 0
        return status, body

    def _send(self, path: str, request: bytes, deadline: _Deadline) -> tuple[int, bytes]:
        connection = self._connection
        if connection.sock is None:
            connection.connect()
        with deadline.over(connection.sock):
            connection.request("POST", path, request, self._headers)
            response = connection.getresponse()
            body = response.read(MOST_ANSWER_BYTES + 1)
        if deadline.passed:
            raise TimeoutError
        if len(body) > MOST_ANSWER_BYTES:
            raise http.client.HTTPException(f"the answer has more than {MOST_ANSWER_BYTES >> 20} MiB")
        return response.status, body

    def _failure(self, error: Exception, deadline: _Deadline) -> EvenkeelError:
        """Return the error of a request without an answer: it ends the run if none was ever answered."""
        self._failures += 1
        if deadline.passed or isinstance(error, TimeoutError):
            why = f"no answer within {self._timeout_s:g} s"
        elif isinstance(error, ssl.SSLCertVerificationError):
            why = f"{error.verify_message}; --ca-file FILE names the CA to trust"
        elif isinstance(error, http.client.HTTPException):
            why = f"no HTTP answer: {one_line(str(error) or type(error).__name__)}"
        else:
            why = getattr(error, "strerror", None) or str(error)
        if not self._answered or self._failures >= _MOST_FAILURES:
            return ImplementationError(f"{self.title}: {why}")
        return NoAnswerError(why)


class _Deadline:
    """The end of the time of one request, however slowly its bytes trickle."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.passed = False

    @contextmanager
    def over(self, connection: socket.socket) -> Iterator[None]:
        """Shut a connection down if the block takes longer."""

        def shut() -> None:
            self.passed = True
            with suppress(OSError):
                # Not the method of a TLS socket, which must not be called while another thread reads.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

        timer = threading.Timer(self._timeout_s, shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _split(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises:
        UsageError: It is none that requests can be posted to.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise UsageError(f"--against: {one_line(url)}: {error}") from error
    if not usable or parts.username is not None or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"--against: {one_line(url)}: must be a URL such as https://127.0.0.1:8443/v1/score")
    return parts


def _connection(parts: SplitResult, ca_file: str | None, timeout_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        raise UsageError(f"--ca-file: {ca_file}: has no certificate in PEM") from error
    return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=context)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
