"""The routes of the API. The server routes, authorizes, limits, logs and describes requests by this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policies.reports.advise.json import AdviseAnswer
from policies.reports.audit.json import AuditAnswer
from policies.reports.explain.json import ExplainAnswer
from policies.reports.lint.json import LintReport
from policies.reports.score.answer import ScoreAnswer
from policies.reports.simulate.json import SimulateAnswer
from webhook.http.api import ApiRoute
from webhook.http.views.auditing import audit
from webhook.http.views.linting import lint
from webhook.http.views.scoring import advise, explain, score, simulate
from webhook.rbac import Resource
from webhook.requests.advise import AdviseRequest
from webhook.requests.audit import AuditRequest
from webhook.requests.lint import LintRequest
from webhook.requests.score import ScoreRequest
from webhook.requests.screen import FEASIBLE_NODES, PENDING_PODS
from webhook.requests.simulate import SimulateRequest
from webhook.settings import Settings


def _score_limit(settings: Settings) -> int:
    return settings.max_score_body_bytes


def _body_limit(settings: Settings) -> int:
    return settings.max_body_bytes


_SCORE: Final = ApiRoute(
    score,
    ScoreRequest,
    ScoreAnswer,
    Resource.PLACEMENTS,
    _score_limit,
    event="scored",
    headers={FEASIBLE_NODES: "Nodes that the pod fits."},
    screen=("columns", "color", "wide"),
)

#: Every route of the API, by its path.
API_ROUTES: Final[Mapping[str, ApiRoute]] = {
    "/v1/score": _SCORE,
    "/v1/explain": _SCORE._replace(compute=explain, answer=ExplainAnswer),
    "/v1/simulate": _SCORE._replace(
        compute=simulate,
        request=SimulateRequest,
        answer=SimulateAnswer,
        headers={PENDING_PODS: "Pods that got no node."},
        screen=("columns", "color"),
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
    "/v1/lint": ApiRoute(lint, LintRequest, LintReport, Resource.LINT_REPORTS, _body_limit, event="linted"),
}
