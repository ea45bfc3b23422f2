"""The routes of the API as pages: each answer is computed in a child process, which can be ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Final

from flask import Blueprint, Response, request

from webhook.fork_server import Limit, LimitError
from webhook.http import pages
from webhook.http.api_routes import API_ROUTES, ApiReply, ApiRoute
from webhook.http.flask_answers import current_state, limit_refusal
from webhook.http.held_cluster import ApiQuestion, answer
from webhook.http.pages import Guarded
from webhook.http.problems import JSON, RefusalError
from webhook.requests.frame import TEXT, RequestError, is_wide, read_screen
from webhook.requests.placement import CLUSTER
from webhook.telemetry.logs import LOGGER

#: The share of a request's time after which an answer that can be partial ends; the rest is to write it.
_WORK_SHARE: Final = 0.7

#: Bytes that orjson allocates to read a byte, of which it uses what the values need.
_PARSER_BYTES: Final = 12

#: The options that set limits.
_SET_BY: Final = {
    Limit.TIMEOUT: " (--request-timeout-s)",
    Limit.MEMORY: " (--max-request-memory-bytes)",
}

#: Every route that needs authorization: all of the API.
GUARDED: Final[Mapping[str, Guarded]] = {
    **pages.GUARDED,
    **{path: Guarded(frozenset({"POST"}), route.resource, route.limit) for path, route in API_ROUTES.items()},
}
#: The routes.
BLUEPRINT: Final = Blueprint("api", __name__)


def _answer(path: str, route: ApiRoute) -> Response:
    """Answer one request.

    Raises:
        RefusalError: It cannot be read or answered, or not now.
    """
    started, server = time.perf_counter(), current_state()
    withheld = server.current.usable().withheld
    wants_text = bool(route.screen) and _wants_text()
    try:
        question = ApiQuestion(
            path=path,
            body=request.get_data(cache=False),
            now=server.now(),
            screen=read_screen(request.args) if wants_text else None,
            wide=is_wide(request.args),
            withheld=withheld,
            deadline=server.monotonic() + server.settings.request_timeout_s * _WORK_SHARE,
            memory_bytes=server.settings.max_request_memory_bytes,
        )
        reply = _compute(question)
    except RequestError as error:
        if withheld and any(entry.path == CLUSTER for entry in error.errors):
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, withheld) from error
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
    ms = round((time.perf_counter() - started) * 1000, 3)
    LOGGER.info(route.event, extra={"fields": {**reply.fields, "path": path, "ms": ms}})
    return Response(reply.body, content_type=TEXT if wants_text else JSON, headers=dict(reply.headers))


for _path, _route in API_ROUTES.items():
    BLUEPRINT.add_url_rule(_path, _path, partial(_answer, _path, _route), methods=["POST"])


def _wants_text() -> bool:
    return request.accept_mimetypes.best_match([JSON, TEXT.partition(";")[0]]) not in (JSON, None)


def _compute(question: ApiQuestion) -> ApiReply:
    """Return the reply that a child process computes.

    Raises:
        RefusalError: It takes too much, or there are too many.
        RequestError: The request cannot be answered.
    """
    server = current_state()
    try:
        return server.children.run(
            partial(answer, question=question), reserved=_PARSER_BYTES * len(question.body)
        )
    except LimitError as error:
        server.telemetry.limited.labels(error.limit.value).inc()
        raise limit_refusal(error, _SET_BY.get(error.limit, "")) from error
