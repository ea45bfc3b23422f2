"""Read the body of a request, or say which HTTP status it gets instead.

Knows no web framework, so that the admission routes and the Flask pages share it. Bodies are read in the
event loop: a client that sends slowly holds no thread, and the connection's deadline ends it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.http.problems import JSON, RefusalError

#: Bytes of a body that may be gathered for any number of clients at once. Bounds the memory that slow uploads
#: can hold; the reviews of a real API server had 1 to 12 KB.
_SMALL: Final = 256 * 1024
#: Larger bodies that are gathered at once; others wait.
_MOST_LARGE: Final = 8
#: Bytes beyond which a review is gathered alone: it and what is made of it take some times as much memory.
_HUGE: Final = 4 * 1024 * 1024
#: Bytes of a review that are taken and thrown away, so that its sender reads the answer, in so many times the
#: limit. Beyond it no API server can store the objects.
_TIMES_THE_LIMIT: Final = 8

#: Digits of a length: nobody can send more.
_MOST_DIGITS: Final = 18

#: The ASGI callables of a request.
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Scope: TypeAlias = Mapping[str, Any]
#: The header fields of a request, by name in lower case.
Headers: TypeAlias = Mapping[bytes, bytes]

_JSON_BYTES: Final = JSON.encode()


class ClientGoneError(Exception):
    """The client left before its request had come, or the connection's deadline ended it."""


class MissingRest(Enum):
    """Why the rest of a body is missing."""

    NOTHING = "nothing is"
    TOO_LARGE = "it is too large"
    NO_ROOM = "as many large requests are being read as may be at once"


class ReviewBody(NamedTuple):
    """A body, or its beginning."""

    data: bytes  #: Its bytes.
    missing: MissingRest = MissingRest.NOTHING  #: Why the rest is missing.
    more: bool = False  #: Whether more is to come, which is not read.


class BodyReader:
    """Reads bodies of one process."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(_MOST_LARGE)
        self._huge = asyncio.Semaphore(1)

    async def read_json(self, headers: Headers, receive: Receive, limit: int) -> bytes:
        """Return a body that the headers of its request call JSON, at most ``limit`` bytes.

        Raises:
            RefusalError: It is no JSON, has no length, or is too large.
            ClientGoneError: It never came.
        """
        if (check_headers(headers) or 0) > limit:
            raise _too_large(limit)
        with ExitStack() as held:
            found = await self._read(receive, limit, held, math.inf)
            if found.missing is MissingRest.TOO_LARGE:
                raise _too_large(limit)
            return found.data

    async def read_review(
        self, headers: Headers, receive: Receive, limit: int, held: ExitStack, *, until: float
    ) -> ReviewBody:
        """Return a review, or its beginning if it has more than ``limit`` bytes or there is no room for it.

        It is received to its end in any case: who still sends reads no answer.

        Args:
            headers: Those of the request.
            receive: Returns the next part.
            limit: Bytes that are kept.
            held: Holds the room that the review takes, for as long as the review is in memory.
            until: When no room is waited for any more, by ``time.monotonic()``.

        Raises:
            RefusalError: It is no JSON, has no length, or is so large that no API server sends it.
            ClientGoneError: It never came.
        """
        if (check_headers(headers) or 0) > limit * _TIMES_THE_LIMIT:
            raise _too_large(limit)
        found = await self._read(receive, limit, held, until)
        size, more = len(found.data), found.more
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            size, more = size + len(message["body"]), bool(message.get("more_body"))
            if size > limit * _TIMES_THE_LIMIT:
                raise _too_large(limit)
        return found

    async def _read(self, receive: Receive, limit: int, held: ExitStack, until: float) -> ReviewBody:
        """Return a body, or its beginning and what is missing."""
        message = await receive()
        if (
            message["type"] == "http.request"
            and not message.get("more_body")
            and len(message["body"]) <= limit
        ):
            # The most frequent case by far.
            return ReviewBody(message["body"])
        # However small the parts are, they take no more memory than the whole.
        data = bytearray()
        rooms = {_SMALL: self._large, _HUGE: self._huge}
        while message["type"] == "http.request":
            before, more = len(data), bool(message.get("more_body"))
            data += message["body"]
            if len(data) > limit:
                return ReviewBody(bytes(data[:_SMALL]), MissingRest.TOO_LARGE, more=more)
            for size, room in rooms.items():
                if len(data) > size >= before and not await _enter(room, held, until):
                    return ReviewBody(bytes(data[:_SMALL]), MissingRest.NO_ROOM, more=more)
            if not more:
                return ReviewBody(bytes(data))
            message = await receive()
        raise ClientGoneError


async def _enter(room: asyncio.Semaphore, held: ExitStack, until: float) -> bool:
    """Return whether there was room before so much time had passed."""
    left = until - time.monotonic()
    try:
        async with asyncio.timeout(None if math.isinf(left) else max(0, left)):
            await room.acquire()
    except TimeoutError:
        return False
    held.callback(room.release)
    return True


def check_headers(headers: Headers) -> int | None:
    """Make sure that a request announces JSON, and return the length that it announces, if it does.

    Raises:
        RefusalError: It does not.
    """
    media_type = headers.get(b"content-type", b"")
    # The API server sends exactly this; parameters such as a charset are cut off for the others.
    if media_type != _JSON_BYTES and media_type.partition(b";")[0].strip().lower() != _JSON_BYTES:
        found = f"got {media_type.decode('latin-1')}" if media_type else "got none"
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}, {found}")
    length = announced_length(headers)
    if length is None and b"transfer-encoding" not in headers:
        raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "send Content-Length")
    return length


def announced_length(headers: Headers) -> int | None:
    """Return how many bytes a request announces; None if unknown.

    Raises:
        RefusalError: It says what is no length.
    """
    length = headers.get(b"content-length")
    if length is None:
        return None
    if not length.isdigit() or len(length) > _MOST_DIGITS:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "invalid Content-Length")
    return int(length)


def _too_large(limit: int) -> RefusalError:
    return RefusalError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {limit} bytes, this one has more"
    )
