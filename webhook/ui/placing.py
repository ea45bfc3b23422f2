"""Where the pods of an edited manifest would go: the answers of ``/v1``, with errors by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from policies.manifests.documents import ManifestObject
from policies.placement.explain import explain_object
from policies.placement.placement import PlacementError
from policies.reports import explain_json, score_json
from webhook.http.scoring.place import place_for_scores
from webhook.http.scoring.simulate_request import simulate_request
from webhook.http.scoring.simulated import render_json
from webhook.json_request import RequestError
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest, text_field


def explain(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Explain where the next pod of a manifest would go, or why it fits nowhere and what would help."""
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    with _problems_of(entry):
        return explain_json.render(explain_object(entry.value, cluster.context))


def score(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Evaluate every node for the next pod of a manifest."""
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    with _problems_of(entry):
        return score_json.render(place_for_scores(entry.value, cluster.context))


def simulate(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Schedule the replicas of a manifest one after another, perhaps after something happens to nodes."""
    return _simulated(cluster, body, {name: body[name] for name in body if name != "manifest"})


def rollout(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Roll a manifest out as the new revision of what runs, step by step."""
    return _simulated(cluster, body, {"rollout": True, "seed": body.get("seed")})


def _simulated(cluster: PageCluster, body: dict[str, Any], fields: dict[str, Any]) -> bytes:
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    request = orjson.dumps(fields | {"workload": orjson.Fragment(as_json(entry))})
    objects = cluster.objects
    try:
        return render_json(simulate_request(request, cluster.context, objects.running, objects.known))
    except RequestError as error:
        raise ProblemsError(field_problems(error.errors, entry, below=("workload",))) from error


@contextmanager
def _problems_of(entry: ManifestObject) -> Iterator[None]:
    """Report what Kubernetes would refuse by its lines."""
    try:
        yield
    except PlacementError as error:
        raise ProblemsError(field_problems(error.errors, entry)) from error
