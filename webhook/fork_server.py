"""The way to a fork server, which computes answers in child processes within limits of time and memory.

A thread would do for what takes microseconds. What takes longer holds the interpreter's lock again and again
for as long as a whole review may take, and no thread can be ended. A child has all that the server holds in
memory, as it was when the question came, without copying it; it can be killed at any time.

A fork copies the thread that forks alone, and the locks that others hold stay taken in the child for ever. So
who has threads forks nothing: it hands what is to be held to a fork server, a process of its own that has one
thread, and tells it what changes. Python's own forkserver starts that process; ``webhook/forked`` runs there.

Knows no web framework and no server.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import pickle
import select
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from webhook.forked import BLOCK, LENGTH, STATUS, ResourceLimits, serve
from webhook.telemetry.logs import LOGGER, Value

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: The environment of who forks, before it imports numpy, whose library has threads of its own otherwise.
ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1"}

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
                target=serve,
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
        if len(said) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(said)[0]
            if len(said) >= end:
                return said[LENGTH.size : end]
        if self._server.ended:
            raise LimitError(Limit.BUSY, _ENDING)
        if len(said) < STATUS.size:
            raise LimitError(Limit.BUSY, "no process can be started: try again")
        status = STATUS.unpack(said[-STATUS.size :])[0]
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
            part = asked.recv(BLOCK)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


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
