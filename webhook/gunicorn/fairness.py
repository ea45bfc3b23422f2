"""What one connection may have of the event loop: how much is read of it at once, and when its turn comes.

No client waits for all that another one sends, and one that sends TLS records of a byte each pays for them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from webhook.gunicorn.protocol import Connection

#: Bytes of a TLS record at most, and some: of this many perhaps none can be decrypted before the rest comes.
_LARGEST_RECORD: Final = 17 * 1024
#: Bytes that a client may send for each byte that it says, beyond that; with a byte in each record it is 23.
_MOST_OVERHEAD: Final = 4


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


class Turns:
    """Each that waits has a turn, one in each turn of the event loop, in which all others are served, too."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def wait(self, go_on: Callable[[], None]) -> None:
        """Have something called when its turn comes."""
        self._waiting.append(go_on)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        # It stays first meanwhile, so that a newcomer does not begin a second series of turns.
        try:
            self._waiting[0]()
        finally:
            self._waiting.popleft()
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._next)
