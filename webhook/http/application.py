"""The ASGI callable that gunicorn serves: the admission routes, and a Flask app for all others.

Who only reviews imports nothing of what answers the API.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict

from flask import Blueprint, Flask, Response, jsonify, request

from webhook.component import Confidential
from webhook.gunicorn.connection import Connection
from webhook.http.admission import AdmissionRoutes
from webhook.http.api_gateway import ApiGateway
from webhook.http.authorization.authorizer import OpenAuthorizer
from webhook.http.authorization.token_reviewer import read_credential
from webhook.http.body import Receive, Scope, Send
from webhook.http.flask_answers import STATE_KEY, answer_errors, compress, current_state
from webhook.http.pages import GUARDED, Guarded, Pages
from webhook.http.problems import JSON, RefusalError
from webhook.http.state import ServerState
from webhook.rbac import Resource
from webhook.registration import split_path
from webhook.settings import Role
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import CONTENT_TYPE

#: Seconds between two looks at what is due.
_TURN_S: Final = 0.5
#: Seconds that a new worker waits to be prepared, and between two looks. Well below the timeout of a webhook,
#: and enough to list a small cluster. With a large one /readyz says no for longer.
_PREPARE_S, _SHORT_TURN_S = 1.0, 0.02
#: The paths for who operates the server, which every process answers itself.
OPERATION: Final = frozenset({"/livez", "/metrics", "/openapi.json", "/readyz"})
#: Seconds for what comes before and after an answer of the API.
_MARGIN_S: Final = 15.0
#: The pages for who operates the server: whether it lives, is ready, what it counts, and what it answers.
_operation: Final = Blueprint("operation", __name__)


async def live(
    state: ServerState, tick: Callable[[], None], parent: int, receive: Receive, send: Send
) -> None:
    """Do what is due beside the requests; connections are accepted when the start is complete.

    A worker that takes the place of a killed one would answer its first requests without the cluster.

    Args:
        state: The state of the process.
        tick: Called now and then, and before the process ends.
        parent: The process without which this one ends.
        receive: Returns that the worker starts, and that it has served.
        send: Says that the start, and the end, is complete.
    """
    await receive()
    end: Any = signal.getsignal(signal.SIGTERM)
    if state.draining:
        # It came before uvicorn handled it, which then serves no one.
        end(signal.SIGTERM, None)
    ends = time.monotonic() + _PREPARE_S
    while not (state.prepared() or state.draining) and time.monotonic() < ends:
        await asyncio.sleep(_SHORT_TURN_S)
    loop = asyncio.get_running_loop()
    drain = partial(loop.call_soon_threadsafe, _drain, state, end)
    signal.signal(signal.SIGTERM, lambda *_signaled: drain())
    beside = loop.create_task(_beside(tick, parent))
    await send({"type": "lifespan.startup.complete"})
    await receive()
    beside.cancel()
    tick()
    await send({"type": "lifespan.shutdown.complete"})


def _drain(state: ServerState, end: Callable[[int, None], Any]) -> None:
    """Go on answering for a while after SIGTERM, until load balancers know; then let the server end.

    Without its fork server it can answer nothing, and another process waits to take its place.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seconds = 0.0 if state.forks.failed else state.settings.drain_s
    state.end_soon()
    LOGGER.info("draining", extra={"fields": {"seconds": seconds}})
    asyncio.get_running_loop().call_later(seconds, end, signal.SIGTERM, None)


async def _beside(tick: Callable[[], None], parent: int) -> None:
    while True:
        try:
            tick()
            for connection in [each for each in Connection.all_open if each.waited >= 1]:
                connection.expire()
        except Exception as error:  # noqa: BLE001  # deadlines must go on
            LOGGER.error("tick_failed", exc_info=error)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(_TURN_S)


class ProbeAnswer(TypedDict):
    """Whether the server can be used."""

    status: Literal["ok", "not ready"]  #: ``ok`` or ``not ready``.
    role: Literal["all", "admission", "api"]  #: What the server does.
    reasons: NotRequired[list[str]]  #: Why requests should go elsewhere.
    warnings: NotRequired[list[str]]  #: What needs attention though the server is ready.


class HttpApplication:
    """Answers every request of one process.

    Attributes:
        parent: The process without which this one ends; the one that has forked it may be gone by now.
    """

    def __init__(self, state: ServerState) -> None:
        self.parent = os.getppid()
        self._state = state
        self._admission = None if state.role is Role.API else AdmissionRoutes(state)
        self._pages = Pages(state, *create_app(state))
        self._gateway = (
            ApiGateway(state.api_socket, timeout_s=state.settings.request_timeout_s + _MARGIN_S)
            if state.api_socket is not None
            else self._pages
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request; while the process drains, each answer says that it is the last one."""
        if scope["type"] == "lifespan":
            return live(self._state, self.tick, self.parent, receive, send)
        send = self._closing(send)
        if self._admission is not None and split_path(scope["path"])[0]:
            return self._admission(scope, receive, send)
        answer = self._pages if scope["path"] in OPERATION else self._gateway
        return answer(scope, receive, send)

    def _closing(self, send: Send) -> Send:
        """Return the same; while the process drains, it tells the client that the connection ends."""

        def tell(message: dict[str, Any]) -> Awaitable[None]:
            if self._state.draining and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"Connection", b"close")]
            return send(message)

        return tell

    def tick(self) -> None:
        """Do what is due beside the requests; called now and then, and before the process ends."""
        if self._admission is not None:
            self._admission.settle()
        self._state.tick()


def create_app(state: ServerState) -> tuple[Flask, Mapping[str, Guarded]]:
    """Return the app that answers from ``state``, behind ``pages.py``, and its routes that are guarded."""
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(_operation)
    app.after_request(compress)
    answer_errors(app, RefusalError.body, failed=_failed, refused=_refused)
    if state.role is Role.ADMISSION:
        return app, GUARDED
    from webhook.http import api  # noqa: PLC0415  # with it comes all that answers

    app.register_blueprint(api.BLUEPRINT)
    return app, api.GUARDED


def _refused(refusal: RefusalError) -> None:
    fields = {"path": request.path, "status": refusal.status.value, "error": refusal.message}
    LOGGER.info("request_refused", extra={"fields": fields})


def _failed(error: Exception) -> str:
    LOGGER.error("request_failed", exc_info=error, extra={"fields": {"path": request.path}})
    return f"{request.method} {request.path}: internal server error"


def _probed() -> ProbeAnswer:
    return {"status": "ok", "role": current_state().settings.role.value}


@_operation.get("/livez")
def livez() -> Response:
    """Answer 200 as long as the process can answer at all."""
    return jsonify(_probed())


def _may_know() -> bool:
    """Return whether the caller may know what is in the cluster; probes send no credential."""
    access = current_state().access
    if not (isinstance(access, OpenAuthorizer) or read_credential(request.environ)):
        return False
    return access.check(request.environ, Resource.METRICS).allowed


@_operation.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answer 200, or 503 with the reasons why requests should go elsewhere; warnings come with either."""
    answer = _probed()
    warnings = current_state().warnings()
    told = [text for text in warnings if not isinstance(text, Confidential)]
    if len(told) < len(warnings):
        more = "there is more for callers who may get metrics, and in the log"
        told = warnings if _may_know() else [*told, more]
    if told:
        answer["warnings"] = told
    if reasons := current_state().unready_reasons():
        answer |= {"status": "not ready", "reasons": reasons}
    return jsonify(answer), 503 if reasons else 200


@_operation.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted, in Prometheus' text format."""
    current_state().observe()
    return Response(current_state().telemetry.render(), content_type=CONTENT_TYPE)


@_operation.get("/openapi.json")
def openapi() -> Response:
    """Answer the OpenAPI document of the server."""
    return Response(Path(__file__).with_name("openapi.json").read_bytes(), content_type=JSON)
