"""Requests for one pod: to score nodes for it, or to explain where it goes and what may add nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from planning.explain.explain import Explained, explain_object
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.api_rules import ApiRule
from policies.pods.known_pods import KnownPods
from policies.pods.placement import Placement, evaluate_manifest
from webhook.requests.cluster import filled_in
from webhook.requests.frame import ApiObject, read_request
from webhook.requests.placement import AutoscaleField, PlacementFields, autoscaler_of, try_placing

#: What the API server refuses and kube-scheduler minds not: where such a pod would go is known all the same.
SCORED_RULES: frozenset[str] = frozenset(
    {
        ApiRule.CONSTRAINT_REPEATED,
        ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY,
        ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR,
    }
)
_POD: Final = FieldPath(("pod",))

#: The result of an evaluation.
_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(PlacementFields):
    """A pod or workload, and what it is scheduled by."""

    #: A Pod, or a workload; then the pod that its controller would make next is meant. Only a Pod may leave
    #: out apiVersion and kind.
    pod: ApiObject


def place_for_scores(obj: dict[str, Any], context: AdmissionContext) -> Placement:
    """Place a pod as kube-scheduler would, even one that no API server would let it see.

    Raises:
        PlacementError: What kube-scheduler would do is not known; holds every error.
    """
    return evaluate_manifest(obj, replace(context, tolerated=SCORED_RULES))


def place_request(body: bytes, server: AdmissionContext) -> Placement:
    """Return where the pod of a request would go.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(ScoreRequest, body), ErrorList()
    return evaluate_pod(request, request.context(server, found), found, place_for_scores)


def evaluate_pod(
    request: ScoreRequest,
    context: AdmissionContext,
    found: ErrorList,
    evaluate: Callable[[dict[str, Any], AdmissionContext], _Result],
) -> _Result:
    """Evaluate the pod of a request.

    Args:
        request: The request.
        context: What the pod is placed by.
        found: Has what is wrong with the request's cluster and autoscaler.
        evaluate: Evaluates a pod; ``evaluate_manifest``, or what fails as that does.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    return try_placing(lambda: evaluate(filled_in(request.pod), context), _POD, found)


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(ScoreRequest):
    """A pod or workload, what it is scheduled by, and what may add nodes."""

    #: What adds nodes for a pod that fits nowhere, as for a simulation.
    autoscale: AutoscaleField | None = None


def explain_request(body: bytes, server: AdmissionContext, known: KnownPods, examples: int) -> Explained:
    """Explain where the pod of a request would go.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.
        examples: How many nodes of a group are named.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(ExplainRequest, body), ErrorList()
    context, known = request.state(server, known, found)
    autoscaler = autoscaler_of(request.autoscale, context.cluster, found)
    explain = partial(explain_object, known=known, examples=examples, autoscaler=autoscaler)
    return evaluate_pod(request, context, found, explain)
