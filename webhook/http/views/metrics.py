"""The metrics of all workers, in Prometheus' text format."""

from __future__ import annotations

from flask import Blueprint, Response

from webhook.http.views.current_state import state
from webhook.http.views.guarding import require_access
from webhook.rbac import Resource
from webhook.telemetry import metrics as telemetry

blueprint = Blueprint("metrics", __name__)
blueprint.before_request(require_access(Resource.METRICS))


@blueprint.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted."""
    state().observe()
    return Response(state().telemetry.render(), content_type=telemetry.CONTENT_TYPE)
