"""A server that lacks something: readers of its log, room for its files, or peace."""

from __future__ import annotations

import fcntl
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.processes import free_port
from tests.waiting import PATIENCE_S, eventually
from tests.webhook.running import Server, serving

pytestmark = pytest.mark.slow

#: Bytes that a pipe holds.
PIPE_BYTES = 65536
#: Runs a command that sees a small file system of its own at $TMPDIR.
LITTLE_ROOM = (
    "unshare",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    'mount -t tmpfs -o size=1m none "$TMPDIR" && exec "$@"',
    "sh",
)


@contextmanager
def started(
    folder: Path, *before: str, role: str = "all", stderr: int = subprocess.DEVNULL
) -> Iterator[Server]:
    """Run a server whose log nobody reads, until the block ends.

    Args:
        folder: Where its temporary files are.
        before: What runs its command.
        role: What it does.
        stderr: Where its log goes.
    """
    port = free_port()
    words = f"serve --self-signed --workers=1 --drain-s=0 --bind=127.0.0.1:{port} --role={role}".split()
    command = [*before, sys.executable, "-c", "from webhook.cli.start import run; run()", *words]
    process = subprocess.Popen(command, stderr=stderr, env=os.environ | {"TMPDIR": str(folder)})
    server = Server(process, folder / "log", port)
    server.context.check_hostname = False
    server.context.verify_mode = ssl.CERT_NONE
    try:
        eventually(lambda: process.poll() is not None or _alive(server))
        assert process.poll() is None
        yield server
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def _alive(server: Server) -> bool:
    try:
        return server.ask("GET", "/livez").status == 200
    except OSError:
        return False


def _is_locked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def test_nobody_reads_the_log(tmp_path: Path) -> None:
    """Reviews are answered though the pipe of stderr is full, and lines that it does not take are counted."""
    read, write = os.pipe()
    os.write(write, b"x" * PIPE_BYTES)
    with started(tmp_path, stderr=write) as server:
        assert {200} == {server.review().status for _ in range(50)}
        page = server.ask("GET", "/metrics").body.decode()
        (dropped,) = (
            line for line in page.splitlines() if line.startswith("evenkeel_log_lines_dropped_total ")
        )
        server.process.send_signal(signal.SIGTERM)

        assert float(dropped.split()[1]) >= 50
        assert 0 == server.process.wait(PATIENCE_S)
    os.close(write)
    assert b"x" * PIPE_BYTES == os.read(read, 2 * PIPE_BYTES)
    os.close(read)


def test_no_room_for_temporary_files(tmp_path: Path) -> None:
    """A worker that starts where the disk is full answers reviews, and the metrics that can be read."""
    probe = [*LITTLE_ROOM, "true"]
    if subprocess.run(probe, env=os.environ | {"TMPDIR": str(tmp_path)}, check=False).returncode:
        pytest.skip("a full disk was NOT tested: nothing may be mounted here")
    with started(tmp_path, *LITTLE_ROOM, role="admission") as server:
        (first,) = server.workers()
        with Path(f"/proc/{first}/root{tmp_path}/full").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        os.kill(first, signal.SIGKILL)
        (second,) = eventually(lambda: [pid for pid in server.workers() if pid != first])
        answers = [server.review().status for _ in range(20)]

        assert [200] * 20 == answers
        assert 200 == server.ask("GET", "/metrics").status
        assert [second] == server.workers()


def test_hangup(tmp_path: Path) -> None:
    """SIGHUP makes the workers anew, beside which the others end; the server goes on."""
    with serving(tmp_path, "--drain-s=0") as server:
        workers = server.workers()
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: server.workers() and not set(workers) & set(server.workers()))

        assert 200 == server.review().status
        server.process.send_signal(signal.SIGTERM)
        assert 0 == server.process.wait(PATIENCE_S)


def test_a_killed_server_leaves_no_key(tmp_path: Path) -> None:
    """The next server removes what one left that was killed, once its workers are gone too."""
    with started(tmp_path) as first:
        first.process.kill()
        first.process.wait(PATIENCE_S)
    (left,) = tmp_path.glob("evenkeel-serve-*/certificates/tls.key")
    # A worker that no longer answers may still be ending.
    eventually(lambda: not _is_locked(left.parents[1]))
    with started(tmp_path):
        assert not left.exists()
        assert 1 == len(list(tmp_path.glob("evenkeel-serve-*")))
