"""Compute answers in child processes, within limits of time and memory, of a server that has one thread.

A thread would do for what takes microseconds. What takes longer holds the interpreter's lock again and again
for as long as a whole review may take, and no thread can be ended. A child has all that the server holds in
memory, as it was when the question came, without copying it; it can be killed at any time.

A fork copies the thread that forks alone, and the locks that others hold stay taken in the child for ever. So
who has threads forks nothing: it hands what is to be held to a fork server, a process of its own that has one
thread, and tells it what changes. Python's own forkserver starts that process.

Knows no web framework and no server.
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
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

from webhook.telemetry.logs import LOGGER, Value

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Bytes that are read at once; what a socket holds.
_BLOCK: Final = 64 * 1024
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
_LENGTH: Final = struct.Struct("!Q")
_STATUS: Final = struct.Struct("!i")
#: The environment of who forks, before it imports numpy, whose library has threads of its own otherwise.
ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1"}
#: Objects made since the last collection after which the collector looks for cycles.
_COLLECT_AFTER: Final = 20_000

#: What is said while the server ends.
_ENDING: Final = "the server is being ended"

_Found = TypeVar("_Found")


class Limit(Enum):
    """Why a question was not answered."""

    BUSY = "busy"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    #: The process was killed, or it crashed.
    KILLED = "killed"


class AbandonedError(Exception):
    """A question whose client is gone, so that its work was ended."""


class LimitError(Exception):
    """A question that was not answered."""

    def __init__(self, limit: Limit, message: str) -> None:
        # With all of its arguments, so that it can be pickled.
        super().__init__(limit, message)
        self.limit = limit
        self.message = message


class _RemoteError(Exception):
    """The traceback of an error in a child; the cause of the error that is raised for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """The resources that one question may use."""

    #: Seconds, with those in which it waits for others.
    timeout_s: float
    #: Memory, beyond what the server has already.
    memory_bytes: int
    #: Seconds of processor time; None for no limit but that of ``timeout_s``.
    processor_s: float | None = None


class ForkServer:
    """The way to a process that holds something; it ends with this one, and with this object."""

    def __init__(self, *prepared: str) -> None:
        """Nothing is started yet.

        Args:
            prepared: Functions, as ``module:name``, that the process calls once for what its children need.
        """
        self._prepared = prepared
        self._held: Callable[[], object] = lambda: None
        self._starting = threading.Lock()
        self._telling = threading.Lock()
        self._process: Any = None
        self._ended = False

    def hand_over(self, held: Callable[[], object]) -> None:
        """Have the process hold what a function returns when it is started, pickled."""
        self._held = held

    def start(self) -> None:
        """Start the process; what is asked and told meanwhile waits until it holds what it is to hold."""
        with self._starting:
            if self._process is not None:
                return
            if self._ended:
                raise ConnectionError(_ENDING)
            # Only who has a fork server pays for it.
            import multiprocessing  # noqa: PLC0415
            from multiprocessing.reduction import ForkingPickler  # noqa: PLC0415

            # Locks are not handed over: who is handed something with one has another.
            ForkingPickler.register(type(threading.RLock()), lambda _lock: (threading.RLock, ()))
            ForkingPickler.register(type(threading.Lock()), lambda _lock: (threading.Lock, ()))
            os.environ.update(ONE_THREAD)
            context = multiprocessing.get_context("forkserver")
            # Of the first of several, all find them there.
            context.set_forkserver_preload([name.partition(":")[0] for name in self._prepared])
            held = self._held()
            self._questions, questions = socket.socketpair()
            self._events, events = context.Pipe()
            # Without them it ends, and with it its children.
            self._closed = weakref.finalize(self, _close, self._questions, self._events)
            process = context.Process(
                target=_serve,
                args=(held, self._prepared, questions, events),
                name="fork-server",
                daemon=True,
            )
            try:
                process.start()
            finally:
                _close(questions, events)
            self._process = process

    @property
    def failed(self) -> bool:
        """Whether the process has ended though it should not have."""
        return self._process is not None and not self._ended and not self._process.is_alive()

    def tell(self, method: str, *values: Any) -> Any:
        """Call a method of what is held; return its result or raise its error.

        Args:
            method: Its name, after those of the attributes that lead to it.
            values: What it is given: numbers, texts, bytes, lists and mappings, of any depth.

        Raises:
            OSError: The process has ended.
            EOFError: The same.
        """
        self.start()
        with self._telling:
            self._events.send_bytes(marshal.dumps((method, values)))
            found, error = self._events.recv()
        if error is not None:
            raise error
        return found

    def ask(self) -> socket.socket:
        """Have a child begun; return the connection to it.

        Raises:
            OSError: There is no process to ask.
        """
        self.start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._questions, [b"?"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def end(self) -> None:
        """End the process and its children now, and begin no more."""
        with self._starting:
            self._ended = True
            if self._process is not None:
                self._closed()
                self._process.kill()
                self._process.join()

    @property
    def ended(self) -> bool:
        """Whether ``end`` was called."""
        return self._ended


def _close(*ends: socket.socket | Connection) -> None:
    for end in ends:
        end.close()


class ChildProcesses:
    """Asks a fork server, a few questions at a time; others wait for them.

    One by default, because each child takes memory of its own: the limit of a container holds for all of them
    together.
    """

    def __init__(self, server: ForkServer, budget: ResourceLimits, *, at_once: int = 1) -> None:
        self._server = server
        self._budget = budget
        self._turn = threading.BoundedSemaphore(at_once)

    def run(
        self,
        work: Callable[[Any], _Found],
        *,
        reserved: int = 0,
        client: int | None = None,
        timeout_s: float | None = None,
    ) -> _Found:
        """Return the result of some work, or raise its error, both from a child.

        Args:
            work: Is called with what the server holds; a function of a module, or a ``partial`` of one.
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
            question = pickle.dumps((self._budget, reserved, deadline)) + pickle.dumps(work)
            said = self._asked(question, deadline, client)
        finally:
            self._turn.release()
        return cast("_Found", self._unpack(self._whole(said)))

    def _asked(self, question: bytes, deadline: float, client: int | None) -> bytes:
        """Return all that is said to a question."""
        said: bytes | None = b""
        # There may be no server any more, or it cannot fork.
        with contextlib.suppress(OSError), self._server.ask() as asked:
            asked.settimeout(max(0.001, deadline - time.monotonic()))
            # A child that has ended does not read; how it did is said all the same.
            with contextlib.suppress(OSError):
                asked.sendall(question)
                asked.shutdown(socket.SHUT_WR)
            said = _read_all(asked, deadline, client)
        if said is None:
            text = f"the answer takes longer than {self._budget.timeout_s:g} s"
            raise LimitError(Limit.TIMEOUT, text)
        return said

    def _whole(self, said: bytes) -> bytes:
        """Return the outcome that a child wrote, if it wrote all of it."""
        if len(said) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(said)[0]
            if len(said) >= end:
                return said[_LENGTH.size : end]
        if self._server.ended:
            raise LimitError(Limit.BUSY, _ENDING)
        if len(said) < _STATUS.size:
            raise LimitError(Limit.BUSY, "no process can be started: try again")
        status = _STATUS.unpack(said[-_STATUS.size :])[0]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            text = f"the answer takes more than {self._budget.processor_s:g} s of processor time"
            raise LimitError(Limit.TIMEOUT, text)
        fields: dict[str, Value] = {"signal": os.WTERMSIG(status), "code": os.WEXITSTATUS(status)}
        LOGGER.error("child_process_failed", extra={"fields": fields})
        raise LimitError(Limit.KILLED, "the process that computes the answer ended before it was done")

    def _unpack(self, outcome: bytes) -> Any:
        """Return the result of a child, or raise its error."""
        found, error, trace = pickle.loads(outcome)  # noqa: S301  # our own process wrote it
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


def _read_all(asked: socket.socket, deadline: float, client: int | None) -> bytes | None:
    """Return all that is said until a connection is closed; None if that takes too long.

    Raises:
        AbandonedError: The client is gone.
    """
    poller = select.poll()
    parts: list[bytes] = []
    poller.register(asked, select.POLLIN)
    if client is not None:
        poller.register(client, select.POLLRDHUP)
    while ready := poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        if client in dict(ready):
            raise AbandonedError
        part = b""
        # It may have ended before it had read the question.
        with contextlib.suppress(ConnectionResetError):
            part = asked.recv(_BLOCK)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


def spare_collector() -> None:
    """Look for cycles less often, and never among what there is, which lives as long as the process.

    Its memory stays shared with processes that are forked. A review makes some 200 objects; Python would
    search after every third.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)


# What follows runs in the fork server.


def _serve(held: object, prepared: tuple[str, ...], questions: socket.socket, events: Connection) -> None:
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
                os.read(woken, _BLOCK)
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
                    asked.send(_STATUS.pack(status), socket.MSG_DONTWAIT)


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
        asked.sendall(_LENGTH.pack(len(outcome)) + outcome)
        code = 0
    finally:
        os._exit(code)


def _received(asked: socket.socket) -> bytes:
    parts = []
    while part := asked.recv(_BLOCK):
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


class ToldStore:
    """A store that another process keeps: it is told of each object, and says what is wrong with it."""

    def __init__(self, tell: Callable[..., Any]) -> None:
        """Tell it nothing yet.

        Args:
            tell: Calls a method of the other process by its name; returns the result, or raises the error.
        """
        self.apply, self.remove, self.names, self.count, self.set_unread = (
            partial(tell, f"store.{name}") for name in ("apply", "remove", "names", "count", "set_unread")
        )
