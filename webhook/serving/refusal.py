"""What a client is told whose request never reached the application."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from gunicorn.http import errors

from webhook.gunicorn.protocol import Connection, PlainTextError, SlowClientError
from webhook.http.problems import raw_problem
from webhook.telemetry.logs import LOGGER

#: What gunicorn's parser raises and which status it gets; the rest of its errors are 400.
_STATUS: Final[dict[type[Exception], HTTPStatus]] = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
}

#: What a client reads that did not finish its request.
_TOO_SLOW: Final = "the request did not arrive in time"

#: A client's mistakes, as gunicorn's parser reports them.
CLIENT_ERRORS: Final = (
    errors.ParseException,
    errors.InvalidChunkSize,
    errors.ChunkMissingTerminator,
    errors.InvalidChunkExtension,
    PlainTextError,
    SlowClientError,
)


def refuse(connection: Connection, error: Exception) -> None:
    """Log what went wrong and answer it as JSON, without waiting for the client."""
    status, message = _answer(error)
    fields = {"client": connection.peer, "status": status.value, "error": message}
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        LOGGER.error("request_failed", exc_info=error, extra={"fields": fields})
    else:
        LOGGER.info("request_refused", extra={"fields": fields})
    connection.send_last(raw_problem(status, message))


def _answer(error: Exception) -> tuple[HTTPStatus, str]:
    match error:
        case PlainTextError():
            return HTTPStatus.BAD_REQUEST, "this port speaks HTTPS only"
        case SlowClientError():
            return HTTPStatus.REQUEST_TIMEOUT, _TOO_SLOW
    if isinstance(error, CLIENT_ERRORS):
        status = _STATUS.get(type(error), HTTPStatus.BAD_REQUEST)
        return status, str(error) or status.phrase
    return HTTPStatus.INTERNAL_SERVER_ERROR, "internal error, see the log"
