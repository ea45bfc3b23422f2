"""Where the pods of an edited manifest would go: the answers of ``/v1``, with errors by line.

For a person who may not list nodes and pods the Evenkeel of a live cluster answers, in place of an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from planning.explain import json as explain_json
from planning.explain import score_json
from planning.explain.explain import explain_object
from planning.simulation.limits import MOST_ROLLED_OUT
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.simulated_queue import SimulatedQueue
from planning.what_if import simulate_json
from policies.config.context import AdmissionContext
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldPath, member
from policies.manifests.findings import Severity
from policies.manifests.wire import dumps
from policies.pods.placement import PlacementError, evaluate_manifest, prepare, read_workload
from webhook.requests.frame import RequestError
from webhook.requests.placement import most_rolled_out
from webhook.requests.score import SCORED_RULES, ScoreRequest
from webhook.requests.simulate import SimulateRequest, run
from webhook.ui.bodies import ManifestBody, RolloutBody, WhatIfBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest, request_problem
from webhook.ui.workload_detail import ExplanationText

#: Where a request has its actions.
ACTIONS: Final = FieldPath(("actions",))
#: Why nodes do not change under an edited manifest in the Evenkeel of a cluster.
_NOT_REMOTE: Final = (
    "the Evenkeel of the cluster cannot change nodes under an edited manifest: start evenkeel ui with "
    "--cluster and a snapshot"
)


def explain(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Explain where the next pod of a manifest would go, or why it fits nowhere and what would help."""
    entry = read_manifest(body.manifest, cluster.context)
    with problems_of(entry):
        found = explain_object(entry.value, cluster.state, namespace=cluster.namespace)
        return explain_json.render(found)


def score(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Evaluate every node for the next pod of a manifest."""
    entry = read_manifest(body.manifest, cluster.context)
    with problems_of(entry):
        return score_json.render(
            evaluate_manifest(entry.value, _tolerating(cluster), namespace=cluster.namespace)
        )


def _tolerating(cluster: PageCluster) -> AdmissionContext:
    """Return the context of a cluster where scores are known of pods that the API server refuses."""
    return replace(cluster.context, tolerated=SCORED_RULES)


def simulate(cluster: PageCluster, body: WhatIfBody | RolloutBody) -> bytes:
    """Schedule the replicas of a manifest one after another, or roll it out as the new revision."""
    return simulate_json.render(simulated(cluster, body))


def simulated(cluster: PageCluster, body: WhatIfBody | RolloutBody) -> SimulatedQueue | SimulatedRollout:
    """Return the answer of ``simulate``.

    Raises:
        ProblemsError: The manifest or the request is wrong.
    """
    entry, found = read_manifest(body.manifest, cluster.context), ErrorList()
    request, context = _request(cluster, body, entry), cluster.context
    request.check(found)
    applied = isinstance(body, WhatIfBody) and bool(body.applied)
    if isinstance(body, RolloutBody) or applied:
        _check_size(request, context)
    try:
        if applied:
            request = replace(request, replicas=None)
        return run(request, context, cluster.objects.known, found, applied=applied)
    except RequestError as error:
        raise ProblemsError(field_problems(error.errors, entry, below=("workload",))) from error


def _check_size(request: SimulateRequest, context: AdmissionContext) -> None:
    """Refuse to roll out more replicas than one request may; nothing is wrong with the manifest then.

    Raises:
        ProblemsError: There are more.
    """
    replicas, most = member(request.workload or {}, "spec").get("replicas"), most_rolled_out(context)
    if isinstance(replicas, int) and replicas > most:
        text = (
            f"it wants {replicas:,} replicas, and with so many nodes the page rolls out at most {most:,}: "
            f"evenkeel what-if rolls out up to {MOST_ROLLED_OUT:,} in a terminal"
        )
        raise ProblemsError([request_problem("", text)._replace(severity=Severity.WARNING)])


def _request(cluster: PageCluster, body: WhatIfBody | RolloutBody, entry: ManifestObject) -> SimulateRequest:
    """Return the request of ``/v1`` for a body, of a manifest with the number of replicas that it names."""
    obj = _named(cluster, entry)
    replaces = isinstance(body, RolloutBody) or body.applied
    return body.request(_resized(obj, body.replicas) if replaces and body.replicas is not None else obj)


def _resized(obj: dict[str, Any], replicas: int) -> dict[str, Any]:
    spec = obj.get("spec")
    # What is wrong with it is found out by who reads the request.
    return {**obj, "spec": {**spec, "replicas": replicas}} if isinstance(spec, dict) else obj


def remote_request(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Return the request of ``/v1`` about a manifest: the Evenkeel of a cluster knows no lines of it.

    Raises:
        ProblemsError: Kubernetes would refuse it, or ``/v1`` has no such request.
    """
    entry = read_manifest(body.manifest, cluster.context)
    if isinstance(body, WhatIfBody) and body.applied:
        raise ProblemsError([request_problem("applied", _NOT_REMOTE)])
    with problems_of(entry):
        workload = read_workload(entry.value, cluster.context, namespace=cluster.namespace)
        prepare(workload, cluster.context)
    if isinstance(body, RolloutBody):
        return as_json(_request(cluster, body, entry))
    return as_json(body.request(_named(cluster, entry)))


def _named(cluster: PageCluster, entry: ManifestObject) -> dict[str, Any]:
    """Return an object, which is in the page's namespace if it names none."""
    metadata = entry.value.get("metadata")
    if not isinstance(metadata, dict):
        # What is wrong with it is found out by who reads the request.
        return entry.value
    return {**entry.value, "metadata": {"namespace": cluster.namespace, **metadata}}


@contextmanager
def problems_of(entry: ManifestObject) -> Iterator[None]:
    """Report what Kubernetes would refuse by its lines."""
    try:
        yield
    except PlacementError as error:
        raise ProblemsError(field_problems(error.errors, entry)) from error


def answer_of(cluster: PageCluster, route: str, request: bytes) -> bytes:
    """Return the answer of a cluster's Evenkeel.

    Raises:
        ProblemsError: It cannot answer such a request.
        ClusterError: It does not answer, or refuses.
    """
    if cluster.remote is None:
        raise ValueError("the cluster has no Evenkeel")
    try:
        return cluster.remote(route, request)
    except DocumentError as error:
        raise ProblemsError([request_problem("", problem) for problem in error.problems]) from error


def explain_remotely(cluster: PageCluster, obj: Mapping[str, Any]) -> ExplanationText:
    """Return where the next pod of an object of the cluster would go.

    Raises:
        ClusterError: Evenkeel does not answer.
    """
    request = dumps(ScoreRequest(pod=dict(obj)))
    try:
        return ExplanationText(answer_of(cluster, "/v1/explain", request), [])
    except ProblemsError as error:
        return ExplanationText(None, error.problems)
