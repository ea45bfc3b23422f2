"""Whether the process lives, and whether it should get requests."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from webhook.http.views.current_state import state

blueprint = Blueprint("health", __name__)


@blueprint.get("/livez")
def livez() -> Response:
    """Answer 200 as long as the process can answer at all."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answer 200, or 503 with the reasons why requests should go elsewhere; warnings come with either."""
    server = state()
    warnings = server.warnings()
    detail = {"warnings": warnings} if warnings else {}
    if reasons := server.unready_reasons():
        return jsonify(status="not ready", reasons=reasons, **detail), 503
    return jsonify(status="ok", **detail), 200
