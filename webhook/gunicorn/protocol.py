"""One TCP connection: TLS handshake and request gathered without a thread waiting for a slow client.

gunicorn's threaded worker gives a connection a thread as soon as it is open and lets the thread wait for
the handshake, the head and the body, each ``recv`` as long as it likes. Here nothing waits: ``advance``
does what the bytes at hand allow and says whether a whole request is there. Only what is not worth
holding in memory (a large body, a chunked one) is read by a thread, within an absolute deadline.
"""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, Final

from gunicorn import sock as gunicorn_sock
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader

from webhook.serving.arrival import Arrival, examine

#: Bytes asked for at once; a TLS record has at most 16 KiB.
_RECEIVE_SIZE: Final = 64 * 1024

#: Bytes of a request that the main loop may answer itself. A review of this size takes some milliseconds at
#: the most, and everybody else waits for them. Arbitrary.
_LARGEST_QUICK: Final = 64 * 1024

#: First byte of a TLS connection: a record of type handshake (RFC 8446, section 5.1).
_TLS_HANDSHAKE: Final = b"\x16"

#: Seconds a closing connection is read on, so that the last answer is not lost (RFC 9112, section 9.6).
#: Arbitrary; gunicorn's own value.
LINGER_S: Final = 2.0


class PlainTextError(Exception):
    """The client does not speak TLS."""


class ClientGoneError(Exception):
    """The client closed the connection."""


class SlowClientError(TimeoutError):
    """The client did not send the rest of its request in time."""


class Stage(Enum):
    """What a connection waits for."""

    HANDSHAKE = "handshake"
    IDLE = "idle"
    RECEIVING = "receiving"
    SENDING = "sending"
    LINGERING = "lingering"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a connection may take, in seconds."""

    read_timeout_s: float
    keepalive_s: float


class DeadlineUnreader(SocketUnreader):  # type: ignore[misc]  # gunicorn has no types
    """Reads from a socket until a point in time, however small the pieces are.

    Replaces gunicorn's, whose timeout starts anew with every byte.
    """

    def __init__(self, sock: ssl.SSLSocket) -> None:
        super().__init__(sock)
        #: ``time.monotonic()`` at which reading ends.
        self.deadline = 0.0

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next bytes.

        Raises:
            SlowClientError: The deadline passed.
        """
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise SlowClientError
        self.sock.settimeout(remaining)
        try:
            data: bytes = super().chunk(size_hint)
        except TimeoutError as error:
            raise SlowClientError from error
        return data


class Connection:
    """A connection on its way from ``accept`` to its end.

    Belongs to one thread at a time: the poller's while it waits, a pool thread while it is handled.

    Attributes:
        sock: The socket, never blocking while it waits.
        client: The peer's address.
        server: The listener's address.
        stage: What it waits for.
        deadline: ``time.monotonic()`` at which waiting ends.
        wants: The selector event it waits for.
        watched: The selector event that the poller was told last.
        parser: gunicorn's parser, once TLS is up.
        unsent: The end of an answer that the kernel did not take at once.
        keeps: Whether another request may follow that answer.
        exchange: The request that the main loop is answering, and its answer so far.
    """

    def __init__(
        self, cfg: Any, sock: socket.socket, client: Any, server: Any, limits: Limits
    ) -> None:  # gunicorn's own types are unknown
        self.sock = sock
        self.client = client
        self.server = server
        self.stage = Stage.HANDSHAKE
        self.deadline = time.monotonic() + limits.read_timeout_s
        self.wants = EVENT_READ
        self.watched = EVENT_READ
        self.parser: Any = None
        self.unsent = bytearray()
        self.keeps = False
        self.exchange: Any = None
        self._cfg = cfg
        self._limits = limits
        self._received = bytearray()
        self._whole = True
        sock.settimeout(0)

    def advance(self) -> bool:
        """Do what the bytes at hand allow; return whether a request is ready to be answered.

        Raises:
            PlainTextError: The client does not speak TLS.
            ClientGoneError: The client closed the connection.
            SlowClientError: The deadline passed; whoever sends a little all the time seldom waits when
                the worker looks for the overdue.
            ssl.SSLError: The handshake failed.
            OSError: The connection broke.
        """
        self.wants = EVENT_READ
        if self.stage is not Stage.IDLE and time.monotonic() > self.deadline:
            raise SlowClientError
        try:
            if self.parser is None:
                self._shake_hands()
            return self._gather()
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except ssl.SSLWantWriteError:
            self.wants = EVENT_WRITE
            return False

    def is_quick(self, starts: tuple[bytes, ...]) -> bool:
        """Tell whether the request is whole, small, and starts with one of a few texts."""
        return self._whole and len(self._received) <= _LARGEST_QUICK and self._received.startswith(starts)

    def gathered_request(self) -> Request:
        """Return the request that ``advance`` gathered; a whole one without reading from the socket."""
        self.parser.unreader.unread(bytes(self._received))
        self._received.clear()
        return next(self.parser)

    def peer_certificate(self, binary: bool) -> Any:  # noqa: FBT001  # as that of a socket
        """Return the certificate that the client showed, which was verified; None if there is none."""
        return self._tls.getpeercert(binary)

    def begin_answer(self, answer: bytearray) -> None:
        """Take an answer for ``send_on``; the client has as long to read it as for its request."""
        self.unsent = answer
        self.deadline = time.monotonic() + self._limits.read_timeout_s

    def send_on(self) -> bool:
        """Send what the kernel takes at once; return whether that was all.

        Raises:
            OSError: The connection broke.
        """
        try:
            while self.unsent:
                del self.unsent[: self.sock.send(self.unsent)]
        except ssl.SSLWantReadError:
            self.wants = EVENT_READ
        except (BlockingIOError, ssl.SSLWantWriteError):
            self.wants = EVENT_WRITE
        if self.unsent:
            self.stage = Stage.SENDING
        return not self.unsent

    def next_request(self) -> Request:
        """Return the request that ``advance`` gathered; from here on the socket may block.

        A request that was not gathered whole ends its connection: nobody then has to wait for a body
        that its answer did not need.
        """
        self.parser.unreader.deadline = self.deadline
        self.sock.settimeout(self._limits.read_timeout_s)
        request = self.gathered_request()
        if not self._whole:
            request.force_close()
        return request

    def rest(self) -> bool:
        """Wait for the next request; return whether bytes of it are here already."""
        self.sock.settimeout(0)
        self.stage = Stage.IDLE
        self.deadline = time.monotonic() + self._limits.keepalive_s
        self.wants = EVENT_READ
        self._received += self.parser.unreader.take_buffered()
        # Bytes that OpenSSL holds no longer make the socket readable.
        return bool(self._received) or self._tls.pending() > 0

    def send_last(self, answer: bytes) -> None:
        """Send an answer if that is possible without waiting."""
        with suppress(OSError, ValueError):
            self.sock.settimeout(0)
            self.sock.send(answer)

    def linger(self) -> None:
        """Say that nothing more comes, and read on until the client has seen it.

        Closing at once would make the kernel send RST if unread bytes were left, and that can destroy
        the answer on its way. gunicorn waits here too, but blocks the whole worker meanwhile.
        """
        self.stage = Stage.LINGERING
        self.deadline = time.monotonic() + LINGER_S
        self.wants = EVENT_READ
        self.sock.settimeout(0)
        with suppress(OSError, ValueError):
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.unwrap()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def drained(self) -> bool:
        """Throw away what a lingering connection received; return whether the client closed it."""
        try:
            return not self.sock.recv(_RECEIVE_SIZE)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self.sock.close()

    @property
    def peer(self) -> str:
        """The client's address and port, as logs have it; empty where there is none."""
        return shown_address(self.client)

    @property
    def _tls(self) -> ssl.SSLSocket:
        assert isinstance(self.sock, ssl.SSLSocket)  # noqa: S101  # a parser exists only over TLS
        return self.sock

    def _shake_hands(self) -> None:
        if not isinstance(self.sock, ssl.SSLSocket):
            first = self.sock.recv(1, socket.MSG_PEEK)
            if not first:
                raise ClientGoneError
            if first != _TLS_HANDSHAKE:
                raise PlainTextError
            context = gunicorn_sock.ssl_context(self._cfg)
            self.sock = context.wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False)
        self._tls.do_handshake()
        self.parser = RequestParser(self._cfg, self.sock, self.client)
        self.parser.unreader = DeadlineUnreader(self._tls)
        self.stage = Stage.IDLE
        self.deadline = time.monotonic() + self._limits.keepalive_s

    def _gather(self) -> bool:
        arrival = examine(self._received) if self._received else Arrival.PARTIAL
        while arrival is Arrival.PARTIAL:
            data = self.sock.recv(_RECEIVE_SIZE)
            if not data:
                raise ClientGoneError
            self._received += data
            if self.stage is Stage.IDLE:
                self.stage = Stage.RECEIVING
                self.deadline = time.monotonic() + self._limits.read_timeout_s
            arrival = examine(self._received)
        self._whole = arrival is Arrival.WHOLE
        return True


def shown_address(address: object) -> str:
    """Return the address of a socket as ``host:port``, with an IPv6 address in brackets.

    >>> shown_address(("10.0.0.1", 54480)), shown_address(("fe80::1", 443, 0, 2))
    ('10.0.0.1:54480', '[fe80::1]:443')
    """
    if not isinstance(address, tuple):
        return ""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
