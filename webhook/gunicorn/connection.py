"""One connection: uvicorn's protocol, given by its option ``http``, with an end for all that a client does.

uvicorn limits neither the time for a handshake and a request, nor the size of a head, nor connections that
say nothing. What is overridden are the methods of ``asyncio.Protocol`` and the callbacks of httptools.
"""

from __future__ import annotations

import asyncio
import math
import resource
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webhook.listener import shown_address
from webhook.settings import Settings
from webhook.telemetry.logs import LOGGER

#: Open connections of a worker, and descriptors that are kept for all else, such as pipes of child processes.
#: A burst of the API server had 69; many systems allow 1,024 file descriptors by default.
_MOST_CONNECTIONS, _OTHER_DESCRIPTORS = 900, 16
#: Bytes of the head of a request, beyond those that come with its first. An API server sends some hundred.
_MOST_HEAD: Final = 64 * 1024
#: Seconds that a closing connection is read on, so that its last answer is not lost (RFC 9112, section 9.6).
_LINGER_S: Final = 2.0


class Connection(HttpToolsProtocol):
    """Serves one client, one request at a time."""

    settings: ClassVar[Settings]  #: Those of the server.
    #: Returns the context for the next handshake: that of the newest good certificate.
    ssl_context: ClassVar[Callable[[], ssl.SSLContext]]
    all_open: ClassVar[set[Connection]] = set()  #: The open connections of the process.
    most_open: ClassVar[int] = 0  #: How many there may be; 0 before the first one.

    def __init__(self, *arguments: Any, **keywords: Any) -> None:  # uvicorn's
        super().__init__(*arguments, **keywords)
        self._opening: asyncio.Task[None] | None = None
        self._extensions: dict[str, Any] = {}
        # When what it waits for began: a handshake, a request, the reading of an answer, or a pause.
        self._since = time.monotonic()
        self._is_encrypted = self._is_receiving = False
        # Bytes of an unfinished head; None while there is none.
        self._head: int | None = None

    @property
    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)

    @property
    def is_idle(self) -> bool:
        """Whether it waits for its next request."""
        return self._is_encrypted and not (self._is_receiving or self._is_answering or self.flow.write_paused)

    @property
    def deadline(self) -> float:
        """The time at which what it waits for ends; how long the application computes is its own affair."""
        if self._is_answering and not (self._is_receiving or self.flow.write_paused):
            return math.inf
        return self._since + (self.settings.keepalive_s if self.is_idle else self.settings.read_timeout_s)

    def connection_made(self, transport: Any) -> None:  # a transport of uvloop
        """Begin the handshake here, and not where uvicorn listens: a client that says nothing has a limit.

        Who comes by a Unix socket is our own process, and nothing is encrypted.
        """
        tls, sock = (transport.get_extra_info(name) for name in ("ssl_object", "socket"))
        if tls or sock.family == socket.AF_UNIX:
            super().connection_made(transport)
            self._opening, self._is_encrypted, self._since = None, True, time.monotonic()
            if not tls:
                self.all_open.add(self)
            elif certificate := tls.getpeercert(binary_form=True):
                self._extensions = {"tls": {"client_cert_chain": [certificate]}}
            return
        if self._has_room():
            self.all_open.add(self)
            own = socket.fromfd(sock.fileno(), sock.family, sock.type)
            self._opening = self.loop.create_task(self._shake_hands(own))
        transport.abort()

    async def _shake_hands(self, sock: socket.socket) -> None:
        context = type(self).ssl_context()
        try:
            await self.loop.connect_accepted_socket(
                lambda: self, sock, ssl=context, ssl_shutdown_timeout=_LINGER_S
            )
        except (OSError, asyncio.CancelledError) as error:
            # Resets, broken handshakes, silence: part of every public port's day.
            LOGGER.debug("connection_ended", extra={"fields": {"why": repr(error)}})
            self.all_open.discard(self)
            sock.close()

    def _has_room(self) -> bool:
        """Return whether there is room for this connection.

        If need be the one ends that waits longest for its next request, or else the one that takes longest to
        send one: a client in a hurry is through with that before others come. Where most have not even said
        who they are, it is the oldest of those: clients that use their connections keep them.
        """
        if not self.most_open:
            limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            free = limit - len(list(Path("/proc/self/fd").iterdir())) - _OTHER_DESCRIPTORS
            type(self).most_open = max(1, min(_MOST_CONNECTIONS, free))
        if len(self.all_open) < self.most_open:
            return True
        waiting = [each for each in self.all_open if each.deadline < math.inf]
        silent = [each for each in waiting if not each._is_encrypted]  # noqa: SLF001  # of the same class
        ended = silent if len(silent) > self.most_open / 2 else [each for each in waiting if each.is_idle]
        if waiting:
            min(ended or waiting, key=lambda each: each.deadline).abort()
        return bool(waiting)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._head = None if self._head is None else self._head + len(data)
        if (self._head or 0) > _MOST_HEAD:
            self.send_400_response("the head of the request is too large")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; not the socket that uvicorn accepted, which lives on."""
        if self._is_encrypted:
            self.all_open.discard(self)
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Note when a request came, for its deadline and for the timeout of its webhook."""
        if self._is_answering:
            raise ConnectionError("it came before the answer to the request before it")
        super().on_message_begin()
        self._since, self._is_receiving, self._head = time.monotonic(), True, 0
        # How long a request waits counts against the timeout of its webhook.
        cast("dict[str, Any]", self.scope).update(
            {"extensions": self._extensions, "evenkeel.arrived": self._since}
        )

    def on_headers_complete(self) -> None:
        """Let the application begin."""
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for the answer."""
        self._is_receiving = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self._is_receiving:
            self._since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait until the client reads; it has as long for that as for a request."""
        super().pause_writing()
        self._since = time.monotonic()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, in one line of the log, and end the connection."""
        if self._is_answering and not self._is_receiving:
            # What follows the request is not read: its answer ends the connection, and is whole.
            self.cycle.keep_alive = False
            return
        LOGGER.info("request_refused", extra={"fields": {"client": shown_address(self.client), "error": msg}})
        super().send_400_response(msg)

    def shutdown(self) -> None:
        """End when a worker ends, but not in the middle of a request: its answer ends the connection."""
        if not self._is_receiving:
            super().shutdown()

    def expire(self) -> None:
        """End what took too long; the client gets an error where it can still read one."""
        if not self._is_encrypted or self.transport.is_closing() or self.flow.write_paused:
            self.abort()
        elif self._is_answering or self._head is not None:
            self.send_400_response("the request did not arrive in time")
        else:
            # It waits, or its request was answered before it came.
            self.transport.close()

    def abort(self) -> None:
        """End the connection at once, whatever it waits for."""
        self.all_open.discard(self)
        if self._is_encrypted:
            self.transport.abort()
        elif self._opening is not None:
            self._opening.cancel()
