"""The routes of the API: what each is given and returns, the functions that compute, and the table.

The server routes, authorizes, limits, logs and describes requests by this table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeVar

from planning.advise import json as advise_json
from planning.advise import text as advise_text
from planning.advise.json import AdviseAnswer
from planning.audit import json as audit_json
from planning.audit import text as audit_text
from planning.audit.json import AuditAnswer
from planning.explain import json as explain_json
from planning.explain import score_json
from planning.explain import score_text as score_table
from planning.explain import text as explain_text
from planning.explain.json import ExplainAnswer
from planning.explain.score_answer import ScoreAnswer
from planning.simulation.outcome import Outcome
from planning.what_if import simulate_json
from planning.what_if import text as outcome_text
from planning.what_if.simulate_json import SimulateAnswer
from policies.config.context import AdmissionContext
from policies.lint.reports import json as lint_json
from policies.lint.reports.json import LintReport
from policies.manifests.fields import text_member
from policies.manifests.wire import Received, dumps
from policies.model.cluster_workloads import ClusterWorkloads
from policies.pods.known_pods import UNREAD_PODS
from policies.pods.placement import Placement
from policies.scheduler.rejections import EVERY_NODE, EXAMPLES
from webhook.distribution import release
from webhook.rbac import Resource
from webhook.requests.advise import AdviseRequest, advise_request
from webhook.requests.audit import AuditRequest, audit_request
from webhook.requests.frame import FEASIBLE_NODES, PENDING_PODS, Screen
from webhook.requests.lint import LintRequest, lint_request
from webhook.requests.score import ExplainRequest, ScoreRequest, explain_request, place_request
from webhook.requests.simulate import SimulateRequest, simulate_request
from webhook.requests.what_if import WhatIfRequest, Work, what_if_request
from webhook.settings import Settings
from webhook.telemetry.logs import Value


class ApiCall(NamedTuple):
    """One request."""

    body: bytes  #: The request, JSON.
    context: AdmissionContext  #: What holds where the request leaves something out.
    now: datetime  #: The time, UTC; exemptions expire by its day.
    screen: Screen | None  #: What the answer is shown on; None if it is for a program.
    wide: bool  #: Whether nothing is left out, however much it is.
    workloads: ClusterWorkloads | None  #: The workloads of the server's cluster; None without one.
    #: When an answer that can be partial should have what it has, on the clock of ``time.monotonic``; some of
    #: the timeout is left to write it.
    deadline: float


class ApiReply(NamedTuple):
    """The answer to a request."""

    body: str | bytes  #: JSON, or the text for the screen.
    fields: Mapping[str, Value]  #: What is logged of it.
    headers: Mapping[str, str] = {}  #: What it is sent with.


class ApiRoute(NamedTuple):
    """One route; it is called with POST."""

    #: Computes an answer, in a child process, or raises RequestError. The first line of its docstring is the
    #: summary of the route.
    compute: Callable[[ApiCall], ApiReply]
    request: type[Received]  #: The type of the request.
    answer: type  #: The TypedDict of the answer.
    resource: Resource  #: What its callers must have the right to create.
    limit: Callable[[Settings], int]  #: Returns the most bytes that a body may have.
    event: str  #: What an answer is called in the log.
    headers: Mapping[str, str] = {}  #: What the headers of an answer mean, by name; all of them are numbers.
    #: What of a ``Screen`` its text for people goes by; nothing where there is no such text.
    screen: Collection[str] = ()


_Found = TypeVar("_Found")


def score(call: ApiCall) -> ApiReply:
    """Evaluate every node for one pod."""
    found = place_request(call.body, call.context)
    return _reply(found, _rendered(found, score_json.render, score_table.render, call.screen))


def explain(call: ApiCall) -> ApiReply:
    """Explain where a pod would go, or why it fits nowhere and what would help."""
    examples = EVERY_NODE if call.wide else EXAMPLES
    found = explain_request(call.body, call.context, UNREAD_PODS, call.workloads, examples)
    as_text = partial(explain_text.render, wide=call.wide)
    reply = _reply(found.placement, _rendered(found, explain_json.render, as_text, call.screen))
    if found.played is None:
        return reply
    # Whoever asks for a verdict alone reads it here.
    pending = 0 if found.succeeds else max(found.played.found.pending, 1)
    return reply._replace(headers={**reply.headers, PENDING_PODS: str(pending)})


def simulate(call: ApiCall) -> ApiReply:
    """Schedule pods one after another, each bound before the next."""
    found = simulate_request(call.body, call.context, UNREAD_PODS)
    queue = found.queue
    counts = {"nodes": queue.cluster.node_count, "pods": len(queue.pods), "pending": found.pending}
    return ApiReply(simulate_json.render(found), counts, {PENDING_PODS: str(found.pending)})


def what_if(call: ApiCall) -> ApiReply:
    """Play what happens to a cluster, and tell what becomes of its workloads."""
    work = Work(stop=lambda: time.monotonic() >= call.deadline)
    found = what_if_request(call.body, call.context, UNREAD_PODS, call.workloads, work)
    return ApiReply(
        _rendered(found, dumps, partial(outcome_text.render, wide=call.wide), call.screen),
        {
            "nodes": found.nodes.before,
            "events": len(found.scenario.events),
            "workloads": len(found.workloads),
            "cause": found.verdict.cause,
        },
    )


def advise(call: ApiCall) -> ApiReply:
    """Find the constraints with which a workload reaches a goal, and prove it by simulation."""
    found = advise_request(call.body, call.context, UNREAD_PODS, call.workloads)
    workload, nodes = found.workload, found.trial.prepared.cluster.node_count
    return ApiReply(
        _rendered(found, advise_json.render, advise_text.render, call.screen),
        {
            "kind": workload.kind.name,
            "ns": workload.namespace,
            "name": workload.name,
            "nodes": nodes,
            "reached": found.is_met,
        },
    )


def _reply(placement: Placement, body: str | bytes) -> ApiReply:
    """Return the reply with where one pod may go."""
    feasible = placement.result.feasible_count
    return ApiReply(
        body,
        {
            "kind": placement.workload.kind.name,
            "ns": placement.workload.namespace,
            "name": text_member(placement.workload.metadata, "name"),
            "nodes": len(placement.result.names),
            "feasible": feasible,
        },
        {FEASIBLE_NODES: str(feasible)},
    )


def lint(call: ApiCall) -> ApiReply:
    """Run the linter's rules on objects, as ``evenkeel lint -o json`` does."""
    run = lint_request(call.body, call.context, today=call.now.date(), tool_version=release())
    fields = {
        "objects": len(run.files),
        "workloads": run.result.workloads,
        "findings": len(run.result.findings),
    }
    return ApiReply(lint_json.render(run), fields)


def audit(call: ApiCall) -> ApiReply:
    """Audit how every workload of a cluster is spread now, the riskiest first."""
    run = audit_request(
        call.body,
        call.context,
        call.workloads,
        now=call.now,
        tool_version=release(),
        stop=lambda: time.monotonic() >= call.deadline,
    )
    return ApiReply(
        _rendered(run, audit_json.render, audit_text.render, call.screen),
        {"nodes": run.cluster.nodes, "workloads": run.total, "problems": run.with_problems, "left": run.left},
    )


def _rendered(
    found: _Found, as_json: Callable[[_Found], bytes], as_text: Callable[..., str], screen: Screen | None
) -> str | bytes:
    """Return an answer for a program, or for the screen of a person."""
    return as_json(found) if screen is None else as_text(found, width=screen.columns, color=screen.color)


_SCORE: Final = ApiRoute(
    score,
    ScoreRequest,
    ScoreAnswer,
    Resource.PLACEMENTS,
    lambda settings: settings.max_score_body_bytes,
    event="scored",
    headers={FEASIBLE_NODES: "Nodes that the pod fits."},
    screen=("columns", "color", "wide"),
)

#: Every route of the API, by its path.
API_ROUTES: Final[Mapping[str, ApiRoute]] = {
    "/v1/score": _SCORE,
    "/v1/explain": _SCORE._replace(compute=explain, request=ExplainRequest, answer=ExplainAnswer),
    "/v1/simulate": _SCORE._replace(
        compute=simulate,
        request=SimulateRequest,
        answer=SimulateAnswer,
        headers={PENDING_PODS: "Pods that got no node."},
        screen=(),
    ),
    "/v1/what-if": _SCORE._replace(
        compute=what_if, request=WhatIfRequest, answer=Outcome, event="played", headers={}
    ),
    "/v1/audit": _SCORE._replace(
        compute=audit,
        request=AuditRequest,
        answer=AuditAnswer,
        event="audited",
        headers={},
        screen=("columns", "color"),
    ),
    "/v1/advise": _SCORE._replace(
        compute=advise,
        request=AdviseRequest,
        answer=AdviseAnswer,
        event="advised",
        headers={},
        screen=("columns", "color"),
    ),
    "/v1/lint": ApiRoute(
        lint,
        LintRequest,
        LintReport,
        Resource.LINT_REPORTS,
        lambda settings: settings.max_body_bytes,
        event="linted",
    ),
}
