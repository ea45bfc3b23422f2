"""An HTTP server of the loopback, for tests that play an API server, and the kubeconfig that leads to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class QuietHandler(BaseHTTPRequestHandler):
    """Answers, and tells nobody of it."""

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in ((headers or {}) | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """Ends the connections that clients keep open, and with them its threads."""

    daemon_threads = False

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._connections: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        for connection in self._connections:
            # Most have ended already.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve for as long as the block runs; give the URL."""
    with _Server(handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def status_of(code: int, reason: str, message: str) -> dict[str, object]:
    """Return the object that an API server refuses with."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


def write_kubeconfig(folder: Path, url: str, *, token: str = "a-token", namespace: str = "") -> str:
    """Write the way to a server, whose only context is called k, and return its file."""
    context = {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "k", "context": context}],
        "current-context": "k",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return str(path)
