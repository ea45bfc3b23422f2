"""gunicorn's threaded worker, made safe against slow clients and able to drain.

What is replaced, and why (gunicorn 27, ``workers/gthread.py`` and ``workers/base.py``):

- ``accept``, ``handle``, ``finish_request``: a connection gets a thread when a whole request is there.
  gunicorn gives it one at once and waits in it, so that as many silent clients as there are threads
  stop everybody else. A review is answered in the main loop: handing it to a thread and back, and the
  two threads' quarrel for the interpreter, cost several times what it takes.
- ``accept`` also leaves a connection to a worker that holds fewer (``balance.py``).
- ``run``, ``handle_exit``: after SIGTERM the worker goes on accepting for a while. gunicorn stops at
  once and resets what the kernel had accepted for it.
- ``run`` also waits a moment until a new worker knows the cluster.
- ``handle_quit``: Ctrl-C ends the process even while a thread still waits for a client.
- ``handle_error``: errors below the application are JSON and one log line, not HTML and a traceback.
"""

from __future__ import annotations

import errno
import os
import selectors
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, Final

from gunicorn.workers.gthread import ThreadWorker

from webhook.gunicorn.protocol import ClientGoneError, Connection, Limits, SlowClientError, Stage
from webhook.serving.balance import ConnectionCounts
from webhook.serving.quick import Next, QuickLane, send_on
from webhook.serving.refusal import CLIENT_ERRORS, refuse
from webhook.telemetry.logs import LOGGER

#: Seconds between two looks at the deadlines of waiting connections. Arbitrary.
_SWEEP_EVERY_S: Final = 0.5

#: Seconds for which a worker leaves a new connection to one that holds fewer. Arbitrary; ten times what that
#: one needs to take it, unless it is busy.
_LOOK_AWAY_S: Final = 0.001

#: Seconds that a connection without a request may hold up the end of a drained worker. Arbitrary.
_LAST_REQUEST_S: Final = 1.0

#: Seconds that a new worker waits to be prepared. Arbitrary; well below the timeout of a webhook, and enough
#: to list a small cluster. With a large one /readyz says no for longer.
_PREPARE_S: Final = 1.0
#: Seconds between two looks whether it is. Arbitrary.
_PREPARE_TURN_S: Final = 0.02

#: accept(2) fails with these while the process or machine is short of something; it passes.
_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

#: Seconds between two looks whether a postponed answer can be given. Arbitrary; the event that it waits for
#: takes some times as long.
_POSTPONED_TURN_S: Final = 0.01

#: Where nothing is lost if the connection ends.
_WITHOUT_REQUEST: Final = (Stage.HANDSHAKE, Stage.IDLE)

#: Where the connection waits for the client.
_MORE_TO_COME: Final = (Next.WAIT, Next.KEEP, Next.SEND)


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves the application of ``serving.application``."""

    alive: bool

    def __init__(self, *args: Any, **keywords: Any) -> None:  # gunicorn's signature
        super().__init__(*args, **keywords)
        settings = self.app.settings
        self._limits = Limits(read_timeout_s=settings.read_timeout_s, keepalive_s=settings.keepalive_s)
        self._drain_s: float = settings.drain_s
        self._graceful_s: float = settings.graceful_timeout_s
        self._open: set[Connection] = set()
        self._waiting: set[Connection] = set()
        self._idle_deadline = float("inf")
        self._next_sweep = 0.0
        self._short = False
        self._quick_starts: tuple[bytes, ...] = self.app.quick
        self._quick = QuickLane(self.handle_request, self._guard, self._follow)
        self._counts: ConnectionCounts = self.app.counts
        self._looks_away_until = 0.0

    # The main loop.

    def run(self) -> None:
        """Serve until told to end, then drain."""
        self.poller.register(
            self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks
        )
        self._counts.set(self.age, 0)
        self._prepare()
        while self.alive and self.is_parent_alive():
            self._turn(accepting=True)
        self._drain()
        for connection in self._open:
            connection.close()
        self.app.after_turn()
        self.tpool.shutdown(wait=False)
        self.poller.close()
        self.method_queue.close()

    def _prepare(self) -> None:
        """Wait a moment for what this worker must know; the kernel holds connections meanwhile.

        One that takes the place of a killed worker would answer its first requests without the cluster.
        """
        ends = time.monotonic() + _PREPARE_S
        while self.alive and not self.app.prepared() and (left := ends - time.monotonic()) > 0:
            self._turn(accepting=False, at_most_s=min(left, _PREPARE_TURN_S))

    def _turn(self, *, accepting: bool, at_most_s: float = 1.0) -> None:
        room = len(self._open) < self.worker_connections or self._close_longest_idle()
        away_s = self._looks_away_until - time.monotonic()
        self.set_accept_enabled(accepting and room and not self._short and away_s <= 0)
        self._short = False
        patience_s = min(at_most_s, away_s if away_s > 0 else _SWEEP_EVERY_S)
        if self._quick.waiting:
            patience_s = min(patience_s, _POSTPONED_TURN_S)
        self.wait_for_and_dispatch_events(timeout=max(0.0, patience_s))
        self._quick.answer()
        self.app.after_turn()
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_EVERY_S
            self.notify()
            self._end_overdue(now)

    def _drain(self) -> None:
        """Answer for the drain window, then finish what was begun.

        The window is never cut short: that nothing is connected now says nothing about the load balancer
        that has not heard of our end yet.
        """
        window_ends = time.monotonic() + self._drain_s
        while (left := window_ends - time.monotonic()) > 0 and self.is_parent_alive():
            self._turn(accepting=True, at_most_s=left)
        self._accept_backlog()
        self._idle_deadline = time.monotonic() + _LAST_REQUEST_S
        for connection in list(self._waiting):
            if connection.stage is Stage.IDLE:
                self._forget(connection)
            else:
                self._limit_idleness(connection)
        ends = time.monotonic() + self._graceful_s
        while self._open and (left := ends - time.monotonic()) > 0 and self.is_parent_alive():
            self._turn(accepting=False, at_most_s=left)

    def _accept_backlog(self) -> None:
        """Take what the kernel accepted for us; closing the listener would reset it."""
        self.set_accept_enabled(False)
        for listener in self.sockets:
            listener.settimeout(0)
            while self.accept(listener):
                pass
            listener.close()

    def handle_exit(self, _signal: int, _frame: FrameType | None) -> None:
        """Begin to drain (SIGTERM): from now on every answer closes its connection."""
        if self.alive:
            self.alive = False
            self.app.begin_drain()
            self.method_queue.defer(lambda: None)

    def handle_quit(self, _signal: int, _frame: FrameType | None) -> None:
        """End now (SIGINT, SIGQUIT). Python would wait for every thread of the pool."""
        self.app.after_turn()
        os._exit(0)

    # Connections: these run in the main loop.

    def accept(self, listener: Any) -> bool:  # gunicorn's BaseSocket
        """Take one connection and wait for its first bytes; return whether there was one."""
        if self.alive and not self._looks_away_until and self._counts.is_ahead(self.age):
            # Only once for each connection: the other worker may be busy for long.
            self._looks_away_until = time.monotonic() + _LOOK_AWAY_S
            return False
        self._looks_away_until = 0.0
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in _SHORTAGES:
                self._short = True
                LOGGER.warning("accept_failed", extra={"fields": {"error": str(error.strerror)}})
            return False
        connection = Connection(self.cfg, sock, client, listener.getsockname(), self._limits)
        self._open.add(connection)
        self._counts.set(self.age, len(self._open))
        self._limit_idleness(connection)
        self._wait(connection)
        return True

    def finish_request(self, conn: Connection, fs: Future[Next]) -> None:
        """Decide what a connection waits for after a thread had it."""
        self._follow(conn, Next.CLOSE if fs.cancelled() or fs.exception() else fs.result())

    def _follow(self, connection: Connection, outcome: Next) -> None:
        """Do what a step said becomes of a connection."""
        try:
            if outcome is Next.KEEP and connection.rest():
                outcome = Next.THREAD
            self._limit_idleness(connection)
            watched = connection in self._waiting and connection.wants == connection.watched
            if watched and outcome in _MORE_TO_COME:
                # The most frequent case by far: the poller waits for the next bytes already.
                return
            self._unwatch(connection)
            if outcome is Next.THREAD:
                self.enqueue_req(connection)
            elif outcome is Next.ANSWER:
                self._quick.add(connection)
            elif outcome is Next.CLOSE:
                self._forget(connection)
            elif outcome is not Next.POSTPONE:  # Then nobody reads from it until the answer is sent.
                if outcome is Next.LINGER:
                    connection.linger()
                self._wait(connection)
        except (OSError, ValueError):
            self._forget(connection)

    def _limit_idleness(self, connection: Connection) -> None:
        """See to it that no connection without a request holds up the end of a drained worker."""
        if connection.stage in _WITHOUT_REQUEST:
            connection.deadline = min(connection.deadline, self._idle_deadline)

    def _wait(self, connection: Connection) -> None:
        self.poller.register(connection.sock, connection.wants, partial(self._wake, connection))
        connection.watched = connection.wants
        self._waiting.add(connection)

    def _unwatch(self, connection: Connection) -> None:
        if connection in self._waiting:
            self._waiting.discard(connection)
            with suppress(OSError, KeyError, ValueError):
                self.poller.unregister(connection.sock)

    def _wake(self, connection: Connection, _registered: object) -> None:
        match connection.stage:
            case Stage.HANDSHAKE:
                self._follow(connection, Next.THREAD)
            case Stage.LINGERING:
                if connection.drained():
                    self._forget(connection)
            case Stage.SENDING:
                self._follow(connection, self._guard(connection, send_on))
            case Stage.IDLE | Stage.RECEIVING:
                outcome = self._guard(connection, self._receive)
                if outcome is Next.ANSWER:
                    self._quick.add(connection)
                else:
                    self._follow(connection, outcome)

    def _receive(self, connection: Connection) -> Next:
        if not connection.advance():
            return Next.WAIT
        return Next.ANSWER if connection.is_quick(self._quick_starts) else Next.THREAD

    def _forget(self, connection: Connection) -> None:
        self._unwatch(connection)
        self._open.discard(connection)
        self._counts.set(self.age, len(self._open))
        connection.close()

    def _end_overdue(self, now: float) -> None:
        for connection in [waiting for waiting in self._waiting if waiting.deadline <= now]:
            if connection.stage is not Stage.RECEIVING:
                self._forget(connection)
                continue
            self._unwatch(connection)
            refuse(connection, SlowClientError())
            connection.linger()
            self._wait(connection)

    def _close_longest_idle(self) -> bool:
        """Make room for a new connection by ending one that waits for its next request."""
        idle = [waiting for waiting in self._waiting if waiting.stage is Stage.IDLE]
        if idle:
            self._forget(min(idle, key=lambda connection: connection.deadline))
        return bool(idle)

    # Requests: these run in threads of the pool, and for quick requests in the main loop.

    def handle(self, conn: Connection) -> Next:
        """Do in a thread what a connection waits for."""
        return self._guard(conn, self._answer)

    def _answer(self, conn: Connection) -> Next:
        """Read what is there, and answer if it is a whole request that the main loop leaves to threads."""
        if not conn.advance():
            return Next.WAIT
        if conn.is_quick(self._quick_starts):
            # It came with the end of the handshake. Its answer may have to wait, which no thread should do.
            return Next.ANSWER
        keep = self.handle_request(conn.next_request(), conn)
        # What is left of the body was gathered: this reads no socket.
        return Next.KEEP if keep and conn.parser.finish_body() else Next.LINGER

    def _guard(self, conn: Connection, step: Callable[[Connection], Next]) -> Next:
        """Take a step, and turn whatever goes wrong into an answer and the connection's end."""
        try:
            return step(conn)
        except CLIENT_ERRORS as error:
            self.handle_error(None, conn, conn.client, error)
            return Next.LINGER
        except (ClientGoneError, StopIteration, OSError) as error:
            # Resets, broken handshakes, ends in the middle: part of every public port's day.
            LOGGER.debug("connection_ended", extra={"fields": {"client": conn.peer, "why": repr(error)}})
            return Next.CLOSE
        except Exception as error:  # noqa: BLE001  # the last line of defense: the worker must live on
            self.handle_error(None, conn, conn.client, error)
            return Next.LINGER

    def handle_error(
        self, _request: Any, conn: Connection, _client: Any, error: Exception
    ) -> None:  # gunicorn's types
        """Answer what went wrong below the application as JSON."""
        refuse(conn, error)
