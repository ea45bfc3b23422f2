"""Where pods would go, as numbers for programs or as text for people."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from policies.placement.core.placement import Placement
from policies.placement.explain.explain import explain_object
from policies.reports.advise import json as advise_json
from policies.reports.advise import text as advise_text
from policies.reports.explain import json as explain_json
from policies.reports.explain import text as explain_text
from policies.reports.score import json as score_json
from policies.reports.score import text as score_table
from policies.scheduler.rejections import EVERY_NODE, EXAMPLES
from webhook.http.api import ApiCall, ApiReply
from webhook.requests import simulated
from webhook.requests.advise import advise_request
from webhook.requests.score import evaluate_request, place_for_scores
from webhook.requests.screen import FEASIBLE_NODES, PENDING_PODS
from webhook.requests.simulate import simulate_request


def score(call: ApiCall) -> ApiReply:
    """Evaluate every node for one pod."""
    found = evaluate_request(call.body, call.context, place_for_scores)
    return _reply(call, found, partial(score_json.render, found), partial(score_table.render, found))


def explain(call: ApiCall) -> ApiReply:
    """Explain where a pod would go, or why it fits nowhere and what would help."""
    examples = EVERY_NODE if call.wide else EXAMPLES
    found = evaluate_request(call.body, call.context, partial(explain_object, examples=examples))
    as_json, as_text = partial(explain_json.render, found), partial(explain_text.render, found)
    reply = _reply(call, found.placement, as_json, as_text)
    if found.replaced is None or found.replaced.pending is None:
        return reply
    return reply._replace(headers={**reply.headers, PENDING_PODS: str(found.replaced.pending)})


def simulate(call: ApiCall) -> ApiReply:
    """Schedule pods one after another, each bound before the next; or roll a workload out, or scale it."""
    found, screen = simulate_request(call.body, call.context), call.screen
    return ApiReply(
        simulated.render_json(found)
        if screen is None
        else simulated.render_text(found, width=screen.columns, color=screen.color),
        simulated.counts(found),
        {PENDING_PODS: str(found.pending)},
    )


def advise(call: ApiCall) -> ApiReply:
    """Find the constraints with which a workload reaches a goal, and prove it by simulation."""
    found, screen = advise_request(call.body, call.context), call.screen
    workload, nodes = found.workload, found.trial.prepared.cluster.node_count
    return ApiReply(
        advise_json.render(found)
        if screen is None
        else advise_text.render(found, width=screen.columns, color=screen.color),
        {
            "kind": workload.kind.name,
            "ns": workload.namespace,
            "name": workload.name,
            "nodes": nodes,
            "reached": found.is_met,
        },
        {},
    )


def _reply(
    call: ApiCall, placement: Placement, as_json: Callable[[], bytes], as_text: Callable[..., str]
) -> ApiReply:
    screen, feasible = call.screen, placement.result.feasible_count
    body = (
        as_text(width=screen.columns, color=screen.color, wide=screen.wide)
        if screen is not None
        else as_json()
    )
    name = placement.workload.metadata.get("name")
    return ApiReply(
        body,
        {
            "kind": placement.workload.kind.name,
            "ns": placement.workload.namespace,
            "name": name if isinstance(name, str) else "",
            "nodes": len(placement.result.names),
            "feasible": feasible,
        },
        {FEASIBLE_NODES: str(feasible)},
    )
