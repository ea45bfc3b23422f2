"""The worker against clients that are slow, silent, broken or hostile. Every test talks to a real server."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, eventually, pause
from tests.webhook.running import REVIEW, Server, ask, read_all, serving

pytestmark = pytest.mark.slow

#: Threads of the server; misbehaving clients come in greater number.
THREADS = 2
#: Seconds a client has for a request.
READ_TIMEOUT_S = 1.0
#: Clients that leave a connection open; so many that who waits for each is slower than a busy machine.
LEAVING = 30

HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(REVIEW)
#: A review, one that says what all mean, and none.
WHOLE = HEAD + LENGTH + REVIEW
KEPT = HEAD + b"Connection: keep-alive\r\n" + LENGTH + REVIEW
BROKEN = HEAD + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with few threads and little patience."""
    options = (f"--threads={THREADS}", f"--read-timeout-s={READ_TIMEOUT_S}", "--max-review-bytes=1000000")
    with serving(tmp_path_factory.mktemp("worker"), *options) as running:
        yield running


def test_closed_connections_leave_nothing(server: Server) -> None:
    """The memory of a connection is free when it is closed, without the garbage collector."""
    _open_and_close(server, 50)
    before = _resident_kib(server)
    _open_and_close(server, 300)

    # A connection that stays takes some 100 KiB.
    assert _resident_kib(server) - before < 300 * 20


def _open_and_close(server: Server, count: int) -> None:
    for _ in range(count):
        assert server.ask("GET", "/openapi.json").status == 200


def _resident_kib(server: Server) -> int:
    """Return the memory of the worker."""
    (worker,) = server.workers()
    status = Path(f"/proc/{worker}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_silent_connections_hold_no_thread(server: Server) -> None:
    """More silent connections than threads, before and after the handshake, delay nobody."""
    with ExitStack() as stack:
        for _ in range(THREADS + 2):
            stack.enter_context(server.plain())
            stack.enter_context(server.tls())
        started = time.monotonic()
        answer = server.review()
        took = time.monotonic() - started

    assert answer.status == 200
    # gunicorn's own worker makes it wait for 5 s here.
    assert took < 4


@pytest.mark.parametrize(
    ("start", "drip"),
    [
        pytest.param(b"POST /validate HTTP/1.1\r\nX-A: ", b"a", id="1 byte of the head at a time"),
        pytest.param(HEAD + b"Content-Length: 500\r\n\r\n", b"a", id="1 of 500 body bytes at a time"),
    ],
)
def test_dripping_requests_end_at_the_deadline(server: Server, start: bytes, drip: bytes) -> None:
    """A client that always sends a little gets 400 at the deadline, and holds no thread until then."""
    with ExitStack() as stack:
        slow = [stack.enter_context(server.tls()) for _ in range(THREADS + 2)]
        for sock in slow:
            sock.sendall(start)
        answer = server.review()
        received = _drip(slow, drip)

    assert answer.status == 200
    assert [400] * len(slow) == [int(text.split()[1]) for text in received]


def _drip(slow: list[ssl.SSLSocket], drip: bytes) -> list[bytes]:
    """Send a little now and then until the server answers; return the answers."""
    received = [b""] * len(slow)
    for sock in slow:
        sock.settimeout(0.02)
    deadline = time.monotonic() + PATIENCE_S
    while not all(received) and time.monotonic() < deadline:
        for number, sock in enumerate(slow):
            if received[number]:
                continue
            try:
                received[number] = sock.recv(65536)
            except TimeoutError:
                sock.sendall(drip)
    return received


def test_dripping_handshakes_end_at_the_deadline(server: Server) -> None:
    """A handshake that comes byte by byte is cut off, and holds no thread until then."""
    hello = _client_hello()
    with ExitStack() as stack:
        slow = [stack.enter_context(server.plain()) for _ in range(THREADS + 2)]
        for sock in slow:
            sock.sendall(hello[:20])
        answer = server.review()
        ended = [_ends(sock, hello[20:]) for sock in slow]

    assert answer.status == 200
    assert all(ended)


def _client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def _ends(sock: socket.socket, rest: bytes) -> bool:
    """Drip bytes until the server closes the connection."""
    sock.settimeout(0.05)
    for position in range(len(rest) - 1):
        try:
            if not sock.recv(1024):
                return True
        except TimeoutError:
            try:
                sock.sendall(rest[position : position + 1])
            except ConnectionError:
                return True
        except ConnectionError:
            return True
    return False


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(b"NONSENSE\r\n\r\n", 400, id="400: no request line"),
        pytest.param(b"GET /livez HTTP/1.1\r\nA B: c\r\n\r\n", 400, id="400: space in a field name"),
        pytest.param(b"GET /" + b"a" * 90_000, 400, id="400: 90,000 bytes of path"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 90_000, 400, id="400: 90,000 bytes of field"),
        pytest.param(HEAD + b"Content-Length: 9x\r\n\r\n", 400, id="400: length is no number"),
        pytest.param(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="400: 2 lengths"),
        pytest.param(HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 400, id="400: 5,000 digits"),
        pytest.param(HEAD + b"Content-Length: 8000001\r\n\r\n", 413, id="413: 8 times the limit"),
        pytest.param(HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 400, id="400: transfer coding without end"),
        pytest.param(HEAD + b"Transfer-Encoding: new\r\n\r\n", 400, id="400: unknown transfer coding"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, id="400: broken chunk"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n", 400, id="400: chunk that never comes"
        ),
        pytest.param(
            HEAD + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", 100, id="100: it may go on"
        ),
        pytest.param(HEAD + b"\r\n", 411, id="411: no length"),
        pytest.param(HEAD + b"Content-Length: 18446744073709551617\r\n\r\nab", 400, id="400: 2^64 + 1 bytes"),
        pytest.param(HEAD + b"X: b\r\n c\r\n" + LENGTH + REVIEW, 400, id="400: a line that goes on"),
        pytest.param(HEAD + b"Content-Length: 0\r\n\r\n", 400, id="400: empty body"),
    ],
)
def test_bad_requests(server: Server, request_bytes: bytes, status: int) -> None:
    """Whatever is wrong with a request, its client reads that it is; the application says more, as JSON."""
    with server.tls() as sock:
        sock.sendall(request_bytes)
        first = sock.recv(65536)

    assert status == int(first.split()[1])


def test_large_body_is_answered_before_it_is_read(server: Server) -> None:
    """A body above the limit gets 413 while the client still sends, which has as long as for any request."""
    with server.tls() as sock:
        sock.sendall(HEAD + b"Content-Length: 8000001\r\n\r\n" + b"a" * 300_000)
        answer = sock.recv(65536)
        ended = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"HTTP" not in ended
    assert (answer + ended).endswith(b'"details":[]}\n')


def test_large_body_within_the_limit(server: Server) -> None:
    """A body that is larger than what is gathered without a thread is read whole."""
    body = REVIEW + b" " * 900_000
    answer = server.ask("POST", "/validate", body=body, content_type="application/json")

    assert (200, True) == (answer.status, answer.json()["response"]["allowed"])


def test_chunked_body(server: Server) -> None:
    """A chunked body is read, though the API server sends none."""
    with server.tls() as sock:
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(REVIEW), REVIEW)
        sock.sendall(HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        answer = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"allowed":true' in answer


@pytest.mark.parametrize(
    ("size", "expected"),
    [pytest.param(b"%x", 1, id="its size"), pytest.param(b"1000000000000%04x", 0, id="its size + 2^64")],
)
def test_chunks_have_one_size(server: Server, size: bytes, expected: int) -> None:
    """Nobody can send another request behind a chunk on whose size two parsers do not agree."""
    body = size % len(REVIEW) + b"\r\n" + REVIEW + b"\r\n0\r\n\r\n"
    with server.tls() as sock:
        last = WHOLE.replace(b"Host: x", b"Host: x\r\nConnection: close")
        sock.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + last)
        answer = read_all(sock)

    assert expected == answer.count(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(WHOLE * 80, b"200", id="80 reviews"),
        pytest.param(WHOLE + b"NONSENSE\r\n\r\n", b"200", id="nonsense behind a review"),
        pytest.param(BROKEN + WHOLE, b"400", id="a review behind one that is refused"),
    ],
)
def test_requests_that_do_not_wait_for_an_answer(server: Server, sent: bytes, status: bytes) -> None:
    """One request of a connection is answered at a time: who sends more with it, sends those again."""
    with server.tls() as sock:
        sock.sendall(sent)
        answer = read_all(sock)

    assert [status] == [one[:3] for one in answer.split(b"HTTP/1.1 ")[1:]]
    assert answer.endswith((b"}", b"}\n"))
    assert 200 == server.review().status


def test_too_many_requests_at_once(server: Server) -> None:
    """Who sends a hundred thousand at once, which costs little, has one of them answered."""
    with server.tls() as sock:
        with suppress(OSError):
            for _ in range(100):
                sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)

        assert 1 >= read_all(sock).count(b"HTTP/1.1 200 ")
    assert 200 == server.review().status


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([WHOLE], id="in one piece"),
        pytest.param([WHOLE[:30], WHOLE[30:]], id="in 2 pieces of the head"),
        pytest.param([WHOLE[:-50], WHOLE[-50:-1], WHOLE[-1:]], id="in 3 pieces of the body"),
        pytest.param([WHOLE, KEPT, WHOLE], id="before and after one that asks to keep it"),
        pytest.param([WHOLE, BROKEN, WHOLE], id="before and after one that is refused"),
    ],
)
def test_reviews_of_one_connection(server: Server, parts: list[bytes]) -> None:
    """However a review comes, its answer is the same, and the connection is kept for the next one."""
    statuses, bodies, sent = list[bytes](), set[bytes](), b""
    with server.tls() as sock:
        for part in parts:
            sent += part
            sock.sendall(part)
            if sent not in (WHOLE, KEPT, BROKEN):
                pause(0.05)
                continue
            status, body = _answer(sock)
            statuses.append(status)
            if sent != BROKEN:
                bodies.add(body)
            sent = b""

    broken = [part == BROKEN for part in parts if part in (WHOLE, KEPT, BROKEN)] or [False]
    assert [b"400" if refused else b"200" for refused in broken] == statuses
    assert 1 == len(bodies)


def _answer(sock: ssl.SSLSocket) -> tuple[bytes, bytes]:
    """Return the status and the body of the next answer."""
    received = b""
    while True:
        received += sock.recv(65536)
        head, end, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: ([0-9]+)", head, re.IGNORECASE)
        if end and length and len(body) >= int(length[1]):
            return head.split()[1], body


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(HEAD.replace(b"/1.1", b"/1.0"), id="HTTP/1.0"),
        pytest.param(HEAD + b"Connection: close\r\n", id="Connection: close"),
    ],
)
def test_reviews_of_clients_that_want_no_connection(server: Server, head: bytes) -> None:
    """A client that says so gets the answer, and the end of the connection with it."""
    with server.tls() as sock:
        sock.sendall(head + LENGTH + REVIEW)
        answer = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nconnection: close\r\n" in answer


def test_plain_http_ends(server: Server) -> None:
    """Whoever speaks HTTP to the TLS port is gone at once."""
    started = time.monotonic()
    with server.plain() as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = read_all(sock)

    assert not answer.startswith(b"HTTP")
    assert time.monotonic() - started < READ_TIMEOUT_S


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(b"", id="0 bytes"),
        pytest.param(b"\x00" * 64, id="64 zero bytes"),
        pytest.param(b"\x16\x03\x01\x00\x05hello", id="a TLS record with nonsense"),
        pytest.param(b"\x16\x03\x01", id="3 bytes of a handshake"),
    ],
)
def test_noise_leaves_no_traceback(server: Server, noise: bytes) -> None:
    """Scanners and broken clients cost nothing and fill no log."""
    before = len(_other_lines(server))
    with server.plain() as sock:
        sock.sendall(noise)
    answer = server.review()
    added = _other_lines(server)[before:]

    assert answer.status == 200
    assert len(added) <= 1
    assert not [line for line in added if "traceback" in line.lower()]


def _other_lines(server: Server) -> list[str]:
    """Return the log without the lines of reviews."""
    return [line for line in server.log.read_text().splitlines() if " review_" not in line]


def test_reset_connections_are_noise(server: Server) -> None:
    """A connection that is reset in the middle of a request is forgotten."""
    sock = server.tls()
    sock.sendall(HEAD + b"Content-Length: 500\r\n\r\n{")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sock.close()

    assert server.review().status == 200


def test_connections_are_kept(server: Server) -> None:
    """Many requests use one connection."""
    connection = server.connect()
    answers = [
        ask(connection, "POST", "/validate", body=REVIEW, content_type="application/json") for _ in range(20)
    ]
    connection.close()

    assert [200] * 20 == [answer.status for answer in answers]
    assert {None} == {answer.headers.get("connection") for answer in answers}


def test_client_that_leaves_its_side_open_delays_nobody(server: Server) -> None:
    """After the last answer the server waits for the client to close, but not with its main loop."""
    with ExitStack() as stack:
        for _ in range(LEAVING):
            sock = stack.enter_context(server.tls())
            sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert sock.recv(1000).startswith(b"HTTP/1.1 200 ")
        started = time.monotonic()
        answer = server.review()
        took = time.monotonic() - started

    assert answer.status == 200
    # gunicorn's own worker needs 2 s for each of them, one after another.
    assert took < LEAVING


def test_slow_clients_are_logged_in_one_line_each(server: Server) -> None:
    """A slow client costs one line."""
    before = len(server.lines("request_refused"))
    with server.tls() as sock:
        sock.sendall(b"POST /validate HTTP/1.1\r\n")
        read_all(sock)
    eventually(lambda: len(server.lines("request_refused")) > before)

    assert before + 1 == len(server.lines("request_refused"))
