"""One connection: gunicorn's ASGI protocol with a deadline for everything that a client does.

gunicorn 27 (``asgi/protocol.py``) waits for a request's head and for the reading of an answer for ever, and
gives a body a new 30 s with every byte. What is overridden, and the promise that each override keeps:

- ``data_received``, ``_on_headers_complete``, ``_on_message_complete``, ``_send_response_start``,
  ``_arm_keepalive_timer``: they note what the connection waits for and until when. ``Worker`` looks at the
  deadlines of all connections now and then, which costs a request no timer.
- ``_build_http_scope``: the application knows when a request came, and which certificate the client showed.
- ``_will_close``: while the worker drains, and where a body was not read, the answer says that it is the last
  one of its connection. Only a connection of which that was said is closed: gunicorn, when told to end,
  also closes those whose client was told to go on, and may be sending.
- ``_send_error_response``: errors below the application are JSON and one log line.
- ``_is_websocket_upgrade``: nothing but HTTP/1.1 is spoken; a WebSocket would know no deadline.
- ``connection_lost``: the worker counts its connections, and a closed one leaves nothing in memory.
"""

from __future__ import annotations

import asyncio
import math
import time
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, Protocol

from gunicorn.asgi.protocol import ASGIProtocol

from webhook.telemetry.logs import LOGGER

#: The media type of every error.
_JSON: Final = "application/json"
#: What a client reads that did not finish its request.
_TOO_SLOW: Final = "the request did not arrive in time"
#: Of an error of ours a client reads only that it is one.
_INTERNAL: Final = "internal error, see the log"


#: Bytes of a TLS record at most, and some: of so many perhaps none can be decrypted before the rest comes.
_LARGEST_RECORD: Final = 17 * 1024
#: Bytes that a client may send for each byte that it says, beyond that; with a byte in each record it is 23.
_MOST_OVERHEAD: Final = 4


class Stage(Enum):
    """What a connection waits for."""

    HANDSHAKE = "handshake"
    IDLE = "idle"
    RECEIVING = "receiving"
    #: The application computes; how long that may take is its own affair.
    ANSWERING = "answering"
    SENDING = "sending"


class ConnectionOwner(Protocol):
    """What a connection needs of its worker.

    Attributes:
        app: gunicorn's application, which writes the bodies of errors.
        connections: Every connection of the worker.
        draining: Whether the worker must end, so that every answer closes its connection.
        read_timeout_s: Seconds for a handshake, for a whole request, and for the reading of an answer.
        keepalive_s: Seconds between two requests.
    """

    app: Any
    connections: set[Connection]
    draining: bool
    read_timeout_s: float
    keepalive_s: float


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """Serves one client.

    Attributes:
        stage: What it waits for.
        deadline: ``time.monotonic()`` at which that ends.
        arrived: ``time.monotonic()`` at which the first byte of the current request came.
        opening: The task that does the TLS handshake; None once there is a transport.
    """

    def __init__(self, worker: ConnectionOwner) -> None:
        super().__init__(worker)
        self.stage = Stage.HANDSHAKE
        self.arrived = time.monotonic()
        self.deadline = self.arrived + worker.read_timeout_s
        self.opening: asyncio.Task[None] | None = None
        self._extensions: dict[str, Any] = {}

    def connection_made(self, transport: Any) -> None:  # a transport of uvloop
        """Wait for the first request: the handshake is done."""
        super().connection_made(transport)
        self.opening = None
        certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if certificate:
            self._extensions = {"tls": {"client_cert_chain": [certificate]}}
        self._arm_keepalive_timer()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if self.stage is Stage.IDLE:
            self._begin_request()
        elif self.stage is not Stage.RECEIVING:
            # The next request comes before this one is answered; gunicorn reads on when it is.
            self._pause_reading()
        try:
            super().data_received(data)
        except ValueError:
            # Of gunicorn's parser in Python: a length with more digits than Python reads.
            self._send_error_response(HTTPStatus.BAD_REQUEST, "invalid Content-Length")
            self._close_transport()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.worker.connections.discard(self)
        super().connection_lost(exc)
        # It holds methods of the connection; if it is the one in C, the garbage collector cannot see them.
        self._callback_parser = None

    def expire(self) -> None:
        """End what took too long; the client is told where it can still hear it."""
        if self.stage is Stage.RECEIVING:
            self._send_error_response(HTTPStatus.REQUEST_TIMEOUT, _TOO_SLOW)
            self._close_transport()
            self._task.cancel()
        elif self.stage is Stage.IDLE:
            self.close()
        else:
            self.abort()

    def close(self) -> None:
        """Close a connection without a request, and say so to the client."""
        self._keepalive_timeout()

    def abort(self) -> None:
        """End the connection at once, whatever it waits for."""
        self.worker.connections.discard(self)
        if self.opening is not None:
            self.opening.cancel()
        elif self.transport is not None:
            self.transport.abort()

    @property
    def peer(self) -> str:
        """The client's address and port, as logs have it; empty where there is none."""
        return shown_address(self.transport.get_extra_info("peername"))

    def _begin_request(self) -> None:
        self.stage = Stage.RECEIVING
        self.arrived = time.monotonic()
        self.deadline = self.arrived + self.worker.read_timeout_s

    def _on_headers_complete(self) -> Any:  # what the parser wants to hear
        if self.stage is not Stage.RECEIVING:
            # It came together with the request before it.
            self._begin_request()
        return super()._on_headers_complete()

    def _on_message_complete(self) -> None:
        if self.stage is Stage.RECEIVING:
            self.stage = Stage.ANSWERING
            self.deadline = math.inf
        super()._on_message_complete()

    def _will_close(self, *arguments: Any) -> bool:
        unread = self.stage is Stage.RECEIVING
        return unread or self.worker.draining or bool(super()._will_close(*arguments))

    def _send_response_start(self, *arguments: Any, **keywords: Any) -> None:
        # The client has as long to read an answer as to send a request.
        self.stage = Stage.SENDING
        self.deadline = time.monotonic() + self.worker.read_timeout_s
        super()._send_response_start(*arguments, **keywords)

    def _arm_keepalive_timer(self) -> None:
        self.stage = Stage.IDLE
        self.deadline = time.monotonic() + self.worker.keepalive_s

    def _build_http_scope(self, *arguments: Any) -> dict[str, Any]:
        scope: dict[str, Any] = super()._build_http_scope(*arguments)
        scope["extensions"] = self._extensions
        scope["evenkeel.arrived"] = self.arrived
        return scope

    def _is_websocket_upgrade(self, _request: object) -> bool:
        return False

    def _send_error_response(self, status: int, message: str, _headers: object = ()) -> None:
        if self._closed or self.stage is Stage.SENDING:
            # The client was answered already.
            return
        found = HTTPStatus(status)
        if found is HTTPStatus.INTERNAL_SERVER_ERROR:
            message = _INTERNAL
        fields = {"client": self.peer, "status": found.value, "error": message}
        LOGGER.info("request_refused", extra={"fields": fields})
        self.stage = Stage.SENDING
        self._safe_write(raw_answer(found, self.worker.app.error_body(message)))


class BufferedReader(asyncio.BufferedProtocol):
    """Stands between uvloop's TLS and a connection, so that a client pays for TLS records of a byte each.

    For another protocol uvloop allocates 256 KiB to read a record, and reads all records that have come
    before anyone else has a turn. Into a buffer of the protocol's own it reads as much as fits there; and a
    client that sends many times as much to be decrypted as there is in it is gone after one turn.

    Args:
        connection: Gets everything.
        buffer: Where bytes are read to; one does for all connections, since they are passed on at once.
    """

    def __init__(self, connection: Connection, buffer: bytearray) -> None:
        self._connection = connection
        self._buffer = buffer
        self._pending = 0
        # As methods of this class, each would be called through another one.
        self.connection_made = connection.connection_made  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]
        self.eof_received = connection.eof_received  # type: ignore[method-assign]

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection: uvloop keeps methods of this object, and both keep the buffers of TLS."""
        connection = self._connection
        vars(self).clear()
        connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return where to read to."""
        # uvloop's hint is how much has come that is not decrypted yet.
        self._pending = sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what was read."""
        if self._pending - _LARGEST_RECORD > _MOST_OVERHEAD * nbytes and nbytes < len(self._buffer):
            self._connection.abort()
            return
        self._connection.data_received(bytes(memoryview(self._buffer)[:nbytes]))


def raw_answer(status: HTTPStatus, body: bytes) -> bytes:
    """Return a whole HTTP/1.1 answer of JSON that ends its connection."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n"
        f"Content-Type: {_JSON}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def shown_address(address: object) -> str:
    """Return the address of a socket as ``host:port``, with an IPv6 address in brackets.

    >>> shown_address(("10.0.0.1", 54480)), shown_address(("fe80::1", 443, 0, 2))
    ('10.0.0.1:54480', '[fe80::1]:443')
    """
    if not isinstance(address, tuple):
        return ""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
