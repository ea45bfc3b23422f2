"""What the routes take and answer, for programs."""

from __future__ import annotations

import orjson
from flask import Blueprint, Response

from webhook.http.openapi import document
from webhook.http.problems import JSON

blueprint = Blueprint("openapi", __name__)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """Answer the OpenAPI document of the server."""
    return Response(orjson.dumps(document()), content_type=JSON)
