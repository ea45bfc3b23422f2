"""How much is read from one connection, and what a client pays that sends TLS records of a byte each."""

from __future__ import annotations

import asyncio
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
