"""The Flask app: every route but the admission ones, which ``admission/wsgi.py`` serves in front of it."""

from __future__ import annotations

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, InternalServerError

from webhook.logs import LOGGER
from webhook.serving.problems import JSON, problem
from webhook.state import ServerState
from webhook.views import health, metrics
from webhook.views.current import STATE_KEY


def create_app(state: ServerState) -> Flask:
    """Return the app that answers from ``state``."""
    app = Flask("evenkeel", static_folder=None)
    app.extensions[STATE_KEY] = state
    app.register_blueprint(health.blueprint)
    app.register_blueprint(metrics.blueprint)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _own_error)
    return app


def _http_error(error: HTTPException) -> Response:
    """Keep an error's status and headers (Allow, say) and say the rest as JSON."""
    response = Response(status=error.code, headers=dict(error.get_headers()))
    response.set_data(problem(f"{request.method} {request.path}: {error.name.lower()}"))
    response.content_type = JSON
    return response


def _own_error(error: Exception) -> Response:
    LOGGER.error("request_failed", exc_info=error, extra={"fields": {"path": request.path}})
    return _http_error(InternalServerError())
