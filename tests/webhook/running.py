"""A real ``evenkeel serve`` in a process of its own, and clients that behave and misbehave."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_S, eventually


def review_of(obj: dict[str, Any]) -> bytes:
    """Return a review of a new object of the namespace shop."""
    group, _, version = obj["apiVersion"].rpartition("/")
    request = {
        "uid": "6b1f",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "operation": "CREATE",
        "namespace": "shop",
        "name": obj["metadata"]["name"],
        "object": obj,
        "oldObject": None,
        "dryRun": False,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


#: A review that every policy lets through at once.
REVIEW = review_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})

#: A score request of 3 MB that takes many seconds.
HEAVY = b'{"pod": {"metadata": {"name": "web"}}, "cluster": {"pods": [' + b"{}," * 1_000_000 + b"{}]}}"

_RUN = "from webhook.cli.start import run; run()"


@dataclass
class Answer:
    """A response with its body read."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A running server; ``log`` is the file its stderr goes to."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int = 0
    context: ssl.SSLContext = field(default_factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def lines(self, event: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if f" {event} " in f"{line} "]

    def plain(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def tls(self) -> ssl.SSLSocket:
        return self.context.wrap_socket(self.plain(), server_hostname="127.0.0.1")

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=PATIENCE_S)

    def ask(self, method: str, path: str, *, body: bytes | None = None, **headers: str) -> Answer:
        connection = self.connect()
        try:
            return ask(connection, method, path, body=body, **headers)
        finally:
            connection.close()

    def review(self) -> Answer:
        return self.ask("POST", "/validate", body=REVIEW, content_type="application/json")

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]


def sockets(process: int) -> dict[str, str]:
    """Return the sockets that a process holds, by their descriptors; not one that is just being closed."""
    held = {}
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            held[entry.name] = str(entry.readlink())
    return {number: name for number, name in held.items() if name.startswith("socket:")}


def accepts(process: int) -> bool:
    """Return whether a process waits for connections, as a worker does that has started."""
    listening = set()
    with suppress(FileNotFoundError):
        for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines():
            _, _, _, state, *_, inode = line.split()[:10]
            listening |= {f"socket:[{inode}]"} if state == "0A" else set()
        for line in Path(f"/proc/{process}/net/unix").read_text().splitlines():
            _, _, _, flags, _, _, inode = line.split()[:7]
            listening |= {f"socket:[{inode}]"} if flags == "00010000" else set()
        held = sockets(process)
        for polled in Path(f"/proc/{process}/fdinfo").iterdir():
            text = polled.read_text()
            waits_for = {line.split()[1] for line in text.splitlines() if line.startswith("tfd:")}
            if any(held.get(number) in listening for number in waits_for):
                return True
    return False


def children_of(pid: int) -> list[int]:
    """Return the children of a process, of all of its threads."""
    tasks = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in tasks for child in text.split()]


def fork_servers(server: Server) -> list[int]:
    """Return the processes that hold the cluster for answers, which Python's forkserver starts."""
    return [
        holding
        for worker in server.workers()
        for starting in children_of(worker)
        for holding in children_of(starting)
    ]


def computing(server: Server) -> list[int]:
    """Return the processes that compute answers."""
    return [child for holding in fork_servers(server) for child in children_of(holding)]


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    **headers: str,
) -> Answer:
    """Send one request on a connection that may be kept."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=named)
    response = connection.getresponse()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, found, response.read())


def read_all(sock: socket.socket) -> bytes:
    """Read until the server closes; a reset ends it too."""
    parts = []
    try:
        while part := sock.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@contextmanager
def serving(
    folder: Path, *options: str, certificate: tuple[str, ...] = ("--self-signed",)
) -> Iterator[Server]:
    """Run a server until the block ends; with one worker that reviews, unless options say more.

    All of its workers have started: one that has not takes no connection, and has nothing to drain.
    """
    log = folder / "log"
    command = [
        sys.executable,
        "-c",
        _RUN,
        "serve",
        "--bind",
        "127.0.0.1:0",
        *certificate,
        "--workers=1",
        # Those of the API start for as long as a test takes.
        "--role=admission",
        *options,
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("EVENKEEL_")}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, stdout=stderr, env=environment)
    server = Server(process, log)
    try:
        line = eventually(lambda: server.lines("serving") or process.poll() is not None)
        assert line is not True, f"exit code {process.returncode}: {log.read_text()}"
        fields = dict(part.split("=", 1) for part in line[0].split() if "=" in part)
        server.port = int(fields["url"].rpartition(":")[2])
        server.context.load_verify_locations(fields["ca"])
        most = int(fields["workers"]) + (fields["role"] == "all")
        eventually(lambda: len(server.workers()) == most and all(map(accepts, server.workers())))
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
