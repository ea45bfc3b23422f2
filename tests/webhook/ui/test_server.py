"""The page's server over real connections: many at once, and clients that leave."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.serving import ThreadedWSGIServer

from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.ui.pages import DEPLOYMENT, TOKEN, a_page_cluster, running
from webhook.listener import open_listener
from webhook.ui.bodies import MOST_TEXT_BYTES
from webhook.ui.cluster import PageCluster
from webhook.ui.readings import PageState
from webhook.ui.server import LoopbackServer

BODY = json.dumps({"manifest": json.dumps(DEPLOYMENT)})


def _send(
    port: int, method: str, path: str, body: str | None = None, **headers: str
) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        **({"Content-Type": "application/json"} if body else {}),
        **headers,
    }
    connection.request(method, path, body, headers)
    return connection


def _status(port: int, method: str, path: str, body: str | None = None, **headers: str) -> int:
    connection = _send(port, method, path, body, **headers)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


class GatedCluster:
    """A cluster by which nothing is evaluated until a file is there; children share no more than that."""

    def __init__(self, cluster: PageCluster, file: Path) -> None:
        self.cluster, self.file = cluster, file

    @property
    def context(self) -> AdmissionContext:
        """Wait."""
        eventually(self.file.exists)
        return self.cluster.context

    @property
    def state(self) -> ClusterState:
        """That of the cluster."""
        return self.cluster.state

    @property
    def namespace(self) -> str:
        """That of the cluster."""
        return self.cluster.namespace


class Gate:
    """A page whose explanations wait."""

    def __init__(self, file: Path) -> None:
        cluster = a_page_cluster()
        self.state = PageState.of(cluster)
        self.state.server.hand_over(lambda: GatedCluster(cluster, file))
        self.state.server.start()
        self._file = file

    def children(self) -> list[str]:
        """Return the processes that compute answers."""
        pid = self.state.server._process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def open(self) -> None:
        """Let the explanations go on."""
        self._file.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """A page whose explanations wait."""
    return Gate(tmp_path / "open")


def test_rebinding() -> None:
    """A connection to loopback under another name is refused."""
    with running(PageState.of(a_page_cluster())) as port:
        assert 200 == _status(port, "GET", "/api/cluster")
        assert 403 == _status(port, "GET", "/api/cluster", Host=f"evil.example:{port}")
        assert 403 == _status(port, "GET", "/", Host="evil.example")


def test_slow_requests_hold_up_no_other(gate: Gate) -> None:
    """While ten requests are computed or wait, the cluster and the audit are answered."""
    with running(gate.state) as port, ThreadPoolExecutor(10) as pool:
        waiting = [pool.submit(_status, port, "POST", "/api/explain", BODY) for _ in range(10)]
        eventually(gate.children)

        assert 200 == _status(port, "GET", "/api/cluster")
        assert 200 == _status(port, "GET", "/api/workloads")
        assert not any(each.done() for each in waiting)
        gate.open()
        assert [200] * 10 == [each.result() for each in waiting]


def test_a_client_that_leaves_ends_its_work(gate: Gate) -> None:
    """A request that the page aborts, since a newer one is sent, takes no more processor time."""
    with running(gate.state) as port:
        connection = _send(port, "POST", "/api/explain", BODY)
        assert eventually(gate.children)
        connection.close()

        assert eventually(lambda: not gate.children())


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        pytest.param({"Content-Length": "999999999"}, b"", 413, id="a large one is announced"),
        pytest.param({"Transfer-Encoding": "chunked"}, b"2\r\n{}\r\n0\r\n\r\n", 411, id="in pieces"),
        pytest.param({"Content-Length": "-1"}, b"", 400, id="a negative length"),
        pytest.param({"Content-Length": "x"}, b"", 400, id="no number"),
    ],
)
def test_lengths(headers: dict[str, str], body: bytes, status: int) -> None:
    """A body that is too large, or of no known length, is not read."""
    with running(PageState.of(a_page_cluster())) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.putrequest("POST", "/api/explain")
        for name, value in {
            "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers
        }.items():  # fmt: skip
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(body)
        answer = connection.getresponse()

        assert status == answer.status
        assert "Werkzeug" not in answer.headers["Server"]
        connection.close()


def test_silent_connections() -> None:
    """However many say nothing, a request with the token is answered; the oldest of them end."""
    with running(PageState.of(a_page_cluster())) as port, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(70)]

        assert 200 == _status(port, "GET", "/api/cluster")
        # The end of a connection, long before its time is over.
        silent[0].settimeout(10)
        assert b"" == silent[0].recv(1)


def test_silent_connections_end_no_request(gate: Gate) -> None:
    """One with the token that is computed keeps its connection."""
    with running(gate.state) as port, ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        waiting = pool.submit(_status, port, "POST", "/api/explain", BODY)
        eventually(gate.children)
        for _ in range(130):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert 200 == _status(port, "GET", "/api/cluster")
        gate.open()

        assert 200 == waiting.result()


def test_a_text_that_is_too_long() -> None:
    """It is refused before it is read."""
    body = json.dumps({"manifest": "a: b\n" * MOST_TEXT_BYTES})
    with running(PageState.of(a_page_cluster())) as port:
        assert 400 == _status(port, "POST", "/api/check", body)


def test_an_interrupt_while_a_thread_starts_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread has released its place by then; a second release would be an error in place of Ctrl-C."""

    def interrupted(server: LoopbackServer, *_: object) -> None:
        server._places.release()
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadedWSGIServer, "process_request", interrupted)
    with open_listener("127.0.0.1:0") as listener:
        server = LoopbackServer(listener, Flask(__name__), bool)
        with pytest.raises(KeyboardInterrupt):
            server.process_request(None, None)
        server.server_close()
