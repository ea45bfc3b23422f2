"""An explain request: a score request, with what may add nodes for a pod that fits nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from policies.config.context import AdmissionContext
from policies.manifests.fields import ErrorList
from policies.placement.explain.explain import Explained, explain_object
from webhook.requests.autoscale import AutoscaleField, autoscaler_of
from webhook.requests.frame import read_request
from webhook.requests.score import ScoreRequest, evaluate_pod


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(ScoreRequest):
    """A pod or workload, what it is scheduled by, and what may add nodes.

    Attributes:
        autoscale: What adds nodes for a pod that fits nowhere, as for a simulation.
    """

    autoscale: AutoscaleField | None = None


def explain_request(body: bytes, server: AdmissionContext, examples: int) -> Explained:
    """Explain where the pod of a request would go.

    Args:
        body: The request, JSON.
        server: What holds where the request leaves something out.
        examples: How many nodes of a group are named.

    Raises:
        RequestError: The request cannot be answered; holds every error.
    """
    found = ErrorList()
    request = read_request(ExplainRequest, body, found)
    context = request.context(server, found)
    autoscaler = autoscaler_of(request.autoscale, context.cluster, found)
    explain = partial(explain_object, examples=examples, autoscaler=autoscaler)
    return evaluate_pod(request, context, found, explain)
