"""The metrics of all workers, in Prometheus' text format."""

from __future__ import annotations

from flask import Blueprint, Response

from webhook import telemetry
from webhook.views.current import state

blueprint = Blueprint("metrics", __name__)


@blueprint.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted."""
    return Response(state().telemetry.render(), content_type=telemetry.CONTENT_TYPE)
