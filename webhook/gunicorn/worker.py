"""gunicorn's ASGI worker, with an accept of its own and a drain.

What is overridden (gunicorn 27, ``workers/gasgi.py``), and the promise that each override keeps:

- ``_serve``: connections are accepted here and not by the event loop, so that each handshake has the newest
  certificate, newcomers find room (the loop's own accept closes them where descriptors run out), and plain
  HTTP gets an answer. It also ends what is overdue, and waits a moment until a new worker knows the cluster.
- ``_shutdown``: after SIGTERM the worker goes on accepting for a while, then takes what the kernel accepted
  for it, and finishes what was begun. gunicorn stops listening at once and resets what waits there.
- ``init_signals``: a signal that comes while the worker starts is handled as soon as its event loop runs;
  uvloop's own handlers would lose it. The arbiter blocks signals for the time from the fork until here.
- ``handle_exit_signal``: readiness says so, and the main loop need not wait for its next turn.
- ``handle_quit_signal``: Ctrl-C ends the process even while a thread waits for the API server.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, Final

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from webhook.gunicorn.listener import shown_address
from webhook.gunicorn.protocol import Connection, Stage, raw_answer
from webhook.gunicorn.tls_reader import BufferedReader
from webhook.gunicorn.turns import Turns
from webhook.telemetry.logs import LOGGER

#: Seconds between two looks at the deadlines of connections; also of heartbeats.
_TURN_S: Final = 0.5
#: Seconds between two looks while a worker waits for something: a cluster, or the end of a drain.
_SHORT_TURN_S: Final = 0.02
#: Seconds that a connection without a request may hold up the end of a drained worker.
_LAST_REQUEST_S: Final = 1.0
#: Seconds that a new worker waits to be prepared. Well below the timeout of a webhook, and enough
#: to list a small cluster. With a large one /readyz says no for longer.
_PREPARE_S: Final = 1.0
#: Seconds that a closing connection is read on, so that its last answer is not lost (RFC 9112, section 9.6).
_LINGER_S: Final = 2.0
#: Seconds for which nothing is accepted where no connection can be ended to make room.
_PAUSE_S: Final = 0.05
#: Descriptors that are kept for all that is no connection: pipes of child processes, requests to the API
#: server, files.
_OTHER_DESCRIPTORS: Final = 16
#: accept(2) fails with these while the process or machine is short of something; it passes.
_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
#: Bytes that are read of a connection before it is another's turn. A review has 1 to 12 KB.
_READ_BYTES: Final = 16 * 1024
#: First byte of a TLS connection: a record of type handshake (RFC 8446, section 5.1).
_TLS_HANDSHAKE: Final = b"\x16"
#: The signals that end a worker. They are blocked from before the fork until the worker handles them.
END_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
#: The answer to a client that does not speak TLS.
_PLAIN_TEXT: Final = "this port speaks HTTPS only"


class Worker(ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves the application of ``gunicorn.application``.

    Attributes:
        connections: The open ones.
        draining: Whether the worker must end, so that every answer closes its connection.
        read_timeout_s: Seconds for a handshake, for a whole request, and for the reading of an answer.
        keepalive_s: Seconds between two requests.
        turns: Gives turns to connections that have sent more than one request.
    """

    loop: asyncio.AbstractEventLoop

    def __init__(self, *args: Any, **keywords: Any) -> None:  # gunicorn's signature
        super().__init__(*args, **keywords)
        settings = self.app.settings
        self.read_timeout_s: float = settings.read_timeout_s
        self.keepalive_s: float = settings.keepalive_s
        self.connections: set[Connection] = set()
        self.draining = False
        self.turns = Turns()
        self._drain_s: float = settings.drain_s
        self._graceful_s: float = settings.graceful_timeout_s
        self._idle_deadline = math.inf
        self._most_connections = 0
        self._accepting = False
        self._ended = asyncio.Event()
        self._buffer = bytearray(_READ_BYTES)

    # The main loop.

    async def _serve(self) -> None:
        # gunicorn notes on the class it was called for that there is a parser in C, and looks for it on the
        # base class: called for a subclass first, it would parse in Python.
        ASGIProtocol._check_h1c_protocol_available()  # noqa: SLF001
        self._most_connections = min(self.worker_connections, _free_descriptors() - _OTHER_DESCRIPTORS)
        await self._prepare()
        self._accept_from_now_on()
        while not self.draining and self.ppid == os.getppid():
            self._sweep()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _TURN_S)
        await self._shutdown()

    async def _prepare(self) -> None:
        """Wait a moment for what this worker must know; the kernel holds connections meanwhile.

        One that takes the place of a killed worker would answer its first requests without the cluster.
        """
        ends = time.monotonic() + _PREPARE_S
        while not self.draining and not self.app.prepared() and time.monotonic() < ends:
            self._sweep()
            await asyncio.sleep(_SHORT_TURN_S)

    def _sweep(self) -> None:
        """Send the heartbeat, do what is due beside the requests, and end overdue connections."""
        self.notify()
        self.app.tick()
        now = time.monotonic()
        for connection in [each for each in self.connections if each.deadline <= now]:
            connection.expire()

    async def _shutdown(self) -> None:
        """Answer for the drain window, then finish what was begun.

        The window is never cut short: that nothing is connected now says nothing about the load balancer
        that has not heard of our end yet.
        """
        await self._turn_until(time.monotonic() + self._drain_s, anyway=True)
        self._accept_backlog()
        for connection in self._at(Stage.IDLE):
            connection.close()
        self._idle_deadline = time.monotonic() + _LAST_REQUEST_S
        await self._turn_until(time.monotonic() + self._graceful_s)
        for connection in list(self.connections):
            connection.abort()
        self.app.tick()

    async def _turn_until(self, ends: float, *, anyway: bool = False) -> None:
        """Go on with the connections until a point in time, or until there are none."""
        while time.monotonic() < ends and (anyway or self.connections) and self.ppid == os.getppid():
            for connection in self.connections:
                if connection.stage in (Stage.HANDSHAKE, Stage.IDLE):
                    connection.deadline = min(connection.deadline, self._idle_deadline)
            self._sweep()
            await asyncio.sleep(_SHORT_TURN_S)

    def init_signals(self) -> None:
        """Handle signals in the event loop, from its first turn on."""
        handlers = {
            signal.SIGTERM: self.handle_exit_signal,
            signal.SIGINT: self.handle_quit_signal,
            signal.SIGQUIT: self.handle_quit_signal,
            signal.SIGABRT: self.handle_abort_signal,
            signal.SIGUSR1: self.handle_usr1_signal,
            signal.SIGWINCH: self.handle_winch_signal,
        }
        for number in self.SIGNALS:
            handler = handlers.get(number)
            signal.signal(number, partial(self._handle_soon, handler) if handler else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)

    def _handle_soon(self, handler: Callable[[], None], number: int, _frame: FrameType | None) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(handler)
        elif number in (signal.SIGINT, signal.SIGQUIT):
            # All was served already, and Ctrl-C does not wait for the rest.
            os._exit(0)

    def handle_exit_signal(self) -> None:
        """Begin to drain (SIGTERM): from now on every answer closes its connection."""
        # ``alive`` stays: gunicorn closes connections by it whose clients may go on sending.
        if not self.draining:
            self.draining = True
            self.app.begin_drain()
            self._ended.set()

    def handle_quit_signal(self) -> None:
        """End now (SIGINT, SIGQUIT). Python would wait for every thread of the pool."""
        self.app.tick()
        os._exit(0)

    # Connections.

    def _accept_from_now_on(self) -> None:
        self._accepting = True
        for listener in self.sockets:
            listener.sock.settimeout(0)
            self.loop.add_reader(listener.sock, self._accept, listener.sock)

    def _accept_backlog(self) -> None:
        """Take what the kernel accepted for us; closing the listener would reset it."""
        self._accepting = False
        for listener in self.sockets:
            self.loop.remove_reader(listener.sock)
            while self._accept(listener.sock):
                pass
            listener.close()

    def _accept(self, listener: socket.socket) -> bool:
        """Take one connection; return whether there was one."""
        if len(self.connections) >= self._most_connections and not self._make_room():
            self._pause()
            return False
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in _SHORTAGES:
                LOGGER.warning("accept_failed", extra={"fields": {"error": str(error.strerror)}})
                self._make_room()
                self._pause()
            return False
        sock.settimeout(0)
        connection = Connection(self)
        self.connections.add(connection)
        connection.opening = self.loop.create_task(self._open(connection, sock))
        return True

    def _pause(self) -> None:
        """Accept nothing for a moment: a listener that waits would wake us all the time."""
        for listener in self.sockets:
            self.loop.remove_reader(listener.sock)
        self.loop.call_later(_PAUSE_S, self._accept_again)

    def _accept_again(self) -> None:
        if self._accepting:
            self._accept_from_now_on()

    def _make_room(self) -> bool:
        """Close one connection for a newcomer; return whether there was one.

        That is the one that waits longest for its next request, or else the one that takes longest to send
        one: a client in a hurry is through with that before others come. Where most have not even said who
        they are, it is the oldest of those: clients that use their connections keep them.
        """
        idle, silent = self._at(Stage.IDLE), self._at(Stage.HANDSHAKE)
        ended = silent if len(silent) > self._most_connections / 2 else idle
        ended = ended or silent + self._at(Stage.RECEIVING)
        if ended:
            min(ended, key=lambda connection: connection.deadline).abort()
        return bool(ended)

    def _at(self, stage: Stage) -> list[Connection]:
        return [connection for connection in self.connections if connection.stage is stage]

    async def _open(self, connection: Connection, sock: socket.socket) -> None:
        """Do the TLS handshake; the deadline of the connection ends it, which cancels this task."""
        taken = False
        try:
            await self._readable(sock)
            first = sock.recv(1, socket.MSG_PEEK)
            if first == _TLS_HANDSHAKE:
                taken = True
                await self._shake_hands(connection, sock)
            elif first:
                self._refuse_plain_text(sock)
        except (OSError, asyncio.CancelledError) as error:
            # Resets, broken handshakes, silence: part of every public port's day.
            LOGGER.debug("connection_ended", extra={"fields": {"why": repr(error)}})
        finally:
            if connection.transport is None:
                self.connections.discard(connection)
            if not taken:
                sock.close()

    async def _readable(self, sock: socket.socket) -> None:
        """Wait for the first byte: a client that says nothing costs a socket and no more."""
        ready = asyncio.Event()
        self.loop.add_reader(sock, ready.set)
        try:
            await ready.wait()
        finally:
            self.loop.remove_reader(sock)

    async def _shake_hands(self, connection: Connection, sock: socket.socket) -> None:
        await self.loop.connect_accepted_socket(
            lambda: BufferedReader(connection, self._buffer),
            sock,
            # That of the newest good certificate.
            ssl=self.app.ssl_context(),
            ssl_shutdown_timeout=_LINGER_S,
        )

    def _refuse_plain_text(self, sock: socket.socket) -> None:
        fields = {"client": shown_address(sock.getpeername()), "status": 400, "error": _PLAIN_TEXT}
        LOGGER.info("request_refused", extra={"fields": fields})
        sock.send(raw_answer(HTTPStatus.BAD_REQUEST, self.app.error_body(_PLAIN_TEXT)))
        # What was read at once will not destroy the answer: the kernel resets what is closed unread.
        sock.recv(_READ_BYTES)


def _free_descriptors() -> int:
    """Return how many files this process may still open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit - len(list(Path("/proc/self/fd").iterdir()))
