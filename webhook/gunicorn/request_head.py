"""The head of a request, where gunicorn's parsers leave something to check: whether it is sound and plain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gunicorn.asgi.parser import RFC9112_TARGET_INVALID

#: Bytes of a body up to which a request is answered at once. The reviews of a real API server had 1 to 12 KB.
_SMALL: Final = 64 * 1024
#: Digits of a length: nobody can send more, and the parser in C counts beyond 2^64 from 0 again.
MOST_DIGITS: Final = 18
#: What changes how a request is read or answered; gunicorn knows how.
_UNUSUAL: Final = frozenset({b"connection", b"expect", b"transfer-encoding", b"upgrade"})


class MalformedRequestError(ValueError):
    """A request that gunicorn's parser takes and that is refused."""


def fields(parser: Any) -> Sequence[tuple[bytes, bytes]]:
    """Return the names, in lower case, and values of a head, from either of gunicorn's parsers."""
    found: Sequence[tuple[bytes, bytes]] = getattr(parser, "asgi_headers", None) or parser.headers
    return found


def check(parser: Any) -> None:
    """Refuse what the parser in C takes for another request than others would.

    Raises:
        MalformedRequestError: The length is beyond all bounds, a line of the head continues another, or
            there is no Host.
    """
    has_host = parser.http_version < (1, 1)
    for name, value in fields(parser):
        if name == b"content-length" and len(value) > MOST_DIGITS:
            raise MalformedRequestError("invalid Content-Length")
        if not name:
            raise MalformedRequestError("a field of the head has no name")
        has_host |= name == b"host"
    if not has_host:
        raise MalformedRequestError("there is no Host")


def is_small_and_plain(parser: Any, query: bytes) -> bool:
    """Return whether a request has a small body, and nothing that changes how it is read or answered."""
    return (
        parser.method == b"POST"
        and parser.http_version == (1, 1)
        and 0 < (parser.content_length or 0) <= _SMALL
        and _UNUSUAL.isdisjoint([name for name, _ in fields(parser)])
        and not RFC9112_TARGET_INVALID.search(query)
    )
