"""Read the JSON body of a request from a WSGI environment, or say which HTTP status it gets instead.

Knows no web framework and no server, so that the slim admission path and the Flask views share it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, BinaryIO

from webhook.http.problems import JSON

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

    from policies.manifests.fields import FieldError


class RefusalError(Exception):
    """A request that gets an HTTP error instead of an answer."""

    def __init__(self, status: HTTPStatus, message: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors


def announced_length(environ: WSGIEnvironment) -> int | None:
    """Return how many bytes a request announces; None if it does not say, as a chunked one."""
    length = environ.get("CONTENT_LENGTH", "")
    return int(length) if length else None


def read_json_body(environ: WSGIEnvironment, limit: int) -> bytes:
    """Return a request's body, at most ``limit`` bytes.

    Raises:
        RefusalError: The request is no POST of JSON within the limit, or its body never came.
    """
    if environ["REQUEST_METHOD"] != "POST":
        raise RefusalError(HTTPStatus.METHOD_NOT_ALLOWED, "use POST")
    media_type = environ.get("CONTENT_TYPE", "")
    # The API server sends exactly this; parameters such as a charset are cut off for the others.
    if media_type != JSON and media_type.partition(";")[0].strip().lower() != JSON:
        found = f"got {media_type}" if media_type else "got none"
        raise RefusalError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}, {found}")
    stream: BinaryIO = environ["wsgi.input"]
    length = announced_length(environ)
    try:
        if length is not None:
            return _read_exactly(stream, length, limit)
        if "HTTP_TRANSFER_ENCODING" in environ:
            return _read_chunked(stream, limit)
    except TimeoutError:
        raise RefusalError(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
    raise RefusalError(HTTPStatus.LENGTH_REQUIRED, "send Content-Length")


def _read_exactly(stream: BinaryIO, length: int, limit: int) -> bytes:
    if length > limit:
        raise _too_large(f"{length} bytes", limit)
    body = stream.read(length)
    if len(body) != length:
        raise RefusalError(HTTPStatus.BAD_REQUEST, f"the body ended after {len(body)} of {length} bytes")
    return body


def _read_chunked(stream: BinaryIO, limit: int) -> bytes:
    body = stream.read(limit + 1)
    if len(body) > limit:
        raise _too_large("more", limit)
    return body


def _too_large(found: str, limit: int) -> RefusalError:
    return RefusalError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {limit} bytes, this one has {found}"
    )
