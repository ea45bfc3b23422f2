"""The one shape of every HTTP error that Evenkeel sends, whichever layer notices it.

Knows no web framework, so that the slim admission path, the Flask app and the gunicorn worker can share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import TypedDict

import orjson

from policies.manifests.fields import FieldError
from policies.manifests.wire import encodable

#: The media type of every error.
JSON = "application/json"


class ErrorDetail(TypedDict):
    """The error in one field of a request."""

    field: str  #: The field, as Kubernetes writes paths.
    message: str  #: What is wrong.


class ErrorAnswer(TypedDict):
    """Every error of every route."""

    error: str  #: What is wrong.
    details: list[ErrorDetail]  #: Every field that is wrong; empty where the error is about none.


def problem(message: str, errors: Iterable[FieldError] = ()) -> bytes:
    r"""Return the JSON body of an error.

    >>> problem("no such page")
    b'{"error":"no such page","details":[]}\n'
    """
    answer: ErrorAnswer = {
        # Request lines and paths arrive as latin-1 or with surrogates; orjson takes valid Unicode only.
        "error": encodable(message),
        "details": [{"field": str(error.path), "message": error.problem} for error in errors],
    }
    return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)


class RefusalError(Exception):
    """A request that gets an HTTP error instead of an answer."""

    def __init__(self, status: HTTPStatus, message: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors

    @property
    def headers(self) -> Mapping[str, str]:
        """What the client is told besides: where it is a matter of the moment, when to try again."""
        return {"Retry-After": "1"} if self.status is HTTPStatus.SERVICE_UNAVAILABLE else {}

    def body(self) -> bytes:
        """Return the JSON of the error."""
        return problem(self.message, self.errors)
