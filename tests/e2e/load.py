"""Load at a steady rate from which no failure hides: requests are counted, and every answer is looked at."""

from __future__ import annotations

import base64
import http.client
import json
import random
import select
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import CONFIGURATIONS, NAME
from tests.e2e.kubectl import Manifest
from tests.e2e.readiness import PERIOD_S, Readiness

#: Requests a second of every load.
RATE = 200
#: Threads that send; each waits for its answer.
THREADS = 8
#: Seconds for an answer, as many as the webhooks are registered with here.
TIMEOUT_S = 10
#: Where the registration is.
REGISTRATION = f"/apis/admissionregistration.k8s.io/v1/{CONFIGURATIONS[1]}/{NAME}"


class FailedError(Exception):
    """A request that should have succeeded has not."""


class UnmarkedError(Exception):
    """A request succeeded, without what the webhook should have written."""


class ElsewhereError(Exception):
    """A request did not come as far as the webhook, for the API server itself was not there."""


@dataclass(slots=True)
class Tally:
    """The outcomes of the requests."""

    name: str
    succeeded: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    unmarked: int = 0
    #: ``time.monotonic()`` when each request began that failed.
    failed_at: list[float] = field(default_factory=list)
    seconds: float = 0.0
    #: Of those that succeeded.
    took_s: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def failed(self) -> int:
        return self.failures.total()

    def count(self, ask: Callable[[], None]) -> None:
        began = time.monotonic()
        try:
            ask()
        except FailedError as error:
            with self._lock:
                self.failures[str(error)] += 1
                self.failed_at.append(began)
        except UnmarkedError:
            with self._lock:
                self.unmarked += 1
        except ElsewhereError as error:
            with self._lock:
                self.elsewhere[str(error)] += 1
        else:
            with self._lock:
                self.succeeded += 1
                self.took_s.append(time.monotonic() - began)

    @property
    def slowest_s(self) -> float:
        return max(self.took_s, default=0.0)

    def within_s(self, share: float) -> float:
        """Return the seconds within which a share of the requests succeeded."""
        return sorted(self.took_s)[int(share * len(self.took_s))]

    def __str__(self) -> str:
        sent = self.succeeded + self.failed + self.unmarked
        text = f"{self.name}: {sent} requests, {self.failed} failed, {sent / self.seconds:.0f}/s"
        if self.took_s:
            text += f", p99 {self.within_s(0.99) * 1000:.0f} ms, slowest {self.slowest_s * 1000:.0f} ms"
        if self.unmarked:
            text += f", {self.unmarked} answered without the cluster"
        if self.elsewhere:
            text += f", {self.elsewhere.total()} while the API server was away"
        return text


@contextmanager
def sending(tally: Tally, ask: Callable[[], None], *, rate: int = RATE) -> Iterator[Tally]:
    """Send requests until the block ends, each thread its share."""
    stopped = threading.Event()
    began = time.monotonic()

    def send(number: int) -> None:
        due = began + number / rate
        while not stopped.wait(max(0.0, due - time.monotonic())):
            tally.count(ask)
            # Who fell behind does not make up for it: a burst would be another test.
            due = max(due + THREADS / rate, time.monotonic() - 1.0)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        tally.seconds = time.monotonic() - began


class DryRuns:
    """Creates an object with a server-side dry run; its answer must have what only the webhook writes."""

    def __init__(self, control_plane: ControlPlane, path: str, obj: Manifest, *, mark: bytes) -> None:
        self._control_plane = control_plane
        self._path = f"{path}?dryRun=All"
        self._body = json.dumps(obj).encode()
        self._mark = mark
        self._own = threading.local()
        self._made: list[Any] = []

    def __call__(self) -> None:
        if not hasattr(self._own, "client"):
            opened = self._control_plane.client()
            self._own.client = opened.__enter__()
            self._made.append(opened)
        try:
            status, answer = self._own.client.send("POST", self._path, self._body)
        except (OSError, http.client.HTTPException) as error:
            time.sleep(0.1)
            raise ElsewhereError(type(error).__name__) from error
        if status != http.HTTPStatus.CREATED:
            message = json.loads(answer).get("message", "")
            kind = FailedError if "webhook" in message else ElsewhereError
            raise kind(f"{status} {message}")
        if self._mark not in answer:
            raise UnmarkedError

    def close(self) -> None:
        for opened in self._made:
            opened.__exit__(None, None, None)


class Trust:
    """The CAs that the API server trusts now: it follows its webhook configurations, and so does this."""

    def __init__(self, control_plane: ControlPlane, path: str) -> None:
        self._control_plane = control_plane
        self._path = path
        self._bundle = ""
        self._stopped = threading.Event()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._look()
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _look(self) -> None:
        with self._control_plane.client() as client:
            configuration = client.call("GET", self._path)
        client = configuration["webhooks"][0]["clientConfig"]
        self.called = client["service"]["path"]
        bundle = base64.b64decode(client["caBundle"]).decode()
        if bundle != self._bundle:
            self._bundle = bundle
            self.context = ssl.create_default_context(cadata=bundle)

    def _follow(self) -> None:
        while not self._stopped.wait(PERIOD_S):
            # The API server may be away.
            with suppress(OSError, http.client.HTTPException, AssertionError):
                self._look()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


class Reviews:
    """Sends reviews as the API server's own transport does, and gives up where it would.

    Connections are kept and taken again, the last one first; a new one goes to any replica that is ready.
    One that was closed while it was idle is noticed. A request that failed is sent again only if nothing of
    it was written on a connection that was used before: a POST is not repeated by Go's http.Transport.
    Whenever the bundle of authorities changes, connections are made anew.
    """

    def __init__(
        self, readiness: Readiness, trust: Trust, server_name: str, body: bytes, *, timeout_s: int = TIMEOUT_S
    ) -> None:
        self._readiness = readiness
        self._timeout_s = timeout_s
        self._trust = trust
        self._server_name = server_name
        self._body = body
        self._idle: list[_Connection] = []

    def __call__(self) -> None:
        while True:
            connection, reused = self._taken()
            try:
                connection.write(f"{self._trust.called}?timeout={self._timeout_s}s", self._body)
            except OSError as error:
                connection.close()
                if reused:
                    continue
                raise FailedError(f"write: {type(error).__name__}") from error
            break
        try:
            status, answer = connection.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise FailedError(f"no answer: {type(error).__name__}") from error
        if connection.kept:
            self._idle.append(connection)
        else:
            connection.close()
        if status != http.HTTPStatus.OK or not json.loads(answer)["response"]["allowed"]:
            raise FailedError(f"{status} {answer.decode(errors='replace')}")

    def _taken(self) -> tuple[_Connection, bool]:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break  # another thread was quicker
            if connection.open and connection.trusting is self._trust.context:
                return connection, True
            connection.close()
        if not (ready := self._readiness.ready):
            raise FailedError("connect: no replica is ready")
        try:
            return _Connection(random.choice(ready), self._trust.context, self._server_name), False
        except OSError as error:
            raise FailedError(f"connect: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        for connection in self._idle:
            connection.close()


class _Connection:
    """A TLS connection with the Service's name, as the API server opens it."""

    def __init__(self, port: int, context: ssl.SSLContext, server_name: str) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        try:
            self._socket = context.wrap_socket(plain, server_hostname=server_name)
        except BaseException:
            plain.close()
            raise
        self._host = server_name
        self.trusting = context
        #: Whether another request may follow the last answer.
        self.kept = True

    @property
    def open(self) -> bool:
        """Whether the other side has not closed; what it says unasked are tickets for later sessions."""
        readable, _, _ = select.select([self._socket], [], [], 0)
        if not readable:
            return True
        self._socket.settimeout(0)
        try:
            # The end of the stream, or an answer that nobody asked for.
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return True
        except OSError:
            return False
        else:
            return False
        finally:
            self._socket.settimeout(TIMEOUT_S)

    def write(self, path: str, body: bytes) -> None:
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: {self._host}:443",
            "User-Agent: kube-apiserver-admission",
            f"Content-Length: {len(body)}",
            "Accept: application/json, */*",
            "Content-Type: application/json",
            "Accept-Encoding: gzip",
        ]
        self._socket.sendall("\r\n".join([*head, "", ""]).encode() + body)

    def read(self) -> tuple[int, bytes]:
        answer = http.client.HTTPResponse(self._socket, method="POST")
        answer.begin()
        self.kept = not answer.will_close
        return answer.status, answer.read()

    def close(self) -> None:
        self._socket.close()
