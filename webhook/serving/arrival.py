"""How much of an HTTP/1.1 request has come; whether it is a good one is for gunicorn's parser to say."""

from __future__ import annotations

from enum import Enum
from typing import Final

#: Bytes of a request's head that are gathered; gunicorn's parser then says what is too long. It takes
#: 100 fields of 8 KiB, the API server sends 300 bytes.
_LARGEST_HEAD: Final = 64 * 1024

#: Bytes of a request that are gathered before a thread gets it. Bounds the memory that idle uploads can
#: hold; the reviews of a real API server had 1 to 12 KB. Arbitrary.
_LARGEST_GATHERED: Final = 256 * 1024


class Arrival(Enum):
    """How much of a request has come."""

    PARTIAL = "partial"
    WHOLE = "whole"
    #: The head has come, and a thread may read the rest.
    HEAD = "head"


def examine(received: bytearray) -> Arrival:
    r"""Tell how much of a request has come; whether it is a good one is for gunicorn's parser to say.

    >>> examine(bytearray(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"))
    <Arrival.PARTIAL: 'partial'>
    >>> examine(bytearray(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"))
    <Arrival.WHOLE: 'whole'>
    """
    end = received.find(b"\r\n\r\n")
    if end < 0:
        # gunicorn refuses lines that end with LF alone; without this they would only time out.
        malformed = b"\n\n" in received
        return Arrival.HEAD if malformed or len(received) > _LARGEST_HEAD else Arrival.PARTIAL
    head = bytes(received[: end + 2]).lower()
    if b"\ntransfer-encoding" in head or b"\nexpect" in head:
        # The end of a chunked body is only known by reading it; the other body waits for our word.
        return Arrival.HEAD
    _, _, rest = head.partition(b"\ncontent-length:")
    digits = rest.partition(b"\r")[0].strip()
    if not rest:
        return Arrival.WHOLE
    # gunicorn says what is wrong with such a length, or two of them; 15 digits are a petabyte.
    if not digits.isdigit() or len(digits) > 15 or b"\ncontent-length" in rest:
        return Arrival.HEAD
    total = end + 4 + int(digits)
    if len(received) >= total:
        return Arrival.WHOLE
    return Arrival.HEAD if total > _LARGEST_GATHERED else Arrival.PARTIAL
