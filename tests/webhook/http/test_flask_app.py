"""The pages beside the admission routes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

import pytest

from tests.webhook.http.client import a_client
from webhook.http.api_routes import API_ROUTES
from webhook.http.state import ServerState
from webhook.telemetry.metrics import Telemetry


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/livez", 200),
        ("HEAD", "/livez", 200),
        ("OPTIONS", "/livez", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/nowhere", 404),
        ("PUT", "/metrics", 405),
    ],
)
def test_routes(state: ServerState, method: str, path: str, status: int) -> None:
    """The pages answer by method, and errors are JSON."""
    answer = a_client(state).open(path, method=method)

    assert status == answer.status_code
    if status >= 400:
        assert answer.json is not None
        assert {"error", "details"} == answer.json.keys()


@pytest.mark.parametrize("path", ["/", "/v1"])
def test_what_is_no_route(state: ServerState, path: str) -> None:
    """Who asks for nothing in particular reads which routes there are."""
    answer = a_client(state).get(path)

    assert answer.json is not None
    assert {*API_ROUTES, "/readyz", "/openapi.json"} <= set(re.split("[ ,]+", answer.json["error"]))


def test_our_own_bug_is_json(state: ServerState) -> None:
    """A page that fails answers JSON, never a page of HTML."""
    broken = replace(state, telemetry=cast("Telemetry", None))
    answer = a_client(broken).get("/metrics")

    assert 500 == answer.status_code
    assert {"error": "GET /metrics: internal server error", "details": []} == answer.json
