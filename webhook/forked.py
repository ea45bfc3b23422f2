"""What runs in a fork server, and in the children that it forks: nothing here has a second thread.

Knows nothing of what it holds, and none of ``webhook``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import marshal
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Bytes that are read at once; what a socket holds.
BLOCK: Final = 64 * 1024
#: Seconds after its deadline at which a child ends by itself, if it was not ended.
_LATE_S: Final = 1.0
#: Of prctl(2): the signal that a process gets when the one that forked it ends.
_PR_SET_PDEATHSIG: Final = 1
#: Less urgent: where the processors do not suffice, reviews get three times as much. With more,
#: no answer would come on a busy machine.
_NICE: Final = 5
#: The kernel ends a child before all others where there is no memory.
_OOM_FIRST: Final = b"1000"
#: The length of an answer, before it; and how a child ended, after what it wrote.
LENGTH: Final = struct.Struct("!Q")
STATUS: Final = struct.Struct("!i")
#: Objects made since the last collection after which the collector looks for cycles.
_COLLECT_AFTER: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """The resources that one question may use."""

    #: Seconds, with those in which it waits for others.
    timeout_s: float
    #: Memory, beyond what the server has already.
    memory_bytes: int
    #: Seconds of processor time; None for no limit but that of ``timeout_s``.
    processor_s: float | None = None


def spare_collector() -> None:
    """Look for cycles less often, and never among what there is, which lives as long as the process.

    Its memory stays shared with processes that are forked. A review makes some 200 objects; Python would
    search after every third.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)


def serve(held: object, prepared: tuple[str, ...], questions: socket.socket, events: Connection) -> None:
    """Fork a child for each question and apply events, until who asks is gone."""
    for name in prepared:
        resolve_name(name)()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_signaled: None)
    signal.set_wakeup_fd(wakes)
    spare_collector()
    poller = select.poll()
    for readable in (questions.fileno(), events.fileno(), woken):
        poller.register(readable, select.POLLIN)
    children = _Children(held, poller)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            ready = {number for number, _ in poller.poll()}
            # First, while the numbers mean what they did.
            children.kill(ready)
            if woken in ready:
                os.read(woken, BLOCK)
                children.reap()
            if events.fileno() in ready:
                events.send(_told(held, events.recv_bytes()))
            if questions.fileno() in ready:
                _, asked, _, _ = socket.recv_fds(questions, 1, 1)
                if not asked:
                    return
                children.begin(socket.socket(fileno=asked[0]))


def _told(held: object, message: bytes) -> tuple[object, Exception | None]:
    """Call a method of what is held; return its result, or its error."""
    method, values = marshal.loads(message)  # noqa: S302  # our own process wrote it
    try:
        return attrgetter(method)(held)(*values), None
    except Exception as error:  # noqa: BLE001  # whoever told it raises it
        return None, _portable(error)


class _Children:
    """The children of a fork server, each with the connection to who asked."""

    def __init__(self, held: object, poller: select.poll) -> None:
        self._held = held
        self._poller = poller
        self._running: dict[int, tuple[int, socket.socket]] = {}

    def begin(self, asked: socket.socket) -> None:
        """Fork a child that answers."""
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            # Who asked finds that nothing is said.
            asked.close()
            return
        if pid == 0:
            _compute(self._held, asked, parent)
        self._running[asked.fileno()] = pid, asked
        # Nothing is read here; that the other end is closed is noticed all the same.
        self._poller.register(asked, 0)

    def kill(self, left: set[int]) -> None:
        """End the children at the other end of whose connections no one is any more."""
        for number in left & self._running.keys():
            pid, asked = self._running[number]
            os.kill(pid, signal.SIGKILL)
            self._poller.unregister(asked)

    def reap(self) -> None:
        """Say of each child that has ended how it did."""
        for number, (pid, asked) in list(self._running.items()):
            # Its id is not given to another process before it is waited for.
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._running[number]
                with asked, contextlib.suppress(OSError, KeyError):
                    self._poller.unregister(asked)
                    # Who does not read what a child wrote gets no more.
                    asked.send(STATUS.pack(status), socket.MSG_DONTWAIT)


# What follows runs in the child.


def _compute(held: object, asked: socket.socket, parent: int) -> NoReturn:
    """Read a question, and write what comes of it; never return to what the parent was doing."""
    code = 1
    try:
        _detach(asked.fileno(), parent)
        question = io.BytesIO(_received(asked))
        limits, reserved, deadline = pickle.load(question)  # noqa: S301  # our own process wrote it
        signal.setitimer(signal.ITIMER_REAL, max(0.0, deadline - time.monotonic()) + _LATE_S)
        if limits.processor_s is not None:
            # A child's processor time begins at 0; the signal ends it, and who asked knows it by that.
            signal.setitimer(signal.ITIMER_PROF, limits.processor_s)
        outcome = _outcome(held, question, limits.memory_bytes + reserved)
        asked.sendall(LENGTH.pack(len(outcome)) + outcome)
        code = 0
    finally:
        os._exit(code)


def _received(asked: socket.socket) -> bytes:
    parts = []
    while part := asked.recv(BLOCK):
        parts.append(part)
    return b"".join(parts)


def _detach(kept: int, parent: int) -> None:
    """Let go of what is the parent's, and end when it does."""
    signal.set_wakeup_fd(-1)
    # Connections stay open for as long as anybody has them open.
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_bytes(_OOM_FIRST)
    if os.getppid() != parent:
        os._exit(1)
    os.nice(_NICE)
    # It would write to every object that the parent shares with us, and we are not here for long.
    gc.disable()


def _outcome(held: object, question: io.BytesIO, memory_bytes: int) -> bytes:
    """Return the result of some work, or the error that it raises and where; pickled."""
    limit, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + len(question.getbuffer()) + memory_bytes
    ours = wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
    resource.setrlimit(resource.RLIMIT_DATA, (ours, most))
    try:
        work = pickle.load(question)  # noqa: S301  # our own process wrote it
        return pickle.dumps((work(held), None, ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # whatever it is, who asked raises it
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
