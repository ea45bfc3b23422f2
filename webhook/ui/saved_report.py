"""A view of the page as a report in one file, as ``-o html`` writes it."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from policies.manifests.errors import UsageError
from policies.manifests.fields import member, text_member
from policies.placement.explain.explain import explain_object
from policies.reports.explain import json as explain_json
from policies.reports.simulate import json as simulate_json
from policies.reports.simulate.words import happening_text, verdict
from policies.reports.words import headline
from webhook.requests.actions import actions_of
from webhook.requests.simulate import SimulateRequest
from webhook.ui import answers, embedded, placing
from webhook.ui.bodies import ReportBody, RolloutBody
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import moment
from webhook.ui.manifest import ProblemsError, read_manifest, request_problem


def report(cluster: PageCluster, body: ReportBody) -> bytes:
    """Return what a view shows as a report."""
    kind, document, action, ends = (
        _explained(cluster, body) if body.view == "explain" else _simulated(cluster, body)
    )
    entry = read_manifest(body.manifest, cluster.context)
    metadata = member(entry.value, "metadata")
    namespace = text_member(metadata, "namespace") or cluster.namespace
    about: embedded.ReportAbout = {
        "title": f"{text_member(entry.value, 'kind')} {namespace}/{text_member(metadata, 'name')}",
        "action": action,
        "verdict": ends,
        "cluster": cluster.name or "live cluster",
        "readAt": moment(cluster.read_at),
        "writtenAt": moment(datetime.now(UTC)),
        "command": body.command,
    }
    try:
        found: answers.SavedReport = {"html": embedded.report_page(kind, document, about)}
    except UsageError as error:
        raise ProblemsError([request_problem("view", str(error))]) from error
    return orjson.dumps(found)


def _explained(cluster: PageCluster, body: ReportBody) -> tuple[str, bytes, str, str]:
    entry = read_manifest(body.manifest, cluster.context)
    with placing.problems_of(entry):
        found = explain_object(entry.value, cluster.context, namespace=cluster.namespace)
    ends = headline(found.placement, found.replaced).plain
    return "explain", explain_json.render(found), "its next pod is placed", ends


def _simulated(cluster: PageCluster, body: ReportBody) -> tuple[str, bytes, str, str]:
    rolled_out = body.view == "rollout"
    asked = (
        RolloutBody(manifest=body.manifest, replicas=body.replicas, seed=body.seed) if rolled_out else body
    )
    found = placing.simulated(cluster, asked)
    actions = actions_of(body.actions or (), placing.ACTIONS)
    if rolled_out or body.applied:
        action = happening_text(actions, ("rollout", body.replicas))
    else:
        action = SimulateRequest(scale=body.scale, replicas=body.replicas).happening(actions)
    return "simulate", simulate_json.render(found), action, verdict(found)
