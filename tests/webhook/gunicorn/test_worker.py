"""Workers share connections, obey signals from their first moment on, and end when they are stuck."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import serving

pytestmark = pytest.mark.slow

_RUN = "from webhook.cli.start import run; run()"


def sockets(process: int) -> int:
    """Return how many sockets a process holds; one that is just being closed does not count."""
    held = 0
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            held += str(entry.readlink()).startswith("socket")
    return held


def test_connections_that_come_at_once_are_shared(tmp_path: Path) -> None:
    """Neither of 2 workers takes all of 48 connections, whomever the kernel wakes.

    How even the parts are is the machine's: while one worker has no processor, the other accepts.
    """
    with serving(tmp_path, "--workers=2", "--threads=2") as server, ExitStack() as stack:
        eventually(lambda: len(server.workers()) == 2)
        workers = server.workers()
        before = [sockets(worker) for worker in workers]
        for _ in range(48):
            stack.enter_context(server.tls())

        def taken() -> list[int]:
            return [sockets(worker) - held for worker, held in zip(workers, before, strict=True)]

        # A handshake that is over for the client may not be for its worker.
        eventually(lambda: sum(taken()) >= 48)

        assert 2 <= min(taken())


def test_a_stuck_worker_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose main loop gives no sign of life is killed, and another takes its place."""
    patient = "import webhook.gunicorn.application as application; application._HEARTBEAT_S = 2; "
    monkeypatch.setattr("tests.webhook.running._RUN", patient + _RUN)
    with serving(tmp_path) as server:
        (stuck,) = server.workers()
        os.kill(stuck, signal.SIGSTOP)
        eventually(lambda: server.workers() and stuck not in server.workers())

        assert 200 == server.review().status


def test_sigterm_while_a_worker_starts(tmp_path: Path) -> None:
    """A server that is to end as soon as it has begun does so, with its workers."""
    with serving(tmp_path, "--drain-s=0") as server:
        server.process.send_signal(signal.SIGHUP)
        server.process.send_signal(signal.SIGTERM)

        assert 0 == server.process.wait(PATIENCE_S)


def test_no_signal_stays_blocked(tmp_path: Path) -> None:
    """Threads of the server and of its workers get signals, so what they start gets them, too."""
    with serving(tmp_path) as server:
        blocked = {pid: _blocked(pid) for pid in (server.process.pid, *server.workers())}
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(PATIENCE_S)

    assert {0} == set().union(*blocked.values())
    assert len(blocked) == 2
    assert code == 0


def _blocked(process: int) -> set[int]:
    """Return the masks of blocked signals of all threads of a process."""
    texts = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/status")]
    return {int(line.split()[1], 16) for text in texts for line in text.splitlines() if "SigBlk" in line}
