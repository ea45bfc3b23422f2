"""Where the pods of an edited manifest would go: the answers of ``/v1``, with errors by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from policies.manifests.documents import ManifestObject
from policies.manifests.fields import ErrorList, FieldPath
from policies.placement.core.placement import PlacementError, evaluate_manifest, prepare, read_workload
from policies.placement.explain.explain import explain_object
from policies.reports.explain import json as explain_json
from policies.reports.score import json as score_json
from webhook.requests.frame import RequestError
from webhook.requests.score import SCORED_RULES
from webhook.requests.simulate import run
from webhook.requests.simulated import render_json
from webhook.ui.bodies import ManifestBody, RolloutBody, WhatIfBody
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest


def explain(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Explain where the next pod of a manifest would go, or why it fits nowhere and what would help."""
    entry = read_manifest(body.manifest, cluster.context)
    with _problems_of(entry):
        return explain_json.render(explain_object(entry.value, cluster.context, namespace=cluster.namespace))


def score(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Evaluate every node for the next pod of a manifest."""
    entry = read_manifest(body.manifest, cluster.context)
    with _problems_of(entry):
        return score_json.render(
            evaluate_manifest(
                entry.value, cluster.context, namespace=cluster.namespace, tolerated=SCORED_RULES
            )
        )


def simulate(cluster: PageCluster, body: WhatIfBody | RolloutBody) -> bytes:
    """Schedule the replicas of a manifest one after another, or roll it out as the new revision."""
    entry, found, objects = read_manifest(body.manifest, cluster.context), ErrorList(), cluster.objects
    request = body.request(_named(cluster, entry))
    request.check(FieldPath(), found)
    try:
        return render_json(run(request, cluster.context, found, objects.running, objects.known))
    except RequestError as error:
        raise ProblemsError(field_problems(error.errors, entry, below=("workload",))) from error


def remote_request(cluster: PageCluster, body: ManifestBody) -> bytes:
    """Return the request of ``/v1`` about a manifest: the Evenkeel of a cluster knows no lines of it."""
    entry = read_manifest(body.manifest, cluster.context)
    with _problems_of(entry):
        workload = read_workload(entry.value, cluster.context, namespace=cluster.namespace)
        prepare(workload, cluster.context)
    return as_json(body.request(_named(cluster, entry)))


def _named(cluster: PageCluster, entry: ManifestObject) -> dict[str, Any]:
    """Return an object, which is in the page's namespace if it names none."""
    metadata = entry.value.get("metadata")
    if not isinstance(metadata, dict):
        # What is wrong with it is found out by who reads the request.
        return entry.value
    return {**entry.value, "metadata": {"namespace": cluster.namespace, **metadata}}


@contextmanager
def _problems_of(entry: ManifestObject) -> Iterator[None]:
    """Report what Kubernetes would refuse by its lines."""
    try:
        yield
    except PlacementError as error:
        raise ProblemsError(field_problems(error.errors, entry)) from error
