"""The page on loopback, until it is ended, for who has the token and comes from its own address."""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from flask import Flask
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

#: The address: no other machine reaches it.
HOST: Final = "127.0.0.1"
#: Bytes of a token: no one guesses it.
_TOKEN_BYTES: Final = 32
#: The names of loopback. A page of another name that resolves to it sends that name (DNS rebinding).
_NAMES: Final = (HOST, "localhost", "[::1]")
#: What a browser says of a request that the page itself, or the person, made.
_OWN_FETCHES: Final = frozenset({"", "same-origin", "none"})


class PageAccess:
    """The secrets of one run, and what requests must say.

    Attributes:
        token: What requests to the API bear.
        address: Where the page is, with the token.
        opening: Where a browser is sent first, once. Other users of the machine see the arguments with which
            a browser is started: these name a file with this address, which only the user can read.
    """

    def __init__(self, port: int, token: str = "") -> None:
        """Make the secrets of a server that listens on a port."""
        self.token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self.address = f"http://{HOST}:{port}/?token={self.token}"
        self._code: str | None = secrets.token_urlsafe(_TOKEN_BYTES)
        self.opening = f"http://{HOST}:{port}/open/{self._code}"
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)
        self._taking = threading.Lock()

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Return why a request is refused that another site could have sent; empty if it is not."""
        if headers.get("Host", "").lower() not in self._hosts:
            return "Host must be the loopback address of the page"
        origin = headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return "requests of other origins are refused"
        return ""

    def is_foreign(self, headers: Mapping[str, str]) -> bool:
        """Return whether a browser says that another site made a request."""
        return headers.get("Sec-Fetch-Site", "") not in _OWN_FETCHES

    def bears_token(self, authorization: str) -> bool:
        """Return whether a header has the token."""
        scheme, _, given = authorization.partition(" ")
        # As bytes: compare_digest takes no text beyond ASCII.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def take_code(self, given: str) -> bool:
        """Return whether a code is that of ``opening``, which is then used up."""
        with self._taking:
            code, known = self._code, False
            if code is not None and hmac.compare_digest(given.encode(), code.encode()):
                known, self._code = True, None
            return known


#: Seconds that a client may take to send the next part of a request.
_READ_TIMEOUT_S: Final = 30
#: Connections at once: a browser opens six.
_MOST_CONNECTIONS: Final = 64
#: Seconds in which a connection that was ended leaves its place.
_ENDING_S: Final = 1.0


class _Handler(WSGIRequestHandler):
    """Handles a request without a line in the terminal: it would have the token in it."""

    timeout = _READ_TIMEOUT_S

    def run_wsgi(self) -> None:
        """Answer a request whose head has come."""
        server = cast("LoopbackServer", self.server)
        server.note(self.connection, self.headers.get("Authorization", ""))
        super().run_wsgi()

    def version_string(self) -> str:
        return "evenkeel"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # werkzeug names it
        """Log nothing; what goes wrong is in the answers."""


class LoopbackServer(ThreadedWSGIServer):
    """A thread for each of a bounded number of connections.

    Where there are too many, the oldest ends that has not shown the token: every program of the machine can
    open connections and say nothing.
    """

    daemon_threads = True

    def __init__(self, listener: socket.socket, app: Flask, bears_token: Callable[[str], bool]) -> None:
        """Take over a socket that is bound.

        Args:
            listener: The socket.
            app: What answers.
            bears_token: Returns whether the header of a request has the token.
        """
        self._bears_token = bears_token
        # In the order in which they came.
        self._strangers: dict[socket.socket, None] = {}
        self._noting = threading.Lock()
        listener.listen()
        host, port = listener.getsockname()[:2]
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(host, port, app, _Handler, fd=listener.fileno())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread; end it if all have work with the token."""
        if not self._places.acquire(blocking=False):
            self._end_oldest()
            if not self._places.acquire(timeout=_ENDING_S):
                self.shutdown_request(request)
                return
        with self._noting:
            self._strangers[request] = None
        try:
            super().process_request(request, client_address)
        except Exception:
            # No thread was started. After an interrupt one runs, and releases the place itself.
            self._leave(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a connection in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request)

    def note(self, connection: socket.socket, authorization: str) -> None:
        """Keep a connection whose request has the token."""
        if self._bears_token(authorization):
            with self._noting:
                self._strangers.pop(connection, None)

    def _end_oldest(self) -> None:
        with self._noting:
            connection = next(iter(self._strangers), None)
            if connection is not None:
                del self._strangers[connection]
                # Its thread reads or writes no more, and ends.
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _leave(self, request: Any) -> None:
        with self._noting:
            self._strangers.pop(request, None)
        self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a connection end that breaks: the browser knows."""
