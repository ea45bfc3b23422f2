"""Requests for one pod: to score nodes for it, or to explain where it goes and what may add nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from planning.explain.explain import Explained, explain_object
from planning.simulation.scenario import ClusterState
from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.api_rules import ApiRule
from policies.model.cluster_kinds import POD
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.snapshot import kind_of
from policies.pods.known_pods import KnownPods
from policies.pods.placement import Placement, evaluate_manifest
from webhook.requests.cluster import filled_in
from webhook.requests.frame import ApiObject, read_request
from webhook.requests.placement import (
    AutoscaleField,
    PlacementFields,
    autoscaler_of,
    cluster_state,
    try_placing,
)

#: What the API server refuses and kube-scheduler minds not: where such a pod would go is known all the same.
SCORED_RULES: frozenset[str] = frozenset(
    {
        ApiRule.CONSTRAINT_REPEATED,
        ApiRule.MIN_DOMAINS_WITH_SCHEDULE_ANYWAY,
        ApiRule.MATCH_LABEL_KEYS_WITHOUT_SELECTOR,
    }
)
_POD: Final = FieldPath(("pod",))


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
    context = request.context(server, found)
    return try_placing(lambda: place_for_scores(filled_in(request.pod), context), _POD, found)


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(ScoreRequest):
    """A pod or workload, what it is scheduled by, and what may add nodes."""

    #: What adds nodes for a pod that fits nowhere, as for a simulation.
    autoscale: AutoscaleField | None = None


def explain_request(
    body: bytes,
    server: AdmissionContext,
    known: KnownPods,
    workloads: ClusterWorkloads | None,
    examples: int,
) -> Explained:
    """Explain where the pod of a request would go.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        known: What is known of the pods of the server's cluster.
        workloads: The workloads of that cluster; None without one.
        examples: How many nodes of a group are named.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    request, found = read_request(ExplainRequest, body), ErrorList()
    if kind_of(filled_in(request.pod)) == POD:
        # Nothing is played for a pod of its own, so that workloads need not be read.
        context, known = request.state(server, known, found)
        state = ClusterState(context=context, known=known, workloads=ClusterWorkloads(server.kinds))
    else:
        state = cluster_state(request, server, known, workloads, found)
    autoscaler = autoscaler_of(request.autoscale, state.context.cluster, found)
    return try_placing(
        lambda: explain_object(filled_in(request.pod), state, examples=examples, autoscaler=autoscaler),
        _POD,
        found,
    )
