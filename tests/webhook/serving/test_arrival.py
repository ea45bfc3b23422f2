"""How much of a request has come."""

from __future__ import annotations

import pytest

from webhook.serving.arrival import Arrival, examine

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        pytest.param(b"", Arrival.PARTIAL, id="0 bytes"),
        pytest.param(b"POST / HTTP/1.1\r\n", Arrival.PARTIAL, id="1 line"),
        pytest.param(HEAD + b"\r\n", Arrival.WHOLE, id="a head without a body"),
        pytest.param(HEAD + b"Content-Length: 3\r\n\r\nab", Arrival.PARTIAL, id="2 of 3 bytes"),
        pytest.param(HEAD + b"Content-Length: 3\r\n\r\nabc", Arrival.WHOLE, id="3 of 3 bytes"),
        pytest.param(HEAD + b"content-length:3\r\n\r\nabcd", Arrival.WHOLE, id="3 bytes and 1 of the next"),
        pytest.param(HEAD + b"Content-Length: 300000\r\n\r\n", Arrival.HEAD, id="300,000 bytes to come"),
        pytest.param(HEAD + b"Content-Length: 200000\r\n\r\n", Arrival.PARTIAL, id="200,000 bytes to come"),
        pytest.param(HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", Arrival.HEAD, id="2 lengths"),
        pytest.param(HEAD + b"Content-Length: -3\r\n\r\n", Arrival.HEAD, id="length -3"),
        pytest.param(HEAD + b"Content-Length: " + b"1" * 20 + b"\r\n\r\n", Arrival.HEAD, id="20 digits"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", Arrival.HEAD, id="chunks to come"),
        pytest.param(HEAD + b"Expect: 100-continue\r\n\r\n", Arrival.HEAD, id="waits for our word"),
        pytest.param(b"GET / HTTP/1.1\n\n", Arrival.HEAD, id="bare line feeds"),
        pytest.param(b"a" * 70_000, Arrival.HEAD, id="70,000 bytes without an end"),
    ],
)
def test_examine(received: bytes, expected: Arrival) -> None:
    """A request is whole when its body is, and a thread gets it early if it is not worth gathering."""
    assert expected == examine(bytearray(received))
