"""Answers of a Flask app, the server's or the page's: errors as refusals, large ones with gzip.

Answers to reviews never pass here.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException

from webhook.fork_server import Limit, LimitError
from webhook.http.problems import JSON, RefusalError

if TYPE_CHECKING:
    from webhook.http.state import ServerState

#: Where an app keeps the state of the server.
STATE_KEY: Final = "evenkeel"

#: Bytes of an answer below which gzip saves nothing worth its time. A packet holds more.
_LEAST_BYTES: Final = 1024
#: Of 1 to 9. The verdicts on 5,000 nodes shrink from 1.3 MB to 44 KB in 3 ms, with 6 to 37 KB in 16 ms.
_LEVEL: Final = 1
#: As a request and its answer name it.
_GZIP: Final = "gzip"
#: The status of a request that met a limit.
_STATUSES = {
    Limit.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    Limit.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    Limit.MEMORY: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Limit.KILLED: HTTPStatus.INTERNAL_SERVER_ERROR,
}


def current_state() -> ServerState:
    """Return the state of the server that answers a request."""
    return cast("ServerState", current_app.extensions[STATE_KEY])


def answer_errors(
    app: Flask,
    body: Callable[[RefusalError], bytes],
    *,
    failed: Callable[[Exception], str],
    refused: Callable[[RefusalError], None] = lambda _refusal: None,
) -> None:
    """Have every error of an app answered as JSON.

    Args:
        app: The app.
        body: Returns the body of a refusal; called for refusals of ours and for those of Flask.
        failed: Reports an error of ours, and returns what the client reads of it.
        refused: Reports a refusal of ours.
    """

    def answer(refusal: RefusalError) -> Response:
        response = Response(body(refusal), status=refusal.status.value, content_type=JSON)
        response.headers.extend(refusal.headers)
        return response

    def answer_refusal(refusal: RefusalError) -> Response:
        refused(refusal)
        return answer(refusal)

    def answer_http(error: HTTPException) -> Response:
        """Keep the status and the methods that are allowed; the rest of Flask's own answer is HTML."""
        routes = {rule.rule for rule in app.url_map.iter_rules()}
        # Any other path may have a token in it.
        named = request.path if request.path in routes else "this path"
        text = f"{request.method} {named}: {error.name.lower()}"
        if error.code == HTTPStatus.NOT_FOUND:
            text = f"{text}; the routes are {', '.join(sorted(routes))}"
        response = answer(RefusalError(HTTPStatus(error.code or 500), text))
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
        return response

    def answer_failure(error: Exception) -> Response:
        return answer(RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, failed(error)))

    app.register_error_handler(RefusalError, answer_refusal)
    app.register_error_handler(HTTPException, answer_http)
    app.register_error_handler(Exception, answer_failure)


def limit_refusal(error: LimitError, hint: str = "") -> RefusalError:
    """Return the refusal of a request that met a limit, with a hint who sets that."""
    return RefusalError(_STATUSES[error.limit], error.message + hint)


def compress(response: Response, packed: bytes | None = None) -> Response:
    """Compress an answer if it is large and the current request allows it.

    Args:
        response: The answer; one that is compressed already stays as it is.
        packed: The same with gzip, if that is known.
    """
    if response.content_encoding or (response.calculate_content_length() or 0) < _LEAST_BYTES:
        return response
    response.vary.add("Accept-Encoding")
    if request.accept_encodings.best_match((_GZIP, "identity")) == _GZIP:
        # zlib lets other threads go on meanwhile.
        response.set_data(packed or gzip.compress(response.get_data(), _LEVEL, mtime=0))
        response.content_encoding = _GZIP
    return response
