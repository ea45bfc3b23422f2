"""Run a program on files of a repository that nobody vouches for: no network, no secrets, and limits."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

#: Seconds that a program may take for one chart or kustomization, by the clock and of the processor.
#: Arbitrary; they take one or two.
TIMEOUT_S: Final = 60
#: Bytes that a program may print. Arbitrary; the largest charts print a sixth of it.
MAX_OUTPUT: Final = 2**25
#: Bytes of address space that a program may have. Helm and kustomize reserve 0.8 GiB and seldom use 0.2 more.
MAX_MEMORY: Final = 2**31
#: What a program may not exceed, in its process and each that it starts.
_LIMITS: Final = (
    (resource.RLIMIT_CPU, TIMEOUT_S),
    (resource.RLIMIT_FSIZE, MAX_OUTPUT),
    (resource.RLIMIT_AS, MAX_MEMORY),
    (resource.RLIMIT_CORE, 0),
)
#: An address where nobody listens: port 1 is reserved.
_NOWHERE: Final = "http://127.0.0.1:1"
#: How a runtime ends that gets no more memory: of Go, of the C library, and of a shell.
_NO_MEMORY: Final = (
    b"out of memory", b"cannot allocate memory", b"Cannot allocate memory", b"failed to reserve",
)  # fmt: skip
#: Flags of Linux for a network of one's own, and for the right to have one.
_NEW_NETWORK: Final = 0x40000000
_NEW_USER: Final = 0x10000000


class SandboxLimitError(Exception):
    """A program has exceeded a limit; the text says which."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended.

    Attributes:
        code: Its exit code.
        output: What it printed.
        complaint: What it printed on standard error.
    """

    code: int
    output: bytes
    complaint: bytes


def run(command: list[str], *, stdin: bytes = b"") -> Done:
    """Run a program to its end.

    It sees an empty home, no variable of ours, no other program, and no network where the kernel lets us
    take it away; else it finds proxies where nobody listens.

    Args:
        command: The program, by its path, and its arguments.
        stdin: What it reads.

    Raises:
        LimitError: It has exceeded a limit.
        OSError: It cannot be run.
        ValueError: The same, for what is no argument.
    """
    with (
        tempfile.TemporaryDirectory(prefix="evenkeel-home-", ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as complaint,
    ):
        given.write(stdin)
        given.seek(0)
        # Files, not pipes: the kernel stops who writes too much, and nobody need read meanwhile.
        process = subprocess.Popen(  # noqa: S603  # a program of the user's own PATH, given a path
            command,
            stdin=given,
            stdout=output,
            stderr=complaint,
            env=_environment(home),
            start_new_session=True,
            preexec_fn=_confine,  # noqa: PLW1509  # this process has no thread that could hold a lock
        )
        code = _wait(process)
        done = Done(code, _content(output), _content(complaint))
    _check_limits(done)
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


def _confine() -> None:
    """Give up the network and what exceeds the limits; runs in the new process."""
    for kind, limit in _LIMITS:
        # Not every system has every limit, and none may be raised.
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(kind, (least, least))
    unshare = getattr(_LIBC, "unshare", None)
    # Root keeps its rights over files; everybody else may have a network only with users of their own.
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


def _check_limits(done: Done) -> None:
    if max(len(done.output), len(done.complaint)) >= MAX_OUTPUT:
        raise SandboxLimitError(f"prints more than {MAX_OUTPUT // 2**20} MiB")
    if done.code and any(mark in done.complaint for mark in _NO_MEMORY):
        raise SandboxLimitError(f"needs more than {MAX_MEMORY // 2**30} GiB of memory")
    if done.code in {-signal.SIGKILL, -signal.SIGXCPU}:
        raise SandboxLimitError(f"was killed, as after {TIMEOUT_S} s of processor time")


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
