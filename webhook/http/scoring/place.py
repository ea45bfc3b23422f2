"""Judge what a score request asks about, or say everything that is wrong with the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from policies.config.context import AdmissionContext
from policies.model.api_rules import ApiRule
from policies.placement.placement import Placement, PlacementError, place_object
from webhook.http.scoring.request import (
    POD,
    ScoreRequest,
)
from webhook.json_request import RequestError

#: What the API server refuses and kube-scheduler minds not: where such a pod would go is known all the same.
SCORED_RULES: frozenset[str] = frozenset(
    {
        ApiRule.CONSTRAINT_REPEATED,
        ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY,
        ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR,
    }
)

#: What is found out of an object, and how.
_Found = TypeVar("_Found")


def place_request(body: bytes, server: AdmissionContext) -> Placement:
    """Return where the pod of a request would go: see ``judge_request``."""
    return judge_request(body, server, place_for_scores)


def place_for_scores(obj: dict[str, Any], context: AdmissionContext) -> Placement:
    """Judge a pod as kube-scheduler would, even one that no API server would let it see.

    Raises:
        PlacementError: What kube-scheduler would do is not known; holds every error.
    """
    return place_object(obj, context, tolerated=SCORED_RULES)


def judge_request(
    body: bytes, server: AdmissionContext, judge: Callable[[dict[str, Any], AdmissionContext], _Found]
) -> _Found:
    """Return what is to be found out of the pod of a request.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        judge: Finds it out; ``place_object``, or what fails as that does.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request = ScoreRequest.parse(body)
    errors = [*request.errors, *request.context.missing(server)]
    try:
        # Also with errors, to know what is wrong with the pod.
        found = judge(request.pod, request.context.over(server)) if request.pod else None
    except PlacementError as error:
        errors += (replace(entry, path=POD + entry.path) for entry in error.errors)
    if errors or found is None:
        raise RequestError(tuple(errors))
    return found
