"""Compute the answer of a request in a child process, within limits of time and memory.

A thread would do for what takes microseconds. What takes longer holds the interpreter's lock again and again
for as long as a whole review may take, and no thread can be ended. A forked child has all of the cluster in
memory, as it was when the request came, and needs no lock to read it; it can be killed at any time.

Knows no web framework and no server.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast

from webhook.telemetry.logs import LOGGER, Value

#: Bytes that are read from a child at once; what a pipe holds.
_BLOCK: Final = 64 * 1024
#: Seconds after its deadline at which a child ends by itself, if it was not ended.
_LATE_S: Final = 1.0
#: Of prctl(2): the signal that a process gets when the thread that forked it ends.
_PR_SET_PDEATHSIG: Final = 1
#: Less urgent: where the processors do not suffice, reviews get three times as much. With more,
#: no answer would come on a busy machine.
_NICE: Final = 5
#: What a server does about these is not for its children.
_SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGALRM,
    signal.SIGPROF,
)

#: What is said while the server ends.
_ENDING: Final = "the server is being ended"

_Found = TypeVar("_Found")


class Limit(Enum):
    """Why a request was not computed to its end."""

    BUSY = "busy"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    #: The process was killed, or it crashed.
    KILLED = "killed"


class AbandonedError(Exception):
    """A request whose client is gone, so that its work was ended."""


class LimitError(Exception):
    """A request that was not computed to its end."""

    def __init__(self, limit: Limit, message: str) -> None:
        # With all of its arguments, so that it can be pickled.
        super().__init__(limit, message)
        self.limit = limit
        self.message = message


class _RemoteError(Exception):
    """The traceback of an error in a child; the cause of the error that is raised for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """The resources that one request may use."""

    timeout_s: float  #: Seconds, with those in which it waits for others.
    memory_bytes: int  #: Memory, beyond what the server has already.
    #: Seconds of processor time; None for no limit but that of ``timeout_s``.
    processor_s: float | None = None


class ChildProcesses:
    """Forks a child for each piece of work, a few at a time; others wait for them.

    One by default, because each takes memory of its own: the limit of a container holds for all of them
    together.

    Args:
        budget: What each may take.
        at_once: How many there may be at once.
    """

    def __init__(self, budget: ResourceLimits, *, at_once: int = 1) -> None:
        self._budget = budget
        self._turn = threading.BoundedSemaphore(at_once)
        self._changing = threading.Lock()
        self._running: set[int] = set()
        self._ended = False

    def run(
        self,
        work: Callable[[], _Found],
        *,
        frozen: Callable[[], AbstractContextManager[object]] = nullcontext,
        reserved: int = 0,
        client: int | None = None,
        timeout_s: float | None = None,
    ) -> _Found:
        """Return the result of some work, or raise its error, both through a pipe.

        Args:
            work: Is run in the child. It must take no lock that another thread may hold, and open no file.
            frozen: Keeps other threads from changing what the work reads while the child is forked.
            reserved: Bytes that the work allocates without using them.
            client: The descriptor of the socket of who waits for the result; the work ends with it.
            timeout_s: Seconds for this work, if those are less than any work may take.

        Raises:
            LimitError: It was not run to its end.
            AbandonedError: The client is gone.
        """
        limit_s = self._budget.timeout_s if timeout_s is None else min(timeout_s, self._budget.timeout_s)
        deadline = time.monotonic() + limit_s
        if not self._turn.acquire(timeout=max(0.0, limit_s)):
            text = f"others took the {limit_s:.3g} s that a request may take: try again"
            raise LimitError(Limit.BUSY, text)
        try:
            if client is not None and _is_gone(client):
                raise AbandonedError
            with frozen():
                pid, reader = self._fork(work, reserved, deadline)
            said = self._result(pid, reader, deadline, client)
        finally:
            self._turn.release()
        return cast("_Found", self._unpack(said))

    def end(self) -> None:
        """End every child now, and begin no more."""
        with self._changing:
            self._ended = True
            for pid in self._running:
                os.kill(pid, signal.SIGKILL)

    def _fork(self, work: Callable[[], _Found], reserved: int, deadline: float) -> tuple[int, int]:
        """Start a child; return its process id and the pipe that it writes to."""
        with self._changing:
            if self._ended:
                raise LimitError(Limit.BUSY, _ENDING)
            reader, writer = os.pipe()
            parent = os.getpid()
            try:
                pid = os.fork()
                if pid == 0:
                    most = self._budget.memory_bytes + reserved
                    _compute(work, writer, parent, replace(self._budget, memory_bytes=most), deadline)
            except OSError as error:
                os.close(reader)
                text = f"no process can be started ({error.strerror}): try again"
                raise LimitError(Limit.BUSY, text) from error
            finally:
                os.close(writer)
            self._running.add(pid)
        return pid, reader

    def _result(self, pid: int, reader: int, deadline: float, client: int | None) -> bytes:
        """Return the output of a child, when it has ended."""
        try:
            said = _read_all(reader, deadline, client)
        finally:
            os.close(reader)
            with self._changing:
                # Its id is not given to another process before it is waited for.
                os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                self._running.discard(pid)
        if said is None:
            text = f"the answer takes longer than {self._budget.timeout_s:g} s"
            raise LimitError(Limit.TIMEOUT, text)
        if self._ended:
            raise LimitError(Limit.BUSY, _ENDING)
        # It ends when it has said everything, and what it says ends with it.
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            text = f"the answer takes more than {self._budget.processor_s:g} s of processor time"
            raise LimitError(Limit.TIMEOUT, text)
        if status:
            fields: dict[str, Value] = {"signal": os.WTERMSIG(status), "code": os.WEXITSTATUS(status)}
            LOGGER.error("child_process_failed", extra={"fields": fields})
            raise LimitError(Limit.KILLED, "the process that computes the answer ended before it was done")
        return said

    def _unpack(self, said: bytes) -> Any:
        """Return the result of a child, or raise its error."""
        found, error, trace = pickle.loads(said)  # noqa: S301  # our own process wrote it
        if isinstance(error, MemoryError):
            text = f"the answer takes more than {self._budget.memory_bytes >> 20} MiB of memory"
            raise LimitError(Limit.MEMORY, text) from error
        if error is not None:
            raise error from _RemoteError(f"\n{trace}")
        return found


def _is_gone(client: int) -> bool:
    """Return whether the other end of a connection has been closed."""
    poller = select.poll()
    poller.register(client, select.POLLRDHUP)
    return bool(poller.poll(0))


def _read_all(reader: int, deadline: float, client: int | None) -> bytes | None:
    """Return all that is written to a pipe until it is closed; None if that takes too long.

    Raises:
        AbandonedError: The client is gone.
    """
    poller = select.poll()
    parts: list[bytes] = []
    poller.register(reader, select.POLLIN)
    if client is not None:
        poller.register(client, select.POLLRDHUP)
    while ready := poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        if client in dict(ready):
            raise AbandonedError
        part = os.read(reader, _BLOCK)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


# What follows runs in the child.


def _compute(
    work: Callable[[], object], writer: int, parent: int, limits: ResourceLimits, deadline: float
) -> NoReturn:
    """Run some work, and write what came of it; never return to what the parent was doing."""
    code = 1
    try:
        _detach(writer, parent, deadline)
        if limits.processor_s is not None:
            # A child's processor time begins at 0; the signal ends it, and the parent knows it by that.
            signal.setitimer(signal.ITIMER_PROF, limits.processor_s)
        rest = memoryview(_outcome(work, limits.memory_bytes))
        while rest:
            rest = rest[os.write(writer, rest) :]
        code = 0
    finally:
        os._exit(code)


def _detach(writer: int, parent: int, deadline: float) -> None:
    """Let go of what is the parent's, and end when it does."""
    # Connections stay open for as long as anybody has them open.
    os.closerange(3, writer)
    os.closerange(writer + 1, os.sysconf("SC_OPEN_MAX"))
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(0.0, deadline - time.monotonic()) + _LATE_S)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    os.nice(_NICE)
    # It would write to every object that the parent shares with us, and we are not here for long.
    gc.disable()


def _outcome(work: Callable[[], object], memory_bytes: int) -> bytes:
    """Return the result of some work, or the error that it raises and where; pickled."""
    limit, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + memory_bytes
    ours = wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
    resource.setrlimit(resource.RLIMIT_DATA, (ours, most))
    try:
        return pickle.dumps((work(), None, ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # whatever it is, the parent raises it
        # To report too little memory takes some, too.
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
        trace = "".join(traceback.format_exception(error))
        return pickle.dumps((None, _portable(error), trace))


def _data_bytes() -> int:
    """Return the memory that counts for RLIMIT_DATA; 0 where the system does not report it."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[5]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _portable(error: Exception) -> Exception:
    """Return an error that can be pickled and read again."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except Exception:  # noqa: BLE001  # an error may hold anything
        return RuntimeError(repr(error))
    return error
