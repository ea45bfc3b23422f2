"""The metrics of all workers, in Prometheus' text format."""

from __future__ import annotations

from flask import Blueprint, Response

from webhook import telemetry
from webhook.rbac import Resource
from webhook.views.current import state
from webhook.views.guarding import require_access

blueprint = Blueprint("metrics", __name__)
blueprint.before_request(require_access(Resource.METRICS))


@blueprint.get("/metrics")
def metrics() -> Response:
    """Answer what every worker has counted."""
    state().observe()
    return Response(state().telemetry.render(), content_type=telemetry.CONTENT_TYPE)
