"""Answers made in the main loop: a client that does not read them stops nobody."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.builders import a_pod
from tests.webhook.running import PATIENCE_S, Server, ask, eventually, serving
from webhook.admission.respond import MAX_TOLD
from webhook.serving.exchange import Outbox

#: Threads of the server; clients that do not read come in greater number.
THREADS = 1
#: Seconds a client has to read an answer.
READ_TIMEOUT_S = 1.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one thread and little patience."""
    options = (f"--threads={THREADS}", f"--read-timeout-s={READ_TIMEOUT_S}")
    with serving(tmp_path_factory.mktemp("exchange"), *options) as running:
        yield running


def long_answer() -> bytes:
    """Return a review of a small pod whose refusal takes some 50 KB."""
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "namespace": "shop",
            "object": a_pod(spec={"topologySpreadConstraints": [{"whenUnsatisfiable": "x" * 80}] * 200}),
        },
    }
    return json.dumps(review).encode()


def test_clients_that_do_not_read_stop_nobody(server: Server) -> None:
    """More clients that never read than threads: others are answered, and in the end they are dropped."""
    body = long_answer()
    request = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with ExitStack() as stack:
        deaf = [stack.enter_context(server.tls()) for _ in range(THREADS + 2)]
        for sock in deaf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(0.2)
            try:
                while True:
                    sock.sendall(request)
            except OSError:
                pass  # The server reads no further while its answers are not read.
        answers = [server.review().status for _ in range(20)]

    assert [200] * 20 == answers


def test_long_answers_arrive_whole(server: Server) -> None:
    """An answer that the kernel does not take at once is sent on, and the connection is kept."""
    connection = server.connect()
    connection.connect()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = long_answer()
    answers = [
        ask(connection, "POST", "/validate", body=body, content_type="application/json") for _ in range(2)
    ]
    connection.close()

    assert [200] * 2 == [answer.status for answer in answers]
    assert all(
        len(answer.json()["response"]["status"]["details"]["causes"]) == MAX_TOLD for answer in answers
    )


def test_the_worker_lives_on(server: Server) -> None:
    """After all that, one worker serves with the thread it has, also what the main loop does not answer."""
    metrics = eventually(lambda: server.ask("GET", "/metrics").status == 200, patience_s=PATIENCE_S)

    assert metrics
    assert 1 == len(server.workers())
    assert [] == server.lines("request_failed")


def test_an_outbox_collects() -> None:
    """What is written stands in the order it was written; half an answer is thrown away."""
    outbox = Outbox()
    outbox.sendall(b"head")
    outbox.sendall(b"body")

    assert b"headbody" == bytes(outbox.content)
    outbox.close()
    assert b"" == bytes(outbox.content)
