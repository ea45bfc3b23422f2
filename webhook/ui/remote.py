"""The Evenkeel of a live cluster in place of an index, for a person who may not list nodes and pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.manifests.errors import DocumentError
from policies.manifests.wire import dumps
from webhook.requests.score import ScoreRequest
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, request_problem
from webhook.ui.workload_detail import ExplanationText


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
