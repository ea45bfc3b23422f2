"""The body of a request that a view answers."""

from __future__ import annotations

from http import HTTPStatus

from flask import request
from gunicorn.http.errors import ParseException

from webhook.http.body import RefusalError, read_json_body


def posted_json(limit: int) -> bytes:
    """Return the body of the current request.

    Args:
        limit: The most bytes that it may have.

    Raises:
        RefusalError: It cannot be read, is too large, or is no JSON by its own account.
    """
    try:
        return read_json_body(request.environ, limit)
    except (ParseException, OSError) as error:
        # Broken chunks, and clients that are gone; the server below would have said the same.
        raise RefusalError(HTTPStatus.BAD_REQUEST, f"the body cannot be read: {error}") from error
