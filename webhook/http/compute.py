"""The routes of the API: each answer is computed in a child process, so that reviews go on meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final, cast

from flask import Blueprint, Response, current_app, request

from policies.manifests.wire_reader import prepare
from webhook.http.api_routes import API_ROUTES, ApiCall, ApiReply, ApiRoute
from webhook.http.body import RefusalError
from webhook.http.child_processes import LimitError
from webhook.http.flask_answers import limit_refusal
from webhook.http.problems import JSON
from webhook.http.state import ServerState
from webhook.requests.frame import RequestError
from webhook.requests.placement import CLUSTER
from webhook.requests.screen import TEXT, is_wide, read_screen
from webhook.telemetry.logs import LOGGER

blueprint = Blueprint("api", __name__)

#: Bytes that a value of JSON takes as an object at most, however short its text is. What kubectl prints has
#: one for 19 bytes or more.
_VALUE_BYTES: Final = 128

#: The share of a request's time after which an answer that can be partial ends; the rest is to write it.
_WORK_SHARE: Final = 0.7

#: Bytes that orjson allocates to read a byte, of which it uses what the values need.
_PARSER_BYTES: Final = 12

#: Where the app keeps its state.
STATE_KEY = "evenkeel"


def _answer(route: ApiRoute) -> Response:
    """Answer one request.

    Raises:
        RefusalError: It cannot be read or answered, or not now.
    """
    started, context = time.perf_counter(), state().current.usable()
    wants_text = bool(route.screen) and _wants_text()
    try:
        screen = read_screen(request.args) if wants_text else None
        call = ApiCall(
            body=request.get_data(cache=False),
            context=context,
            now=state().now(),
            screen=screen,
            wide=is_wide(request.args),
            workloads=state().workloads,
            deadline=state().monotonic() + state().settings.request_timeout_s * _WORK_SHARE,
        )
        reply = _compute(route.compute, call)
    except RequestError as error:
        if context.withheld and any(entry.path == CLUSTER for entry in error.errors):
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, context.withheld) from error
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
    ms = round((time.perf_counter() - started) * 1000, 3)
    LOGGER.info(route.event, extra={"fields": {**reply.fields, "path": request.path, "ms": ms}})
    return Response(reply.body, content_type=TEXT if wants_text else JSON, headers=dict(reply.headers))


for _path, _route in API_ROUTES.items():
    prepare(_route.request)
    blueprint.add_url_rule(_path, _path, partial(_answer, _route), methods=["POST"])


def _wants_text() -> bool:
    return request.accept_mimetypes.best_match([JSON, TEXT.partition(";")[0]]) not in (JSON, None)


def _compute(compute: Callable[[ApiCall], ApiReply], call: ApiCall) -> ApiReply:
    """Return the reply that a child process computes; it is pickled.

    Raises:
        RefusalError: It takes too much, or there are too many.
        RequestError: The request cannot be answered.
    """
    server = state()
    try:
        return server.children.run(
            partial(_within_memory, compute, call, server.settings.max_request_memory_bytes),
            # The call reads it, so it stays as it is while the child is forked.
            frozen=call.context.reading,
            reserved=_PARSER_BYTES * len(call.body),
        )
    except LimitError as error:
        server.telemetry.count_limited(error.limit.value)
        raise limit_refusal(error) from error


def _within_memory(compute: Callable[[ApiCall], ApiReply], call: ApiCall, memory_bytes: int) -> ApiReply:
    """Compute an answer if the objects of the request fit in memory.

    Raises:
        MemoryError: They do not.
    """
    # Before any is made: orjson crashes where there is no memory. Texts may hold these bytes too, and count.
    values = sum(map(call.body.count, (b"{", b"[", b",")))
    if len(call.body) + values * _VALUE_BYTES > memory_bytes:
        raise MemoryError
    return compute(call)


def state() -> ServerState:
    """Return the state that ``create_app`` was given."""
    return cast("ServerState", current_app.extensions[STATE_KEY])
