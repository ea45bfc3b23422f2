"""Serves the page on loopback, until it is ended."""

from __future__ import annotations

import socket
import threading
from typing import Any, Final

from flask import Flask
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

#: The address: no other machine reaches it.
HOST: Final = "127.0.0.1"
#: Seconds that a client may take to send the next part of a request.
_READ_TIMEOUT_S: Final = 30
#: Connections at once: a browser opens six; more wait to be accepted.
_MOST_CONNECTIONS: Final = 64


class _Handler(WSGIRequestHandler):
    """Handles a request without a line in the terminal: it would have the token in it."""

    timeout = _READ_TIMEOUT_S

    def version_string(self) -> str:
        return "evenkeel"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # werkzeug names it
        """Log nothing; what goes wrong is in the answers."""


class LoopbackServer(ThreadedWSGIServer):
    """A thread for each of a bounded number of connections."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, app: Flask) -> None:
        """Take over a socket that is bound."""
        listener.listen()
        host, port = listener.getsockname()[:2]
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(host, port, app, _Handler, fd=listener.fileno())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread, when there is one to have."""
        self._places.acquire()
        try:
            super().process_request(request, client_address)
        except Exception:
            # No thread was started. After an interrupt one runs, and releases the place itself.
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a connection in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let a connection end that breaks: the browser knows."""
