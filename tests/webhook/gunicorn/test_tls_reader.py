"""The bytes of a connection are passed on, unless they cost far more to decrypt than there are."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import Mock

import pytest

from webhook.gunicorn.protocol import Connection
from webhook.gunicorn.tls_reader import BufferedReader

#: Bytes of the buffer.
SIZE = 16 * 1024


def read(pending: int, got: int) -> Mock:
    """Read so many bytes of so many that have come encrypted; return the connection."""
    connection = Mock(spec=Connection)
    buffer = bytearray(SIZE)
    reader = BufferedReader(cast("Any", connection), buffer)
    reader.get_buffer(pending)[:got] = b"x" * got
    reader.buffer_updated(got)
    return connection


@pytest.mark.parametrize(
    ("pending", "got"),
    [
        pytest.param(2700, 2600, id="a review"),
        pytest.param(1_000_000, SIZE, id="as much as fits, of much more"),
        pytest.param(17 * 1024, 1, id="1 byte, before a record that is not whole"),
    ],
)
def test_what_is_read_is_passed_on(pending: int, got: int) -> None:
    """A connection gets what was decrypted, in bytes of its own."""
    connection = read(pending, got)

    connection.data_received.assert_called_once_with(b"x" * got)
    connection.abort.assert_not_called()


def test_a_record_for_each_byte_ends_the_connection() -> None:
    """23 times as much to decrypt as there is in it is no client's normal way to write."""
    connection = read(23 * 1000 + 17 * 1024, 1000)

    connection.abort.assert_called_once_with()
    connection.data_received.assert_not_called()
