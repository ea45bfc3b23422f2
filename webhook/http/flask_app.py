"""The Flask app: every route but the admission ones, behind the ASGI side of ``pages.py``."""

from __future__ import annotations

from flask import Flask, request

from webhook.http import compression
from webhook.http.body import RefusalError
from webhook.http.flask_errors import answer_errors
from webhook.http.problems import problem
from webhook.http.state import ServerState
from webhook.http.views import compute, operation
from webhook.http.views.current_state import STATE_KEY
from webhook.telemetry.logs import LOGGER


def create_app(state: ServerState) -> Flask:
    """Return the app that answers from ``state``."""
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(operation.blueprint)
    app.register_blueprint(compute.blueprint)
    app.after_request(compression.compress)
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
