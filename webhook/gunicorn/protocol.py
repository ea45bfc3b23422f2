"""One connection: gunicorn's ASGI protocol with a deadline for everything that a client does.

gunicorn 27 (``asgi/protocol.py``) waits for a request's head and for the reading of an answer for ever, and
gives a body a new 30 s with every byte. What is overridden, and the promise that each override keeps:

- ``data_received``, ``_on_headers_complete``, ``_on_message_complete``, ``_send_response_start``,
  ``_arm_keepalive_timer``: they note what the connection waits for and until when. ``Worker`` looks at the
  deadlines of all connections now and then, which costs a request no timer.
- ``_on_headers_complete``, ``_on_body``, ``_on_message_complete``, again: a small review is answered as soon
  as its last byte is read. gunicorn's way to an ASGI application and back takes longer than most reviews.
  Of reviews that come together one has a turn, and then others. A body in chunks of a few bytes is refused.
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
from collections.abc import Callable
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeAlias

from gunicorn.asgi.protocol import ASGIProtocol, _get_cached_date_header

from webhook.gunicorn import request_head
from webhook.gunicorn.listener import shown_address
from webhook.gunicorn.request_head import MalformedRequestError
from webhook.gunicorn.turns import Turns
from webhook.telemetry.logs import LOGGER

#: What a client reads that did not finish its request.
_TOO_SLOW: Final = "the request did not arrive in time"
#: Of an error of ours a client reads only that it is one.
_INTERNAL: Final = "internal error, see the log"
#: Chunks of a body that come together: more in one read have less than some 10 bytes each.
_MOST_CHUNKS: Final = 1000


class BegunRequest(Protocol):
    """A request that the application was given without ASGI."""

    @property
    def body(self) -> bytes | None:
        """The answer, JSON; None where the ASGI application goes on with what was begun."""


#: Begins to answer a request whose body has come.
AnswerAtOnce: TypeAlias = Callable[[bytes], BegunRequest]
#: Returns what answers a request whose head has come, given what an ASGI scope has of it; None likewise.
AtOnce: TypeAlias = Callable[[dict[str, Any]], AnswerAtOnce | None]
#: The head of such an answer: as gunicorn writes it.
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Server: gunicorn/asgi\r\n%b\r\n"
)


class Stage(Enum):
    """The event that a connection waits for."""

    HANDSHAKE = "handshake"
    IDLE = "idle"
    RECEIVING = "receiving"
    #: The application computes; how long that may take is its own affair.
    ANSWERING = "answering"
    SENDING = "sending"


class ConnectionOwner(Protocol):
    """The interface of a worker that a connection uses.

    Attributes:
        app: gunicorn's application, which writes the bodies of errors and answers at once.
        connections: Every connection of the worker.
        draining: Whether the worker must end, so that every answer closes its connection.
        read_timeout_s: Seconds for a handshake, for a whole request, and for the reading of an answer.
        keepalive_s: Seconds between two requests.
        turns: Gives turns to connections that have sent more than one request.
    """

    app: Any
    connections: set[Connection]
    turns: Turns
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

    _callback_parser: Any

    def __init__(self, worker: ConnectionOwner) -> None:
        super().__init__(worker)
        self.stage = Stage.HANDSHAKE
        self.arrived = time.monotonic()
        self.deadline = self.arrived + worker.read_timeout_s
        self.opening: asyncio.Task[None] | None = None
        self._extensions: dict[str, Any] = {}
        # While a request comes that may be answered at once: what does that, and the parts of its body.
        self._at_once: AnswerAtOnce | None = None
        self._parts: list[bytes] = []
        # What it has begun and not ended, until the ASGI application is called.
        self._begun: BegunRequest | None = None
        self._answered = False
        # What came after a request that was answered at once, until its turn comes.
        self._rest = b""
        # The parts of the body that came with one read.
        self._chunks: list[bytes] = []

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
        if self._rest:
            self._rest += data
        else:
            self._take(data)

    def _take(self, data: bytes) -> None:
        if self.stage is Stage.IDLE:
            self._begin_request()
        elif self.stage is not Stage.RECEIVING:
            # The next request comes before this one is answered; gunicorn reads on when it is.
            self._pause_reading()
        try:
            super().data_received(data)
            self._hand_over_chunks()
        except ValueError as error:
            # The other ones are of gunicorn's parser in Python: a length with more digits than Python reads.
            own = isinstance(error, MalformedRequestError)
            self._send_error_response(HTTPStatus.BAD_REQUEST, str(error) if own else "invalid Content-Length")
            self._close_transport()
        if self._answered:
            self._rest = self._next_request()
            if self._rest:
                self._begin_request()
                self._pause_reading()
                self.worker.turns.wait(self._go_on)

    def _go_on(self) -> None:
        """Take the next request of those that came together."""
        rest, self._rest = self._rest, b""
        if self._closed or self._callback_parser is None or not rest:
            return
        self._take(rest)
        if not self._rest and self.stage in (Stage.IDLE, Stage.RECEIVING) and not self._is_buffer_full():
            self._resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.worker.connections.discard(self)
        super().connection_lost(exc)
        # It holds methods of the connection; if it is the one in C, the garbage collector cannot see them.
        self._callback_parser = None

    def expire(self) -> None:
        """End what took too long; the client gets an error where it can still read one."""
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
        request_head.check(self._callback_parser)
        if self.stage is not Stage.RECEIVING:
            # It came together with the request before it.
            self._begin_request()
        else:
            self._at_once = self._answer_to_head()
        return False if self._at_once else super()._on_headers_complete()

    def _on_body(self, chunk: bytes) -> None:
        if self._at_once is not None:
            self._parts.append(chunk)
            return
        self._chunks.append(chunk)
        if len(self._chunks) > _MOST_CHUNKS:
            raise MalformedRequestError("the chunks of the body are too small")

    def _hand_over_chunks(self) -> None:
        """Give the application in one part what came of a body with one read."""
        if self._chunks:
            part = b"".join(self._chunks)
            self._chunks.clear()
            super()._on_body(part)

    def _on_message_complete(self) -> None:
        if (answer_at_once := self._at_once) is not None:
            self._at_once = None
            body = b"".join(self._parts)
            self._parts.clear()
            if self._answer(answer_at_once, body):
                return
            # As if the body had come a moment later; the application knows what it has begun.
            super()._on_headers_complete()
            super()._on_body(body)
        self._hand_over_chunks()
        if self.stage is Stage.RECEIVING:
            self.stage = Stage.ANSWERING
            self.deadline = math.inf
        super()._on_message_complete()

    def _answer_to_head(self) -> AnswerAtOnce | None:
        """Return the function that answers a request at once whose head has come; None if there is none."""
        parser = self._callback_parser
        path, _, query = parser.path.partition(b"?")
        at_once: AtOnce | None = self.worker.app.at_once(path)
        if at_once is None or not request_head.is_small_and_plain(parser, query):
            return None
        scope = {
            "method": "POST",
            "path": path.decode("latin-1"),
            "query_string": query,
            "headers": request_head.fields(parser),
            "extensions": self._extensions,
            "evenkeel.arrived": self.arrived,
        }
        return at_once(scope)

    def _answer(self, answer_at_once: AnswerAtOnce, body: bytes) -> bool:
        """Answer a request that has come if that can be done without waiting; return whether it was."""
        if self.worker.draining or self._flow_control.write_paused:
            return False
        begun = answer_at_once(body)
        answer = begun.body
        if answer is None:
            self._begun = begun
            return False
        self._safe_write(_HEAD % (len(answer), _get_cached_date_header()) + answer)
        self._answered = True
        return True

    def _next_request(self) -> bytes:
        """Wait for the next request after one that was answered at once; return what came of it already."""
        self._answered = False
        self._arm_keepalive_timer()
        if self._flow_control.write_paused:
            self.deadline = time.monotonic() + self.worker.read_timeout_s
        parser = self._callback_parser
        if parser is None or self._closed:
            return b""
        if getattr(parser, "remaining_truncated", False):
            # Of more than the parser keeps, the rest is lost.
            self._close_transport()
            return b""
        rest: bytes = parser.remaining()
        parser.reset()
        return rest

    def _will_close(self, *arguments: Any) -> bool:
        # It is unknown what follows a chunk whose size the parser in C counted beyond 2^64.
        chunked = getattr(self._callback_parser, "is_chunked", False)
        unread = self.stage is Stage.RECEIVING
        return chunked or unread or self.worker.draining or bool(super()._will_close(*arguments))

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
        scope["evenkeel.begun"], self._begun = self._begun, None
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


def raw_answer(status: HTTPStatus, body: bytes) -> bytes:
    """Return a whole HTTP/1.1 answer of JSON that ends its connection."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body
