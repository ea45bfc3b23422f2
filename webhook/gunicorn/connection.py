"""One connection: uvicorn's protocol, given by its option ``http``, with an end for all that a client does.

uvicorn limits neither the time for a handshake and a request, nor the size of a head, nor connections that
say nothing. What is overridden are the methods of ``asyncio.Protocol`` and the callbacks of httptools.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webhook.listener import shown_address
from webhook.settings import Settings
from webhook.telemetry.logs import LOGGER

_DESCRIPTORS: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
#: Open connections of a worker: a burst of the API server had 69. The other file descriptors, of which many
#: systems allow 1,024, are for all else, such as pipes of child processes.
_MOST_OPEN: Final = min(900, max(_DESCRIPTORS // 3, _DESCRIPTORS - 124))
#: Bytes of the head of a request, with what comes before it at once. An API server sends some hundred.
_MOST_HEAD: Final = 64 * 1024
#: Seconds that a closing connection is read on, so that its last answer is not lost (RFC 9112, section 9.6).
_LINGER_S: Final = 2.0


class Connection(HttpToolsProtocol):
    """Serves one client, one request at a time."""

    settings: ClassVar[Settings]  #: Those of the server.
    #: Returns the context for the next handshake: that of the newest good certificate.
    ssl_context: ClassVar[Callable[[], ssl.SSLContext]]
    all_open: ClassVar[set[Connection]] = set()  #: The open connections of the process.

    scope: Any  # uvicorn's, of the last request; None before the first.
    cycle: Any  # The same, with its answer.
    _opening: asyncio.Task[None]  # The handshake.
    _since: float  # When what it waits for began: a handshake, a request, or the reading of an answer.
    _is_encrypted = False  # Whether the handshake is over, or none is needed.
    _head_bytes = 0
    _extensions: Mapping[str, Any] = {}

    @property
    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    @property
    def _is_in_head(self) -> bool:
        return bool(self.scope) and "method" not in self.scope

    @property
    def _is_receiving(self) -> bool:
        return self._is_in_head or (bool(self.cycle) and self.cycle.more_body)

    @property
    def waited(self) -> float:
        """The share of the time for what it waits for that has passed; none while an answer is computed."""
        if not self._is_encrypted or self._is_receiving or self.flow.write_paused:
            return (time.monotonic() - self._since) / self.settings.read_timeout_s
        return 0.0 if self._is_answering else (time.monotonic() - self._since) / self.settings.keepalive_s

    def connection_made(self, transport: Any) -> None:  # a transport of uvloop
        """Begin the handshake here, and not where uvicorn listens: a client that says nothing has a limit.

        If there is no room the one ends that has waited for the largest share of its time: clients that use
        their connections keep them, and one that is quick has sent its request before others come.
        """
        tls, sock = (transport.get_extra_info(name) for name in ("ssl_object", "socket"))
        self._since = time.monotonic()
        # Who comes by a Unix socket is our own process.
        if tls or sock.family == socket.AF_UNIX:
            super().connection_made(transport)
            self.all_open.add(self)
            self._is_encrypted = True
            if tls and (certificate := tls.getpeercert(binary_form=True)):
                self._extensions = {"tls": {"client_cert_chain": [certificate]}}
            return
        if len(self.all_open) >= _MOST_OPEN:
            longest = max(self.all_open, key=attrgetter("waited"))
            if longest.waited:
                longest.abort()
        if len(self.all_open) < _MOST_OPEN:
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

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD:
                self.send_400_response("the head of the request is too large")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; not the socket that uvicorn accepted, which lives on."""
        if self._is_encrypted:
            self.all_open.discard(self)
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Note when a request came, for its deadline and for the timeout of its webhook."""
        if self._is_answering:
            raise ConnectionError
        super().on_message_begin()
        self._since, self._head_bytes = time.monotonic(), 0
        self.scope |= {"extensions": self._extensions, "evenkeel.arrived": self._since}

    def on_response_complete(self) -> None:
        """Wait for the next request."""
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

    def expire(self) -> None:
        """End what took too long; the client gets an error where it can still read one."""
        if not self._is_encrypted or self.flow.write_paused or self.transport.is_closing():
            self.abort()
        elif self._is_in_head or self._is_answering:
            self.send_400_response("the request did not arrive in time")
        else:
            # It waits, or its request was answered before it came.
            self.transport.close()

    def abort(self) -> None:
        """End the connection at once, whatever it waits for."""
        self.all_open.discard(self)
        if self._is_encrypted:
            self.transport.abort()
        else:
            self._opening.cancel()
