"""Read the body of a request, or say which HTTP status it gets instead.

Knows no web framework, so that the admission routes and the Flask pages share it. Bodies are read in the
event loop: a client that sends slowly holds no thread, and the connection's deadline ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from policies.manifests.fields import FieldError
from webhook.http.problems import JSON

#: Bytes of a body that may be gathered for any number of clients at once. Bounds the memory that slow uploads
#: can hold; the reviews of a real API server had 1 to 12 KB.
_SMALL: Final = 256 * 1024
#: Larger bodies that are gathered at once; others wait.
_MOST_LARGE: Final = 8

#: The ASGI callables of a request.
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Scope: TypeAlias = Mapping[str, Any]
#: The header fields of a request, by name in lower case.
Headers: TypeAlias = Mapping[bytes, bytes]

_JSON_BYTES: Final = JSON.encode()


class RefusalError(Exception):
    """A request that gets an HTTP error instead of an answer."""

    def __init__(self, status: HTTPStatus, message: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors


class ClientGoneError(Exception):
    """The client left before its request had come, or the connection's deadline ended it."""


class BodyReader:
    """Reads bodies of one process."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(_MOST_LARGE)

    async def read_json(self, headers: Headers, receive: Receive, limit: int) -> bytes:
        """Return a body that the headers of its request call JSON, at most ``limit`` bytes.

        Raises:
            RefusalError: It is no JSON, has no length, or is too large.
            ClientGoneError: It never came.
        """
        check_headers(headers, limit)
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            # The most frequent case by far.
            return _within(message["body"], limit)
        async with AsyncExitStack() as held:
            parts, size = [], 0
            while message["type"] == "http.request":
                parts.append(message["body"])
                size += len(parts[-1])
                if size > limit:
                    raise _too_large("more", limit)
                if not message.get("more_body"):
                    return b"".join(parts)
                if size > _SMALL >= size - len(parts[-1]):
                    await held.enter_async_context(self._large)
                message = await receive()
        raise ClientGoneError


def check_headers(headers: Headers, limit: int) -> None:
    """Make sure that a request announces JSON within the limit.

    Raises:
        RefusalError: It does not.
    """
    media_type = headers.get(b"content-type", b"")
    # The API server sends exactly this; parameters such as a charset are cut off for the others.
    if media_type != _JSON_BYTES and media_type.partition(b";")[0].strip().lower() != _JSON_BYTES:
        found = f"got {media_type.decode('latin-1')}" if media_type else "got none"
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}, {found}")
    length = headers.get(b"content-length")
    if length is not None:
        if int(length) > limit:
            raise _too_large(f"{int(length)} bytes", limit)
    elif b"transfer-encoding" not in headers:
        raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "send Content-Length")


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise _too_large("more", limit)
    return body


def _too_large(found: str, limit: int) -> RefusalError:
    return RefusalError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {limit} bytes, this one has {found}"
    )
