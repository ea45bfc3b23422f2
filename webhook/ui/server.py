"""Serves the page on loopback, until it is ended."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, cast

from flask import Flask
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

#: The address: no other machine reaches it.
HOST: Final = "127.0.0.1"
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
