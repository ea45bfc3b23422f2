"""Where the pods of an edited manifest would go: the answers of ``/v1``, with errors by line.

For a person who may not list nodes and pods the Evenkeel of a live cluster answers, in place of an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from planning.explain import json as explain_json
from planning.explain import score_json
from planning.explain.explain import explain_object
from policies.config.context import AdmissionContext
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.wire import dumps
from policies.pods.placement import PlacementError, evaluate_manifest, prepare, read_workload
from webhook.requests.score import SCORED_RULES, ScoreRequest
from webhook.ui.bodies import ManifestBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest, request_problem
from webhook.ui.workload_detail import ExplanationText


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


def remote_request(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Return the request of ``/v1`` about a manifest: the Evenkeel of a cluster knows no lines of it.

    Raises:
        ProblemsError: Kubernetes would refuse it, or ``/v1`` has no such request.
    """
    entry = read_manifest(body.manifest, cluster.context)
    with problems_of(entry):
        workload = read_workload(entry.value, cluster.context, namespace=cluster.namespace)
        prepare(workload, cluster.context)
    return as_json(ScoreRequest(pod=named_object(cluster, entry)))


def named_object(cluster: PageCluster, entry: ManifestObject) -> dict[str, Any]:
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
