"""The ASGI callable that gunicorn serves: the admission routes, and a Flask app for all others."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from flask import Blueprint, Flask, Response, current_app, jsonify, request

from policies.config.form import prepare
from webhook.component import Confidential
from webhook.http.admission import AdmissionRoutes
from webhook.http.api_routes import API_ROUTES, ApiCall, ApiReply, ApiRoute
from webhook.http.authorization.authorizer import OpenAuthorizer
from webhook.http.authorization.token_reviewer import read_credential
from webhook.http.body import Receive, Scope, Send
from webhook.http.child_processes import Limit, LimitError
from webhook.http.flask_answers import answer_errors, compress, limit_refusal
from webhook.http.lifespan import live
from webhook.http.pages import Pages
from webhook.http.problems import JSON, RefusalError
from webhook.http.state import ServerState
from webhook.rbac import Resource
from webhook.registration import split_path
from webhook.requests.frame import RequestError
from webhook.requests.placement import CLUSTER
from webhook.requests.screen import TEXT, is_wide, read_screen
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import CONTENT_TYPE

#: Bytes that a value of JSON takes as an object at most, however short its text is. What kubectl prints has
#: one for 19 bytes or more.
_VALUE_BYTES: Final = 128

#: The share of a request's time after which an answer that can be partial ends; the rest is to write it.
_WORK_SHARE: Final = 0.7

#: Bytes that orjson allocates to read a byte, of which it uses what the values need.
_PARSER_BYTES: Final = 12

#: The options that set limits.
_SET_BY: Final = {
    Limit.TIMEOUT: " (--request-timeout-s)",
    Limit.MEMORY: " (--max-request-memory-bytes)",
}

#: Where the app keeps its state.
STATE_KEY = "evenkeel"
#: The pages for who operates the server: whether it lives, is ready, what it counts, and what it answers.
_operation: Final = Blueprint("operation", __name__)
#: The routes of the API: each answer is computed in a child process, so that reviews go on meanwhile.
_api: Final = Blueprint("api", __name__)


class ProbeAnswer(TypedDict):
    """Whether the server can be used."""

    status: Literal["ok", "not ready"]  #: ``ok`` or ``not ready``.
    reasons: NotRequired[list[str]]  #: Why requests should go elsewhere.
    warnings: NotRequired[list[str]]  #: What needs attention though the server is ready.


class HttpApplication:
    """Answers every request of one process."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._admission = AdmissionRoutes(state)
        self._pages = Pages(state, create_app(state))

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request; while the process drains, each answer says that it is the last one."""
        if scope["type"] == "lifespan":
            return live(self._state, self.tick, receive, send)
        answer = self._admission if split_path(scope["path"])[0] else self._pages
        return answer(scope, receive, self._closing(send))

    def _closing(self, send: Send) -> Send:
        """Return the same; while the process drains, it tells the client that the connection ends."""

        def tell(message: dict[str, Any]) -> Awaitable[None]:
            if self._state.draining and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"Connection", b"close")]
            return send(message)

        return tell

    def tick(self) -> None:
        """Do what is due beside the requests; called now and then, and before the process ends."""
        self._admission.settle()
        self._state.tick()


def create_app(state: ServerState) -> Flask:
    """Return the app that answers from ``state``, behind the ASGI side of ``pages.py``."""
    for route in API_ROUTES.values():
        prepare(route.request)
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(_operation)
    app.register_blueprint(_api)
    app.after_request(compress)
    answer_errors(app, RefusalError.body, failed=_failed, refused=_refused)
    return app


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
    _api.add_url_rule(_path, _path, partial(_answer, _route), methods=["POST"])


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
        server.telemetry.limited.labels(error.limit.value).inc()
        raise limit_refusal(error, _SET_BY.get(error.limit, "")) from error


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


def _refused(refusal: RefusalError) -> None:
    fields = {"path": request.path, "status": refusal.status.value, "error": refusal.message}
    LOGGER.info("request_refused", extra={"fields": fields})


def _failed(error: Exception) -> str:
    LOGGER.error("request_failed", exc_info=error, extra={"fields": {"path": request.path}})
    return f"{request.method} {request.path}: internal server error"


@_operation.get("/livez")
def livez() -> Response:
    """Answer 200 as long as the process can answer at all."""
    return jsonify(status="ok")


def _may_know() -> bool:
    """Return whether the caller may know what is in the cluster; probes send no credential."""
    access = state().access
    if not (isinstance(access, OpenAuthorizer) or read_credential(request.environ)):
        return False
    return access.check(request.environ, Resource.METRICS).allowed


@_operation.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answer 200, or 503 with the reasons why requests should go elsewhere; warnings come with either."""
    answer: ProbeAnswer = {"status": "ok"}
    warnings = state().warnings()
    told = [text for text in warnings if not isinstance(text, Confidential)]
    if len(told) < len(warnings):
        more = "there is more for callers who may get metrics, and in the log"
        told = warnings if _may_know() else [*told, more]
    if told:
        answer["warnings"] = told
    if reasons := state().unready_reasons():
        answer |= {"status": "not ready", "reasons": reasons}
    return jsonify(answer), 503 if reasons else 200


@_operation.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted, in Prometheus' text format."""
    state().observe()
    return Response(state().telemetry.render(), content_type=CONTENT_TYPE)


@_operation.get("/openapi.json")
def openapi() -> Response:
    """Answer the OpenAPI document of the server."""
    return Response(Path(__file__).with_name("openapi.json").read_bytes(), content_type=JSON)
