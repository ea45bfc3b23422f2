"""Run a program without network and secrets, and within limits. Windows has nothing to do it with."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from webhook.lint.tool_limits import EXTRA_S, MAX_MEMORY, MAX_OUTPUT, ORDINARY_S, PROCESSOR_S, TIMEOUT_S

#: What a program may not exceed, in its process and each that it starts.
_LIMITS: Final = (
    (resource.RLIMIT_FSIZE, MAX_OUTPUT),
    (resource.RLIMIT_AS, MAX_MEMORY),
    (resource.RLIMIT_CORE, 0),
)
#: An address where nothing listens: port 1 is reserved.
_NOWHERE: Final = "http://127.0.0.1:1"
#: How a runtime ends that gets no more memory: of Go, of the C library, and of a shell.
_NO_MEMORY: Final = (
    b"out of memory", b"cannot allocate memory", b"Cannot allocate memory", b"failed to reserve",
)  # fmt: skip
#: Flags of Linux for a network of one's own, and for the right to have one.
_NEW_NETWORK: Final = 0x40000000
_NEW_USER: Final = 0x10000000


@dataclass(slots=True)
class _Allowance:
    """The time of the processor that programs of this run, which is this process, may yet take."""

    extra_s: float = EXTRA_S  #: Seconds beyond those that each may take.

    @property
    def limit_s(self) -> int:
        """Whole seconds for the next program."""
        return min(PROCESSOR_S, ORDINARY_S + int(self.extra_s))

    def charge(self, used_s: float) -> None:
        """Count what a program took."""
        self.extra_s = max(0.0, self.extra_s - max(0.0, used_s - ORDINARY_S))


_ALLOWANCE: Final = _Allowance()


class SandboxLimitError(Exception):
    """A program has exceeded a limit; the text says which."""


def run_confined(command: list[str], *, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end.

    It sees an empty home, no variable of ours, no other program, and no network where the kernel lets us
    take it away; else it finds proxies where nothing listens.

    Args:
        command: The program, by its path, and its arguments.
        stdin: What it reads.

    Raises:
        SandboxLimitError: It has exceeded a limit.
        OSError: It cannot be run.
        ValueError: The same, for what is no argument.
    """
    limit_s, before_s = _ALLOWANCE.limit_s, _processor_s()
    with (
        tempfile.TemporaryDirectory(prefix="evenkeel-home-", ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as complaint,
    ):
        given.write(stdin)
        given.seek(0)
        # Files, not pipes: the kernel stops a program that writes too much, and nothing need read meanwhile.
        process = subprocess.Popen(  # noqa: S603  # a program of the user's own PATH, given a path
            command,
            stdin=given,
            stdout=output,
            stderr=complaint,
            env=_environment(home),
            start_new_session=True,
            preexec_fn=partial(_confine, limit_s),  # noqa: PLW1509  # no thread of ours could hold a lock
        )
        try:
            code = _wait(process)
        finally:
            _ALLOWANCE.charge(_processor_s() - before_s)
        done = subprocess.CompletedProcess(command, code, _content(output), _content(complaint))
    _check_limits(done, limit_s)
    return done


def _environment(home: str) -> dict[str, str]:
    """Return the variables of a program: whatever it or Git could use for another way out leads nowhere."""
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {
        "PATH": str(Path(home, "bin")),
        "HOME": home,
        "TMPDIR": home,
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        **{variable: _NOWHERE for name in proxies for variable in (name, name.lower())},
    }


def _processor_s() -> float:
    """Return the seconds of the processor that the programs took which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _confine(processor_s: int) -> None:
    """Give up the network and what exceeds the limits; runs in the new process."""
    for kind, limit in ((resource.RLIMIT_CPU, processor_s), *_LIMITS):
        # Not every system has every limit, and none may be raised.
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (least, least))
    unshare = getattr(_LIBC, "unshare", None)
    # Root keeps its rights over files; other users may have a network only with users of their own.
    if unshare is not None and unshare(_NEW_NETWORK):
        unshare(_NEW_NETWORK | _NEW_USER)


#: The C library, loaded before the new process needs it.
_LIBC: Final = ctypes.CDLL(None)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a program; kill it, with all that it has started, if it takes too long."""
    try:
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise SandboxLimitError(f"takes more than {TIMEOUT_S} s") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _check_limits(done: subprocess.CompletedProcess[bytes], processor_s: int) -> None:
    if max(len(done.stdout), len(done.stderr)) >= MAX_OUTPUT:
        raise SandboxLimitError(f"prints more than {MAX_OUTPUT // 2**20} MiB")
    if done.returncode and any(mark in done.stderr for mark in _NO_MEMORY):
        raise SandboxLimitError(f"needs more than {MAX_MEMORY // 2**30} GiB of memory")
    if done.returncode in {-signal.SIGKILL, -signal.SIGXCPU}:
        text = f"was killed, as after {processor_s} s of processor time"
        if processor_s < PROCESSOR_S:
            text += f", since others took {EXTRA_S} s more than is usual: give it in a run of its own"
        raise SandboxLimitError(text)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
