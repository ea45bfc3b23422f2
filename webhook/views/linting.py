"""The rules over objects that a program sends, before anything applies them."""

from __future__ import annotations

import time
from http import HTTPStatus
from importlib.metadata import version

from flask import Blueprint, Response, request

from policies.reports import lint_json
from policies.reports.lint_run import LintRun
from webhook.access.reviews import Resource
from webhook.linting.request import lint_request
from webhook.logs import LOGGER
from webhook.scoring.request import RequestError
from webhook.serving.body import RefusalError
from webhook.serving.gate import BusyError
from webhook.serving.problems import JSON
from webhook.views.current import state
from webhook.views.guarding import require_access
from webhook.views.posted import posted_json

blueprint = Blueprint("linting", __name__)
blueprint.before_request(require_access(Resource.LINT_REPORTS))


@blueprint.post("/v1/lint")
def lint() -> Response:
    """Answer what ``evenkeel lint -o json`` would print of the objects.

    Raises:
        RefusalError: The request cannot be read or answered, or not now.
    """
    server = state()
    try:
        with server.scoring.enter(large=False):
            started = time.perf_counter()
            # Every object of it is walked by Python while reviews wait, so it may be as large as a review.
            body = posted_json(server.settings.max_body_bytes)
            run = lint_request(
                body, server.usable_context(), today=server.now().date(), tool_version=version("evenkeel")
            )
            answer = Response(lint_json.render(run), content_type=JSON)
    except BusyError:
        text = "as many requests are being answered as may be at once: try again"
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, text) from None
    except RequestError as error:
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
    _log(run, time.perf_counter() - started)
    return answer


def _log(run: LintRun, seconds: float) -> None:
    fields = {
        "path": request.path,
        "objects": len(run.files),
        "workloads": run.result.workloads,
        "findings": len(run.result.findings),
        "ms": round(seconds * 1000, 3),
    }
    LOGGER.info("linted", extra={"fields": fields})
