"""Processes of their own groups, none of which outlives the test run, however that ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import PATIENCE_S

#: Bytes that must be free in a folder in memory. Ample: etcd reserves 64 MB at once and grows with what it is
#: told, and containers have 64 MiB there unless somebody gives them more.
_ROOM = 2**30

#: Reads a line for each group that starts (+) or has ended (-). When nobody writes any more, it kills what is
#: left and takes a folder away: a test run that is killed, or ended by faulthandler, runs no fixture's end.
_REAPER = """
import os, shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
alive = set()
for line in sys.stdin:
    (alive.add if line[0] == "+" else alive.discard)(int(line[1:]))
for group in alive:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


def free_port() -> int:
    """Return a port of the loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Running:
    """A process, the leader of its group; ``log`` has what it says."""

    process: subprocess.Popen[bytes]
    log: Path
    _ended: Callable[[int], None]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, *, patience_s: float = PATIENCE_S) -> int:
        """Ask it to end, see to it that the whole group does, and return the exit code."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
        self.kill()
        return self.process.returncode

    def kill(self) -> None:
        """End the whole group at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._ended(self.process.pid)

    def tail(self) -> str:
        """Return the last lines of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


class Processes:
    """Starts processes, and ends those that are left.

    Attributes:
        memory: A folder that ends with them, in memory where that can be.
    """

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        roomy = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= _ROOM
        self.memory = Path(tempfile.mkdtemp(prefix="evenkeel-e2e-", dir=shared if roomy else None))
        self._reaper = subprocess.Popen(
            [sys.executable, "-c", _REAPER, str(self.memory)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._running: dict[int, Running] = {}

    def start(
        self, command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str] | None = None
    ) -> Running:
        """Start a process; what it says is appended to a file."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        self._report("+", process.pid)
        running = self._running[process.pid] = Running(process, log, self._forget)
        return running

    def _forget(self, group: int) -> None:
        # Its number may be somebody else's soon.
        if self._running.pop(group, None):
            self._report("-", group)

    def _report(self, sign: str, group: int) -> None:
        assert self._reaper.stdin is not None
        self._reaper.stdin.write(f"{sign}{group}\n")
        self._reaper.stdin.flush()

    def end(self) -> None:
        """End everything, the latest first."""
        for running in reversed([*self._running.values()]):
            running.kill()
        self._reaper.communicate()
