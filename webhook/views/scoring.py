"""Where the next pod of an object would go, as numbers for programs or as text for people."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Blueprint, Response, request

from policies.engine.refusing import EVERY_NODE, EXAMPLES
from policies.evaluation.context import AdmissionContext
from policies.evaluation.explaining import Explained, explain_object
from policies.evaluation.placement import Placement
from policies.reports import explain_json, explain_text, score_json, score_table
from webhook.access.reviews import Resource
from webhook.logs import LOGGER
from webhook.scoring.placing import judge_request, place_for_scores
from webhook.scoring.request import CLUSTER, RequestError
from webhook.scoring.screen import FEASIBLE_NODES, TEXT, Screen, is_wide, read_screen
from webhook.serving.body import RefusalError, announced_length
from webhook.serving.gate import BusyError
from webhook.serving.problems import JSON
from webhook.views.current import state
from webhook.views.guarding import require_access
from webhook.views.posted import posted_json

blueprint = Blueprint("scoring", __name__)
blueprint.before_request(require_access(Resource.PLACEMENTS))

_Found = TypeVar("_Found")


@blueprint.post("/v1/score")
def score() -> Response:
    """Answer the verdict on every node, with its operands."""

    def render(placement: Placement, screen: Screen | None) -> tuple[Placement, str | bytes]:
        if screen is not None:
            text = score_table.render(placement, width=screen.columns, color=screen.color, wide=screen.wide)
            return placement, text
        return placement, score_json.render(placement)

    return _answer(place_for_scores, render)


@blueprint.post("/v1/explain")
def explain() -> Response:
    """Answer why, in words and numbers, and what would help a pod that fits nowhere."""

    def render(explained: Explained, screen: Screen | None) -> tuple[Placement, str | bytes]:
        if screen is not None:
            text = explain_text.render(explained, width=screen.columns, color=screen.color, wide=screen.wide)
            return explained.placement, text
        return explained.placement, explain_json.render(explained)

    examples = EVERY_NODE if is_wide(request.args) else EXAMPLES
    return _answer(partial(explain_object, examples=examples), render)


def _answer(
    judge: Callable[[dict[str, Any], AdmissionContext], _Found],
    render: Callable[[_Found, Screen | None], tuple[Placement, str | bytes]],
) -> Response:
    """Judge what the request asks about, and answer what is made of it.

    Raises:
        RefusalError: The request cannot be read or answered, or not now.
    """
    settings, context = state().settings, state().usable_context()
    length = announced_length(request.environ)
    try:
        with state().scoring.enter(large=length is None or length > settings.max_body_bytes):
            started = time.perf_counter()
            screen = _screen()
            found = judge_request(posted_json(settings.max_score_body_bytes), context, judge)
            placement, body = render(found, screen)
            answer = Response(body, content_type=JSON if screen is None else TEXT)
    except BusyError:
        text = "as many requests are being scored as may be at once: try again"
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, text) from None
    except RequestError as error:
        if context.withheld and any(entry.path == CLUSTER for entry in error.errors):
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, context.withheld) from error
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error
    answer.headers[FEASIBLE_NODES] = str(placement.verdict.feasible_count)
    _log(placement, time.perf_counter() - started)
    return answer


def _screen() -> Screen | None:
    """Return where the answer is shown, None if it is for a program.

    Raises:
        RequestError: What is said of it cannot be.
    """
    wants_text = request.accept_mimetypes.best_match([JSON, TEXT.partition(";")[0]]) not in (JSON, None)
    return read_screen(request.args) if wants_text else None


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
