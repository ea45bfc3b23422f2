"""Guarded routes and open ones, and the threads that make their answers."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.webhook.http.client import a_client
from tests.webhook.requests.bodies import a_body
from webhook.http.api import GUARDED
from webhook.http.application import create_app
from webhook.http.authorization.authorizer import ClosedAuthorizer
from webhook.http.authorization.token_reviewer import AccessDecision, Result
from webhook.http.state import ServerState
from webhook.rbac import Resource

#: The guarded routes, and what each shows.
SHOWN = {
    ("POST", "/v1/score"): "placements",
    ("POST", "/v1/explain"): "placements",
    ("POST", "/v1/simulate"): "placements",
    ("POST", "/v1/what-if"): "placements",
    ("POST", "/v1/audit"): "placements",
    ("POST", "/v1/advise"): "placements",
    ("POST", "/v1/lint"): "lintreports",
    ("GET", "/metrics"): "metrics",
}
OPEN = ["/livez", "/readyz", "/openapi.json"]


@dataclass(frozen=True)
class Always:
    """Decides always the same."""

    result: Result

    def check(self, environ: Mapping[str, Any], resource: Resource) -> AccessDecision:
        return AccessDecision(result=self.result, message=f"{environ['PATH_INFO']}: {resource}")


class Unread(io.BytesIO):
    """A body that nobody may read."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("it was read")

    readinto = readline = read  # type: ignore[assignment]


@pytest.mark.parametrize("route", SHOWN, ids=" ".join)
@pytest.mark.parametrize(
    ("result", "status", "header"),
    [
        pytest.param(Result.UNAUTHENTICATED, 401, ("WWW-Authenticate", 'Bearer realm="evenkeel"'), id="401"),
        pytest.param(Result.DENIED, 403, ("Content-Type", "application/json"), id="403"),
        pytest.param(Result.ERROR, 503, ("Retry-After", "1"), id="503"),
    ],
)
def test_refusals(
    state: ServerState, route: tuple[str, str], result: Result, status: int, header: tuple[str, str]
) -> None:
    """Who is not let in is told why in the one shape of errors, and the body stays unread."""
    method, path = route
    client = a_client(replace(state, access=Always(result)))
    answer = client.open(path, method=method, input_stream=Unread(a_body()), content_type="application/json")

    assert (status, header[1]) == (answer.status_code, answer.headers[header[0]])
    assert {"error": f"{path}: {SHOWN[route]}", "details": []} == answer.json


def test_every_route_is_guarded_or_open(state: ServerState) -> None:
    """A route that is added shows nothing before somebody decides who may see it."""
    routes = {
        (method, rule.rule)
        for rule in create_app(state)[0].url_map.iter_rules()
        for method in (rule.methods or set()) - {"OPTIONS", "HEAD"}
    }
    guarded = {(method, path) for path, route in GUARDED.items() for method in route.methods - {"HEAD"}}

    assert routes == guarded | {("GET", path) for path in OPEN}
    assert guarded == set(SHOWN)


@pytest.mark.parametrize("path", OPEN)
def test_open_routes(state: ServerState, path: str) -> None:
    """Probes and the description of the routes need no token."""
    state = replace(state, access=ClosedAuthorizer())

    assert 200 == a_client(state).get(path).status_code


def test_nobody_is_let_in_where_nothing_is_said(state: ServerState) -> None:
    """A server that was not told whom to answer answers nobody."""
    state = ServerState(
        settings=state.settings,
        current=state.current,
        telemetry=state.telemetry,
        events=state.events,
    )

    assert 403 == a_client(state).get("/metrics").status_code
