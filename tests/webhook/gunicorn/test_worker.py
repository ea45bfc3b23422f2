"""Workers share connections, obey signals from their first moment on, and end when they are stuck."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import serving, sockets

pytestmark = pytest.mark.slow

_RUN = "from webhook.cli.start import run; run()"
#: Holds up a worker for a while, in which it is to end.
_HOLDING = """
import os, time, uvicorn
from webhook.http import state

def hold():
    if os.path.exists(os.environ["STARTING"]):
        time.sleep(1)

def held(owner, name):
    method = getattr(owner, name)
    def slow(*arguments):
        hold()
        return method(*arguments)
    setattr(owner, name, slow)
"""


def test_connections_that_come_at_once_are_shared(tmp_path: Path) -> None:
    """Neither of 2 workers takes all of 48 connections, whomever the kernel wakes.

    How even the parts are is the machine's: while one worker has no processor, the other accepts.
    """
    with serving(tmp_path, "--workers=2", "--threads=2") as server, ExitStack() as stack:
        workers = server.workers()
        before = [len(sockets(worker)) for worker in workers]
        for _ in range(48):
            stack.enter_context(server.tls())

        def taken() -> list[int]:
            return [len(sockets(worker)) - held for worker, held in zip(workers, before, strict=True)]

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


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param("os.register_at_fork(after_in_child=hold)", id="in the instant of the fork"),
        pytest.param("held(state.ServerState, 'begin')", id="while it begins"),
        pytest.param("held(uvicorn.Config, 'get_loop_factory')", id="before uvicorn handles signals"),
        pytest.param("held(uvicorn.Config, 'load')", id="when it does"),
        pytest.param("", id="at once"),
    ],
)
def test_sigterm_while_a_worker_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    """A server that is to end while a worker starts does so, and waits for no one's requests."""
    monkeypatch.setattr("tests.webhook.running._RUN", f"{_HOLDING}\n{slow}\n{_RUN}")
    monkeypatch.setenv("STARTING", str(tmp_path / "starting"))
    with serving(tmp_path, "--drain-s=0", "--graceful-timeout-s=600") as server:
        workers = server.workers()
        (tmp_path / "starting").touch()
        server.process.send_signal(signal.SIGHUP)
        if slow:
            eventually(lambda: not set(workers) & set(server.workers()))
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
