"""Where the next pod of an object would go, as numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Blueprint, Response, request

from policies.evaluation.context import AdmissionContext
from policies.evaluation.explaining import explain_object
from policies.evaluation.placement import Placement, place
from policies.reports import explain_json, score_json
from webhook.logs import LOGGER
from webhook.scoring.gate import BusyError
from webhook.scoring.placing import judge_request
from webhook.scoring.request import RequestError
from webhook.serving.body import RefusalError, announced_length
from webhook.serving.problems import JSON
from webhook.views.current import state
from webhook.views.posted import posted_json

blueprint = Blueprint("scoring", __name__)

_Found = TypeVar("_Found")


@blueprint.post("/v1/score")
def score() -> Response:
    """Answer the verdict on every node, with its operands."""
    return _answer(
        place, lambda placement: (placement, score_json.render(placement.verdict, placement.version))
    )


@blueprint.post("/v1/explain")
def explain() -> Response:
    """Answer why, in words and numbers, and what would help a pod that fits nowhere."""
    return _answer(explain_object, lambda explained: (explained.placement, explain_json.render(explained)))


def _answer(
    judge: Callable[[dict[str, Any], AdmissionContext], _Found],
    render: Callable[[_Found], tuple[Placement, bytes]],
) -> Response:
    """Judge what the request asks about, and answer what is made of it.

    Raises:
        RefusalError: The request cannot be read or answered, or not now.
    """
    settings = state().settings
    length = announced_length(request.environ)
    try:
        with state().scoring.enter(large=length is None or length > settings.max_body_bytes):
            started = time.perf_counter()
            found = judge_request(posted_json(settings.max_score_body_bytes), state().context, judge)
            placement, body = render(found)
            answer = Response(body, content_type=JSON)
    except BusyError:
        text = "as many requests are being scored as may be at once: try again"
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, text) from None
    except RequestError as error:
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
    _log(placement, time.perf_counter() - started)
    return answer


def _log(placement: Placement, seconds: float) -> None:
    verdict, subject = placement.verdict, placement.subject
    name = subject.metadata.get("name")
    fields = {
        "path": request.path,
        "kind": subject.kind.name,
        "ns": subject.namespace,
        "name": name if isinstance(name, str) else "",
        "nodes": len(verdict.names),
        "feasible": verdict.feasible_count,
        "ms": round(seconds * 1000, 3),
    }
    LOGGER.info("scored", extra={"fields": fields})
