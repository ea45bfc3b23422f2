"""The rules over objects that a program sends, before anything applies them."""

from __future__ import annotations

import time
from datetime import date
from functools import partial
from importlib.metadata import version

from flask import Blueprint, Response, request

from policies.config.context import AdmissionContext
from policies.reports import lint_json
from webhook.http.problems import JSON
from webhook.http.views.compute import compute
from webhook.http.views.current_state import state
from webhook.lint.request import lint_request
from webhook.telemetry.logs import LOGGER, Value

blueprint = Blueprint("linting", __name__)


@blueprint.post("/v1/lint")
def lint() -> Response:
    """Answer what ``evenkeel lint -o json`` would print of the objects.

    Raises:
        RefusalError: The request cannot be answered, or not now.
    """
    server = state()
    context, started = server.usable_context(), time.perf_counter()
    work = partial(_report, context=context, today=server.now().date())
    report, fields = compute(work, context)
    fields |= {"path": request.path, "ms": round((time.perf_counter() - started) * 1000, 3)}
    LOGGER.info("linted", extra={"fields": fields})
    return Response(report, content_type=JSON)


def _report(body: bytes, *, context: AdmissionContext, today: date) -> tuple[str, dict[str, Value]]:
    """Return the report on the objects of a request, and what is logged of it."""
    run = lint_request(body, context, today=today, tool_version=version("evenkeel"))
    fields: dict[str, Value] = {
        "objects": len(run.files),
        "workloads": run.result.workloads,
        "findings": len(run.result.findings),
    }
    return lint_json.render(run), fields
