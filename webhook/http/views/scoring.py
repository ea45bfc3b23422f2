"""Where pods would go, as numbers for programs or as text for people."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from flask import Blueprint, Response, request

from policies.config.context import AdmissionContext
from policies.placement.explain import Explained, explain_object
from policies.placement.placement import Placement
from policies.placement.scheduling_queue import SimulatedQueue
from policies.reports import (
    explain_json,
    explain_text,
    score_json,
    score_table,
    simulate_json,
    simulate_text,
)
from policies.scheduler.rejections import EVERY_NODE, EXAMPLES
from webhook.http.body import RefusalError
from webhook.http.problems import JSON
from webhook.http.scoring.place import judge_request, place_for_scores
from webhook.http.scoring.request import CLUSTER
from webhook.http.scoring.screen import FEASIBLE_NODES, PENDING_PODS, TEXT, Screen, is_wide, read_screen
from webhook.http.scoring.simulate_request import simulate_request
from webhook.http.views.compute import compute
from webhook.http.views.current_state import state
from webhook.json_request import RequestError
from webhook.telemetry.logs import LOGGER, Value

blueprint = Blueprint("scoring", __name__)

_Found = TypeVar("_Found")


class _Answer(NamedTuple):
    """What is answered.

    Attributes:
        text: JSON, or a text for people.
        header: What it comes down to: the name and the value of a header.
        fields: What is logged of it.
    """

    text: str | bytes
    header: tuple[str, str]
    fields: dict[str, Value]


@blueprint.post("/v1/score")
def score() -> Response:
    """Answer the verdict on every node, with its operands."""

    def render(placement: Placement, screen: Screen | None) -> tuple[Placement, str | bytes]:
        if screen is not None:
            text = score_table.render(placement, width=screen.columns, color=screen.color, wide=screen.wide)
            return placement, text
        return placement, score_json.render(placement)

    return _placed(place_for_scores, render)


@blueprint.post("/v1/explain")
def explain() -> Response:
    """Answer why, in words and numbers, and what would help a pod that fits nowhere."""

    def render(explained: Explained, screen: Screen | None) -> tuple[Placement, str | bytes]:
        if screen is not None:
            text = explain_text.render(explained, width=screen.columns, color=screen.color, wide=screen.wide)
            return explained.placement, text
        return explained.placement, explain_json.render(explained)

    examples = EVERY_NODE if is_wide(request.args) else EXAMPLES
    return _placed(partial(explain_object, examples=examples), render)


@blueprint.post("/v1/simulate")
def simulate() -> Response:
    """Answer what becomes of pods that are scheduled one after another."""

    def work(body: bytes, context: AdmissionContext, screen: Screen | None) -> _Answer:
        simulated = simulate_request(body, context)
        text: str | bytes
        if screen is None:
            text = simulate_json.render(simulated)
        else:
            text = simulate_text.render(simulated, width=screen.columns, color=screen.color)
        return _Answer(text, (PENDING_PODS, str(simulated.pending)), _simulation_fields(simulated))

    return _answer(work)


def _placed(
    judge: Callable[[dict[str, Any], AdmissionContext], _Found],
    render: Callable[[_Found, Screen | None], tuple[Placement, str | bytes]],
) -> Response:
    """Judge what the request asks about, and answer what is made of it; fails as ``_answer``."""

    def work(body: bytes, context: AdmissionContext, screen: Screen | None) -> _Answer:
        placement, text = render(judge_request(body, context, judge), screen)
        feasible = str(placement.verdict.feasible_count)
        return _Answer(text, (FEASIBLE_NODES, feasible), _fields(placement))

    return _answer(work)


def _answer(work: Callable[[bytes, AdmissionContext, Screen | None], _Answer]) -> Response:
    """Answer what some work makes of the body of the request.

    Raises:
        RefusalError: The request cannot be read or answered, or not now.
    """
    server, started = state(), time.perf_counter()
    context, screen = server.usable_context(), _screen()
    try:
        found = compute(lambda body: work(body, context, screen), context)
    except RefusalError as error:
        if context.withheld and any(entry.path == CLUSTER for entry in error.errors):
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, context.withheld) from error
        raise
    fields = found.fields | {
        "path": request.path,
        "ms": round((time.perf_counter() - started) * 1000, 3),
    }
    LOGGER.info("scored", extra={"fields": fields})
    answer = Response(found.text, content_type=JSON if screen is None else TEXT)
    answer.headers[found.header[0]] = found.header[1]
    return answer


def _screen() -> Screen | None:
    """Return where the answer is shown, None if it is for a program.

    Raises:
        RefusalError: What is said of it cannot be.
    """
    wants_text = request.accept_mimetypes.best_match([JSON, TEXT.partition(";")[0]]) not in (JSON, None)
    try:
        return read_screen(request.args) if wants_text else None
    except RequestError as error:
        raise RefusalError(HTTPStatus.BAD_REQUEST, error.message, errors=error.errors) from error


def _fields(placement: Placement) -> dict[str, Value]:
    """Return what is logged of an answer."""
    verdict, workload = placement.verdict, placement.workload
    name = workload.metadata.get("name")
    return {
        "kind": workload.kind.name,
        "ns": workload.namespace,
        "name": name if isinstance(name, str) else "",
        "nodes": len(verdict.names),
        "feasible": verdict.feasible_count,
    }


def _simulation_fields(simulated: SimulatedQueue) -> dict[str, Value]:
    """Return what is logged of the answer of a simulation."""
    return {
        "nodes": simulated.queue.cluster.node_count,
        "pods": len(simulated.queue.pods),
        "pending": simulated.pending,
    }
