"""Servers under test, each a process of its own on a loopback port, and what they use."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import orjson

from benchmarks.samples import CLUSTER, POLICY
from certs.store import SelfSignedFiles, provision_self_signed

#: Seconds a server has to start and to end. Arbitrary; a large snapshot is read first.
_PATIENCE_S = 90.0


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections, and the authority of its certificate."""

    pid: int
    port: int
    authority: Path

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def processor_seconds(self) -> float:
        """Return the processor time that all threads of the workers have used, in seconds."""
        tasks = (Path(f"/proc/{pid}/task").iterdir() for pid in self.workers())
        # In nanoseconds, where stat counts in ticks of ten milliseconds.
        spent = (int((task / "schedstat").read_text().split()[0]) for task in chain.from_iterable(tasks))
        return sum(spent) / 1e9

    def resident_kib(self) -> int:
        """Return the resident memory of the first worker, in KiB."""
        status = Path(f"/proc/{self.workers()[0]}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])


def make_certificates(folder: Path) -> SelfSignedFiles:
    """Return a certificate for loopback."""
    return provision_self_signed(folder / "certificates", now=datetime.now(UTC))


@contextmanager
def ours(
    folder: Path,
    files: SelfSignedFiles,
    *,
    workers: int,
    threads: int,
    cluster: Path | None = None,
    role: str = "admission",
) -> Iterator[Running]:
    """Run ``evenkeel serve`` with the sample policy, and a cluster or the sample; its log goes to a file."""
    if cluster is None:
        cluster = folder / "cluster.json"
        cluster.write_bytes(orjson.dumps(CLUSTER))
    command = [
        *(sys.executable, "-c", "from webhook.cli.start import run; run()", "serve", "--bind=127.0.0.1:0"),
        *(f"--cert={files.certificate}", f"--key={files.key}", f"--policy={POLICY}", f"--cluster={cluster}"),
        *("--defaults=policy", f"--role={role}", f"--workers={workers}", f"--threads={threads}"),
    ]
    with _running(command, folder / "ours.log", files) as server:
        yield server


@contextmanager
def empty(folder: Path, files: SelfSignedFiles, *, workers: int, threads: int) -> Iterator[Running]:  # noqa: ARG001  # as the other
    """Run the handler that does nothing under gunicorn's own ASGI worker."""
    command = [
        *(sys.executable, "-m", "gunicorn", "--worker-class=asgi", "--bind=127.0.0.1:0"),
        *("--keep-alive=120", f"--workers={workers}", "--asgi-loop=uvloop", "--asgi-lifespan=off"),
        *(f"--certfile={files.certificate}", f"--keyfile={files.key}", "--no-control-socket"),
        "benchmarks.empty_server:empty",
    ]
    with _running(command, folder / "empty.log", files) as server:
        yield server


@contextmanager
def _running(command: list[str], log: Path, files: SelfSignedFiles) -> Iterator[Running]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVENKEEL_")}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environment)
    try:
        port = _port(process, log)
        yield Running(process.pid, port, files.ca)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE_S)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"https://127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text()}")
