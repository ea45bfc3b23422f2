"""Clients that drip or never read, many at once: all others are answered as if they were not there.

How much longer answers take beside them is measured in ``benchmarks/slow_clients.py``; here the bounds are
generous.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.security.slow_clients import CROWD, HEAD, Misbehavior, beside, dripped_head, one_byte_records
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import serving, sockets

pytestmark = pytest.mark.slow

#: Seconds that a client has for a request.
READ_TIMEOUT_S = 30.0
#: Seconds that any answer may take beside them: a busy machine needs some. One that stopped the server would
#: do so for its patience.
BOUND_S = READ_TIMEOUT_S / 2
#: How long they go on, in seconds.
DURATION_S = 3.0


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param({dripped_head: 60}, id="60 drip a head"),
        pytest.param({one_byte_records: 4}, id="4 send TLS records of a byte"),
        pytest.param(CROWD, id="all kinds at once"),
    ],
)
def test_others_are_answered(tmp_path: Path, groups: dict[Misbehavior, int]) -> None:
    """Probes, handshakes and reviews go on, and the memory stays what it was."""
    took: list[float] = []
    with serving(tmp_path, "--threads=2", f"--read-timeout-s={READ_TIMEOUT_S}") as server:
        (worker,) = server.workers()
        with beside(server.tls, groups):
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
        before = eventually(lambda: len(sockets(worker)))
        with server.tls() as sock:
            sock.settimeout(0.5)
            with suppress(OSError):
                while True:
                    sock.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            eventually(lambda: len(sockets(worker)) <= before)


#: Runs a command with 64 file descriptors.
FEW_DESCRIPTORS = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
    "from webhook.cli.start import run; run()"
)


def test_idle_connections_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few descriptors the connection that is idle for longest ends, and each newcomer is answered."""
    monkeypatch.setattr("tests.webhook.running._RUN", FEW_DESCRIPTORS)
    with serving(tmp_path) as server, ExitStack() as held:
        idle = [held.enter_context(server.tls()) for _ in range(46)]
        answers = [server.review().status for _ in range(20)]
        idle[0].settimeout(PATIENCE_S)
        first = idle[0].recv(1)

    assert [200] * 20 == answers
    assert b"" == first


def test_half_requests_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where all others are in the middle of a request or a handshake."""
    monkeypatch.setattr("tests.webhook.running._RUN", FEW_DESCRIPTORS)
    with serving(tmp_path) as server, ExitStack() as held:
        for _ in range(30):
            held.enter_context(server.plain())
            sock = held.enter_context(server.tls())
            sock.sendall(HEAD)

        assert [200] * 20 == [server.review().status for _ in range(20)]
