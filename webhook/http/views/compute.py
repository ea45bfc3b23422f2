"""The answers that take long: each is computed in a child process, so that reviews go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

from flask import request

from policies.config.context import AdmissionContext
from webhook.http.body import RefusalError
from webhook.http.child_processes import Limit, LimitError
from webhook.http.views.current_state import state
from webhook.json_request import RequestError

#: The status of a request that met a limit.
STATUSES: Final = {
    Limit.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    Limit.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    Limit.MEMORY: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Limit.KILLED: HTTPStatus.INTERNAL_SERVER_ERROR,
}

#: Bytes that a value of JSON takes as an object at most, however short its text is. What kubectl prints has
#: one for 19 bytes or more.
_VALUE_BYTES: Final = 128

#: Bytes that orjson asks the system for to read a byte, of which it uses what the values need.
_PARSER_BYTES: Final = 12

_Found = TypeVar("_Found")


def compute(work: Callable[[bytes], _Found], context: AdmissionContext) -> _Found:
    """Return what some work makes of the body of the current request.

    Args:
        work: Is run in a child process, and what it returns is pickled.
        context: What the work reads; it stays as it is while the child is forked.

    Raises:
        RefusalError: The request cannot be answered, or not now.
    """
    server = state()
    body = request.get_data(cache=False)
    try:
        return server.children.run(
            partial(_work_on, body, work, server.settings.max_request_memory_bytes),
            frozen=context.reading,
            reserved=_PARSER_BYTES * len(body),
        )
    except LimitError as error:
        server.telemetry.count_limited(error.limit.value)
        raise RefusalError(STATUSES[error.limit], error.message) from error
    except RequestError as error:
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error


def _work_on(body: bytes, work: Callable[[bytes], _Found], memory_bytes: int) -> _Found:
    """Do some work on a body whose objects fit in memory.

    Raises:
        MemoryError: They do not.
    """
    # Before any is made: orjson crashes where there is no memory. Texts may hold these bytes too, and count.
    values = sum(map(body.count, (b"{", b"[", b",")))
    if len(body) + values * _VALUE_BYTES > memory_bytes:
        raise MemoryError
    return work(body)
