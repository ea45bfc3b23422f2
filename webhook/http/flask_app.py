"""The Flask app: every route but the admission ones, behind the ASGI side of ``pages.py``."""

from __future__ import annotations

from http import HTTPStatus

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, InternalServerError

from webhook.http.body import RefusalError
from webhook.http.problems import JSON, problem
from webhook.http.state import ServerState
from webhook.http.views import compression, compute, operation
from webhook.http.views.current_state import STATE_KEY
from webhook.telemetry.logs import LOGGER


def create_app(state: ServerState) -> Flask:
    """Return the app that answers from ``state``."""
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(operation.blueprint)
    app.register_blueprint(compute.blueprint)
    app.after_request(compression.compress)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(RefusalError, _refusal)
    app.register_error_handler(Exception, _own_error)
    return app


def _http_error(error: HTTPException) -> Response:
    """Keep an error's status and headers (Allow, say) and say the rest as JSON."""
    response = Response(status=error.code, headers=dict(error.get_headers()))
    response.set_data(problem(f"{request.method} {request.path}: {error.name.lower()}"))
    response.content_type = JSON
    return response


def _refusal(refusal: RefusalError) -> Response:
    status = refusal.status.value
    LOGGER.info(
        "request_refused",
        extra={"fields": {"path": request.path, "status": status, "error": refusal.message}},
    )
    response = Response(problem(refusal.message, refusal.errors), status=status, content_type=JSON)
    if refusal.status is HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "1"
    return response


def _own_error(error: Exception) -> Response:
    LOGGER.error("request_failed", exc_info=error, extra={"fields": {"path": request.path}})
    return _http_error(InternalServerError())
