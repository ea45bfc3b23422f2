"""Where the pods of an edited manifest would go: the answers of ``/v1``, with errors by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from policies.manifests.documents import ManifestObject
from policies.placement.explain import explain_object
from policies.placement.placement import PlacementError, place_object, prepare, read_workload
from policies.reports import explain_json, score_json
from webhook.http.scoring.place import SCORED_RULES
from webhook.http.scoring.simulate_request import simulate_request
from webhook.http.scoring.simulated import render_json
from webhook.json_request import RequestError
from webhook.ui.cluster import PageCluster
from webhook.ui.manifest import ProblemsError, as_json, field_problems, read_manifest, text_field


def explain(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Explain where the next pod of a manifest would go, or why it fits nowhere and what would help."""
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    with _problems_of(entry):
        return explain_json.render(explain_object(entry.value, cluster.context, namespace=cluster.namespace))


def score(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Evaluate every node for the next pod of a manifest."""
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    with _problems_of(entry):
        return score_json.render(
            place_object(entry.value, cluster.context, namespace=cluster.namespace, tolerated=SCORED_RULES)
        )


def simulate(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Schedule the replicas of a manifest one after another, perhaps after something happens to nodes."""
    return _simulated(cluster, body, _fields(body))


def rollout(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Roll a manifest out as the new revision of what runs, step by step."""
    return _simulated(cluster, body, {"rollout": True, "seed": body.get("seed")})


def explain_request(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Return the request of ``/v1/explain`` and ``/v1/score`` for a manifest."""
    return _request(cluster, body, "pod", {})


def simulation_request(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Return the request of ``/v1/simulate`` for what ``simulate`` is sent."""
    return _request(cluster, body, "workload", _fields(body))


def rollout_request(cluster: PageCluster, body: dict[str, Any]) -> bytes:
    """Return the request of ``/v1/simulate`` for what ``rollout`` is sent."""
    return _request(cluster, body, "workload", {"rollout": True, "seed": body.get("seed")})


def _request(cluster: PageCluster, body: dict[str, Any], member: str, fields: dict[str, Any]) -> bytes:
    """Return a request about a manifest to the Evenkeel of a cluster, which knows no lines of it."""
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    with _problems_of(entry):
        workload = read_workload(entry.value, cluster.context, namespace=cluster.namespace)
        prepare(workload, cluster.context)
    return object_request(cluster, entry, member, fields)


def object_request(
    cluster: PageCluster, entry: ManifestObject, member: str, fields: Mapping[str, Any]
) -> bytes:
    """Return a request of ``/v1`` about an object, which is in the page's namespace if it names none.

    Raises:
        ProblemsError: The object has a value that JSON has not.
    """
    metadata = entry.value.get("metadata")
    if not isinstance(metadata, dict | None):
        metadata = None  # What is wrong with it is found out by who reads the request.
    named = {"namespace": cluster.namespace, **(metadata or {})}
    obj = {**entry.value, "metadata": named} if metadata is not None else entry.value
    return as_json({**fields, member: obj})


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    """Return what is sent besides the manifest."""
    return {name: value for name, value in body.items() if name != "manifest"}


def _simulated(cluster: PageCluster, body: dict[str, Any], fields: dict[str, Any]) -> bytes:
    entry = read_manifest(text_field(body, "manifest"), cluster.context)
    request, objects = object_request(cluster, entry, "workload", fields), cluster.objects
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
