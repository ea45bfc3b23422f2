"""The ASGI callable that gunicorn serves: the admission routes, and a Flask app for all others."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import cache, partial
from typing import Final

import orjson
from flask import Blueprint, Flask, Response, jsonify, request

from webhook.http import compute
from webhook.http.admission import PHASES, AdmissionRoutes
from webhook.http.body import Receive, RefusalError, Scope, Send
from webhook.http.compute import STATE_KEY, state
from webhook.http.flask_answers import answer_errors, compress
from webhook.http.openapi import ProbeAnswer, document
from webhook.http.pages import Pages
from webhook.http.problems import JSON, problem
from webhook.http.state import ServerState
from webhook.telemetry.logs import LOGGER
from webhook.telemetry.metrics import CONTENT_TYPE

#: The pages for who operates the server: whether it lives, is ready, what it counts, and what it answers.
_operation: Final = Blueprint("operation", __name__)


class HttpApplication:
    """Answers every request of one process."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._admission = AdmissionRoutes(state)
        self._pages = Pages(state, create_app(state))
        self._routes = dict.fromkeys(PHASES, self._admission)
        #: By path, what may answer a review as soon as it has come.
        self.at_once = {
            path.encode(): partial(self._admission.at_once, phase) for path, phase in PHASES.items()
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request."""
        return self._routes.get(scope["path"], self._pages)(scope, receive, send)

    def tick(self) -> None:
        """Do what is due beside the requests; called now and then, and before the process ends."""
        self._admission.settle()
        self._state.tick()


def create_app(state: ServerState) -> Flask:
    """Return the app that answers from ``state``, behind the ASGI side of ``pages.py``."""
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(_operation)
    app.register_blueprint(compute.blueprint)
    app.after_request(compress)
    answer_errors(app, _body, failed=_failed, refused=_refused)
    return app


def _body(refusal: RefusalError) -> bytes:
    return problem(refusal.message, refusal.errors)


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


@_operation.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answer 200, or 503 with the reasons why requests should go elsewhere; warnings come with either."""
    answer: ProbeAnswer = {"status": "ok"}
    if warnings := state().warnings():
        answer["warnings"] = warnings
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
    return Response(_openapi(), content_type=JSON)


@cache
def _openapi() -> bytes:
    return orjson.dumps(document())
