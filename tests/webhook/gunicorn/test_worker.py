"""Workers share connections, and one that is stuck is ended."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.webhook.running import eventually, serving


def sockets(process: int) -> int:
    """Return how many sockets a process holds; one that is just being closed does not count."""
    held = 0
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            held += str(entry.readlink()).startswith("socket")
    return held


def test_connections_that_come_at_once_are_shared(tmp_path: Path) -> None:
    """Of 24 connections each of 2 workers gets a fair part, whomever the kernel wakes."""
    with serving(tmp_path, "--workers=2", "--threads=2") as server, ExitStack() as stack:
        eventually(lambda: len(server.workers()) == 2)
        for _ in range(24):
            stack.enter_context(server.tls())
        held = [sockets(worker) for worker in server.workers()]

        # Each also holds the listener and those of the event loop.
        assert 24 <= sum(held)
        assert max(held) - min(held) <= 12


def test_a_stuck_worker_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose main loop gives no sign of life is killed, and another takes its place."""
    patient = "import webhook.gunicorn.application as application; application._HEARTBEAT_S = 2; "
    monkeypatch.setattr("tests.webhook.running._RUN", patient + "from webhook.cli.main import run; run()")
    with serving(tmp_path) as server:
        (stuck,) = server.workers()
        os.kill(stuck, signal.SIGSTOP)
        eventually(lambda: server.workers() and stuck not in server.workers())

        assert 200 == server.review().status
