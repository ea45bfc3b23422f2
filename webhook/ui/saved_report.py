"""A view of the page as one file: what it is about, and a place for the answers that the browser shows."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from policies.manifests.fields import member, text_member
from policies.placement.explain.explain import explain_object
from policies.reports.actions import happening_text
from policies.reports.simulate.text import verdict as simulation_verdict
from policies.reports.words import headline
from webhook.requests.actions import actions_of
from webhook.requests.simulate import SimulateRequest
from webhook.ui import answers, embedded, placing
from webhook.ui.bodies import ReportBody, RolloutBody, ShownBody
from webhook.ui.cluster import PageCluster
from webhook.ui.cluster_map import moment
from webhook.ui.manifest import read_manifest


def report(cluster: PageCluster, body: ReportBody) -> bytes:
    """Return the file of a view of a workload, without the answers that the browser has."""
    action, ends = _explained(cluster, body) if body.view == "explain" else _simulated(cluster, body)
    entry = read_manifest(body.manifest, cluster.context)
    metadata = member(entry.value, "metadata")
    namespace = text_member(metadata, "namespace") or cluster.namespace
    title = f"{text_member(entry.value, 'kind')} {namespace}/{text_member(metadata, 'name')}"
    return _file(cluster, title=title, action=action, verdict=ends, command=body.command)


def shown(cluster: PageCluster, body: ShownBody) -> bytes:
    """Return the file of a view of the cluster, without the answers that the browser has."""
    return _file(cluster, title=body.title, action=body.action, verdict=body.verdict, command=body.command)


def _file(cluster: PageCluster, *, title: str, action: str, verdict: str, command: str) -> bytes:
    about: embedded.ReportAbout = {
        "title": title,
        "action": action,
        "verdict": verdict,
        "cluster": cluster.name or "live cluster",
        "readAt": moment(cluster.read_at),
        "writtenAt": moment(datetime.now(UTC)),
        "command": command,
    }
    document = orjson.dumps(embedded.RECORDING)
    found: answers.SavedReport = {"html": embedded.report_page("page", document, about)}
    return orjson.dumps(found)


def _explained(cluster: PageCluster, body: ReportBody) -> tuple[str, str]:
    entry = read_manifest(body.manifest, cluster.context)
    with placing.problems_of(entry):
        found = explain_object(entry.value, cluster.context, namespace=cluster.namespace)
    return "its next pod is placed", headline(found.placement, found.replaced).plain


def _simulated(cluster: PageCluster, body: ReportBody) -> tuple[str, str]:
    rolled_out = body.view == "rollout"
    asked = (
        RolloutBody(manifest=body.manifest, replicas=body.replicas, seed=body.seed) if rolled_out else body
    )
    found = placing.simulated(cluster, asked)
    actions = actions_of(body.actions or (), placing.ACTIONS)
    if rolled_out or body.applied:
        return happening_text(actions, ("rollout", body.replicas)), simulation_verdict(found)
    action = SimulateRequest(scale=body.scale, replicas=body.replicas).happening(actions)
    return action, simulation_verdict(found)
