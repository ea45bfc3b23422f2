"""A small API server of the loopback: lists in pages, watches from a version, faults where a test asks."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.waiting import PATIENCE_S
from tests.webhook.loopback import QuietHandler
from webhook.kube.watched_resources import SPREAD_POLICIES, WATCHED_RESOURCES

Object = dict[str, Any]
#: Answers one request in place of the server.
Fault = Callable[["Handler"], None]

_PATHS = {resource.path: resource for resource in (*WATCHED_RESOURCES, SPREAD_POLICIES)}


@dataclass(frozen=True)
class Asked:
    """One request."""

    at: float
    path: str
    query: dict[str, str]

    @property
    def watch(self) -> bool:
        return "watch" in self.query


@dataclass
class FakeApiServer:
    """The objects of the server; ``changed`` guards them."""

    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    #: The texts that are sent in place of some objects.
    texts: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    #: The version, type, kind and text of each event.
    history: list[tuple[int, str, str, bytes]] = field(default_factory=list)
    version: int = 1
    #: Versions below are forgotten.
    compacted: int = 0
    asked: list[Asked] = field(default_factory=list)
    #: Paths of resources that the server does not have.
    undefined: set[str] = field(default_factory=set)
    #: Paths of resources that may not be listed, and that may not be watched.
    forbidden: set[str] = field(default_factory=set)
    unwatched: set[str] = field(default_factory=set)
    #: Whether nothing may be written.
    read_only: bool = False
    #: The answers to the next lists and watches, if they fail.
    list_faults: deque[Fault | None] = field(default_factory=deque)
    watch_faults: deque[Fault | None] = field(default_factory=deque)
    changed: threading.Condition = field(default_factory=threading.Condition)
    closed: bool = False
    url: str = ""
    connections: set[socket.socket] = field(default_factory=set)

    def put(self, obj: Object, text: bytes = b"") -> None:
        """Add or replace an object and tell the watches; a text is sent in its place."""
        self._happen("ADDED" if self._key(obj) not in self.objects else "MODIFIED", obj, text)

    def delete(self, obj: Object, text: bytes = b"") -> None:
        """Remove an object and tell the watches; a text is sent in its place."""
        self._happen("DELETED", obj, text)

    def tell(self, kind: str, verb: str, text: bytes) -> None:
        """Send the watches of a kind an event, whatever there is."""
        with self.changed:
            self.version += 1
            self.history.append((self.version, verb, kind, text))
            self.changed.notify_all()

    def compact(self) -> None:
        """Forget all versions so far: the next to go on from one is told that it is gone."""
        with self.changed:
            self.version += 1
            self.compacted = self.version

    def drop(self) -> None:
        """Break every connection off."""
        with self.changed:
            for connection in self.connections:
                # Its client may have closed it at the same moment.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def names(self, kind: str) -> set[str]:
        with self.changed:
            return {name for held, _, name in self.objects if held == kind}

    def requests(self, *, watch: bool, path: str = "/api/v1/pods") -> list[Asked]:
        return [asked for asked in self.asked if asked.watch == watch and asked.path == path]

    @staticmethod
    def _key(obj: Object) -> tuple[str, str, str]:
        return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

    def _happen(self, verb: str, obj: Object, text: bytes) -> None:
        with self.changed:
            key = self._key(obj)
            obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version + 1)}}
            self.texts.pop(key, None)
            if verb == "DELETED":
                del self.objects[key]
            else:
                self.objects[key] = obj
                if text:
                    self.texts[key] = text
            self.tell(obj["kind"], verb, text or json.dumps(obj).encode())


class Handler(QuietHandler):
    """Answers as an API server does, unless a fault is due."""

    protocol_version = "HTTP/1.1"
    state: FakeApiServer

    def setup(self) -> None:
        super().setup()
        with self.state.changed:
            self.state.connections.add(self.connection)

    def finish(self) -> None:
        with self.state.changed:
            self.state.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:  # noqa: N802  # as the standard library calls it
        url = urlsplit(self.path)
        asked = Asked(time.monotonic(), url.path, dict(parse_qsl(url.query)))
        with self.state.changed:
            self.state.asked.append(asked)
            faults = self.state.watch_faults if asked.watch else self.state.list_faults
            fault = faults.popleft() if faults and url.path == "/api/v1/pods" else None
        try:
            if fault is not None:
                fault(self)
            elif asked.path in self.state.undefined:
                self.reply(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})
            elif asked.path in self.state.forbidden | (self.state.unwatched if asked.watch else set()):
                status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "forbidden"}
                self.reply(403, status)
            elif asked.watch:
                self._watch(asked)
            elif asked.path == "/version":
                self.reply(200, {"major": "1", "minor": "30", "gitVersion": "v1.30.4-gke.1"})
            else:
                self._list(asked)
        except OSError:
            self.close_connection = True

    def do_PATCH(self) -> None:  # noqa: N802  # as the standard library calls it
        """Replace the status of a policy, if its version is still the one that the patch names."""
        patch = {entry["path"]: entry["value"] for entry in json.loads(self.body())}
        name = urlsplit(self.path).path.removeprefix(f"{SPREAD_POLICIES.path}/").removesuffix("/status")
        with self.state.changed:
            obj = self.state.objects.get((SPREAD_POLICIES.kind, "", name))
        if self.state.read_only:
            self.reply(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "forbidden"})
            return
        if obj is None or obj["metadata"]["resourceVersion"] != patch["/metadata/resourceVersion"]:
            status = 404 if obj is None else 409
            self.reply(status, {"kind": "Status", "code": status, "message": "not as it was"})
            return
        self.state.put(obj | {"status": patch["/status"]})
        self.reply(200, obj)

    def body(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, status: int, body: object, **headers: str) -> None:
        """Send a whole answer, of JSON unless it is bytes already."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answer(status, text, {name.replace("_", "-"): value for name, value in headers.items()})

    def stream(self) -> None:
        """Begin an answer of chunks."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, text: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))

    def _list(self, asked: Asked) -> None:
        resource = _PATHS[asked.path]
        start, version = 0, ""
        if place := asked.query.get("continue"):
            begun, _, version = place.partition("@")
            start = int(begun)
        with self.state.changed:
            if version and int(version) < self.state.compacted:
                self.reply(410, {"kind": "Status", "reason": "Expired", "code": 410, "message": "old"})
                return
            items = [
                self.state.texts.get(key) or _without_kind(obj)
                for key, obj in sorted(self.state.objects.items())
                if key[0] == resource.kind
            ]
            version = version or str(self.state.version)
        end = start + int(asked.query.get("limit", len(items)))
        metadata = {"resourceVersion": version}
        if end < len(items):
            metadata["continue"] = f"{end}@{version}"
        head = json.dumps({"kind": f"{resource.kind}List", "metadata": metadata}).encode()[:-1]
        self.reply(200, head + b', "items": [' + b", ".join(items[start:end]) + b"]}")

    def _watch(self, asked: Asked) -> None:
        state, kind = self.state, _PATHS[asked.path].kind
        seen = int(asked.query["resourceVersion"])
        self.stream()
        if seen < state.compacted:
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            self.chunk(event("ERROR", gone))
        while seen >= state.compacted:
            with state.changed:
                while state.version <= seen and not state.closed and state.changed.wait(PATIENCE_S):
                    pass
                if state.closed:
                    break
                due = [entry for entry in state.history if entry[0] > seen]
                seen = state.version
            for _, verb, told, text in due:
                if told == kind:
                    self.chunk(b'{"type": "%b", "object": %b}\n' % (verb.encode(), text))
        self.wfile.write(b"0\r\n\r\n")


def _without_kind(obj: Object) -> bytes:
    """Return an object as a list has it."""
    return json.dumps({name: obj[name] for name in obj if name not in ("apiVersion", "kind")}).encode()


def event(verb: str, obj: object) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": verb, "object": obj}).encode() + b"\n"


@contextmanager
def serving(
    state: FakeApiServer, port: int = 0, *, tls: ssl.SSLContext | None = None
) -> Iterator[FakeApiServer]:
    """Serve for as long as the block runs, plain HTTP unless there is a certificate."""
    handler = type("Bound", (Handler,), {"state": state})
    state.closed = False
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        server.daemon_threads = False
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        state.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
            with state.changed:
                state.closed = True
                state.changed.notify_all()
            state.drop()
