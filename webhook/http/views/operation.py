"""The pages for who operates the server: whether it lives, is ready, what it counts, and what it answers."""

from __future__ import annotations

from functools import cache

import orjson
from flask import Blueprint, Response, jsonify

from webhook.http.openapi import ProbeAnswer, document
from webhook.http.problems import JSON
from webhook.http.views.current_state import state
from webhook.telemetry.metrics import CONTENT_TYPE

blueprint = Blueprint("operation", __name__)


@blueprint.get("/livez")
def livez() -> Response:
    """Answer 200 as long as the process can answer at all."""
    return jsonify(status="ok")


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answer 200, or 503 with the reasons why requests should go elsewhere; warnings come with either."""
    answer: ProbeAnswer = {"status": "ok"}
    if warnings := state().warnings():
        answer["warnings"] = warnings
    if reasons := state().unready_reasons():
        answer |= {"status": "not ready", "reasons": reasons}
    return jsonify(answer), 503 if reasons else 200


@blueprint.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted, in Prometheus' text format."""
    state().observe()
    return Response(state().telemetry.render(), content_type=CONTENT_TYPE)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """Answer the OpenAPI document of the server."""
    return Response(_openapi(), content_type=JSON)


@cache
def _openapi() -> bytes:
    return orjson.dumps(document())
