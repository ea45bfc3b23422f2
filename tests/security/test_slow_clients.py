"""Clients that drip or never read, many at once: all others are answered as if they were not there.

How much longer answers take beside them is measured in ``benchmarks``; here the bounds are generous.
"""

from __future__ import annotations

import multiprocessing
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.webhook.running import Server, eventually, serving

#: Seconds that any answer may take beside them. One that stopped the server would do so for its patience.
BOUND_S = 2.0
#: Seconds that a client has for a request.
READ_TIMEOUT_S = 4.0
#: How long they go on, in seconds.
DURATION_S = 6.0
#: Bytes of a body of which each comes in a TLS record of its own; 23 times as many on the wire.
BURST = 60_000
HEAD = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

#: What one client does with one connection.
Misbehavior: TypeAlias = Callable[[ssl.SSLSocket, Event], None]


def one_byte_records(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a body in TLS records of one byte, as fast as they are taken."""
    sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % BURST)
    for number in range(BURST):
        sock.send(b" ")
        if number % 1000 == 0 and stopped.is_set():
            return


def dripped_head(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a byte of a head now and then."""
    sock.sendall(b"POST /validate HTTP/1.1\r\nX-A: ")
    while not stopped.wait(0.1):
        sock.send(b"a")


def slow_body(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Send a body for which a thread would be needed in the end, a little at a time."""
    sock.sendall(HEAD.replace(b"/validate", b"/v1/score") + b"Content-Length: 1000000\r\n\r\n")
    while not stopped.wait(0.2):
        sock.send(b"a" * 100)


def never_read(sock: ssl.SSLSocket, stopped: Event) -> None:
    """Ask for a page again and again, and read nothing."""
    while not stopped.is_set():
        sock.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20)


def misbehave(server: Server, kind: Misbehavior, count: int, stopped: Event) -> None:
    """Let so many clients do their worst, each again when it was ended."""
    # They stand for other machines, which take no processor time of ours.
    os.nice(19)

    def go_on() -> None:
        while not stopped.wait(0.05):
            with suppress(OSError), server.tls() as sock:
                sock.settimeout(1.0)
                kind(sock, stopped)

    threads = [threading.Thread(target=go_on) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def beside(server: Server, groups: dict[Misbehavior, int]) -> Iterator[None]:
    """Let clients misbehave until the block ends."""
    context = multiprocessing.get_context("fork")
    stopped = context.Event()
    processes = [
        context.Process(target=misbehave, args=(server, kind, count, stopped))
        for kind, count in groups.items()
    ]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        stopped.set()
        for process in processes:
            process.join()


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param({dripped_head: 60}, id="60 drip a head"),
        pytest.param({one_byte_records: 4}, id="4 send TLS records of a byte"),
        pytest.param(
            {dripped_head: 56, one_byte_records: 4, slow_body: 24, never_read: 12}, id="all kinds at once"
        ),
    ],
)
def test_others_are_answered(tmp_path: Path, groups: dict[Misbehavior, int]) -> None:
    """Probes, handshakes and reviews go on, and the memory stays what it was."""
    took: list[float] = []
    with serving(tmp_path, "--threads=2", f"--read-timeout-s={READ_TIMEOUT_S}") as server:
        (worker,) = server.workers()
        with beside(server, groups):
            ends = time.monotonic() + DURATION_S
            while time.monotonic() < ends:
                started = time.monotonic()
                statuses = [server.ask("GET", "/readyz").status, server.review().status]
                took.append(time.monotonic() - started)
                assert [200, 200] == statuses
        resident = _resident_mib(worker)
        assert [worker] == server.workers()

    assert max(took) < BOUND_S
    assert resident < 250


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def test_a_client_that_never_reads_is_ended(tmp_path: Path) -> None:
    """An answer that is not read holds its connection until the deadline, and no longer."""
    with serving(tmp_path, "--read-timeout-s=1") as server:
        (worker,) = server.workers()
        before = eventually(lambda: _sockets(worker))
        with server.tls() as sock:
            sock.settimeout(0.5)
            with suppress(OSError):
                while True:
                    sock.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            eventually(lambda: _sockets(worker) <= before)


def _sockets(pid: int) -> int:
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(entry.readlink()).startswith("socket")
    return found


#: Runs a command with 64 file descriptors.
FEW_DESCRIPTORS = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
    "from webhook.cli.main import run; run()"
)


def test_idle_connections_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few descriptors the connection that is idle for longest ends, and each newcomer is answered."""
    monkeypatch.setattr("tests.webhook.running._RUN", FEW_DESCRIPTORS)
    with serving(tmp_path) as server, ExitStack() as held:
        idle = [held.enter_context(server.tls()) for _ in range(46)]
        answers = [server.review().status for _ in range(20)]
        idle[0].settimeout(5)
        first = idle[0].recv(1)

    assert [200] * 20 == answers
    assert b"" == first
    assert [] == server.lines("accept_failed")


def test_half_requests_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where all others are in the middle of a request or a handshake."""
    monkeypatch.setattr("tests.webhook.running._RUN", FEW_DESCRIPTORS)
    with serving(tmp_path) as server, ExitStack() as held:
        for _ in range(30):
            held.enter_context(server.plain())
            sock = held.enter_context(server.tls())
            sock.sendall(HEAD)

        assert [200] * 20 == [server.review().status for _ in range(20)]
