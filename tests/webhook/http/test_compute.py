"""The answers to requests that take too much, or whose answers are never made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.webhook.http import broken_answers
from tests.webhook.http.client import a_client
from tests.webhook.requests.bodies import a_body, a_request
from webhook.http import api
from webhook.http.state import ServerState

JSON = "application/json"
#: Small bodies with very many objects: the first may be read, the second holds more than may be.
MANY_PODS, TOO_MANY_PODS = (
    a_body(cluster={"pods": ["?"]}).replace(b'"?"', b"{}," * many + b"{}") for many in (1_000_000, 1_500_000)
)


@pytest.mark.parametrize(
    ("settings", "body", "status", "reason"),
    [
        pytest.param(
            {"request_timeout_s": 0.05}, MANY_PODS, 504, "timeout", id="504: 1,000,000 pods in 50 ms"
        ),
        pytest.param({"max_request_memory_bytes": 1}, a_body(), 413, "memory", id="413: two pods in 1 byte"),
        pytest.param({}, TOO_MANY_PODS, 413, "memory", id="413: 1,500,000 pods"),
    ],
)
def test_limits(state: ServerState, settings: dict[str, Any], body: bytes, status: int, reason: str) -> None:
    """A request that takes too much is told which limit it met; it is counted, and others are answered."""
    state = replace(state, settings=replace(state.settings, **settings))
    answer = a_client(state).post("/v1/score", data=body, content_type=JSON)

    assert (status, JSON) == (answer.status_code, answer.mimetype)
    assert answer.json is not None
    assert {"error", "details"} == answer.json.keys()
    assert f'evenkeel_requests_limited_total{{reason="{reason}"}} 1.0' in state.telemetry.render().decode()


def test_killed(state: ServerState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever kills the process that computes an answer leaves no client without one."""
    monkeypatch.setattr(api, "answer", broken_answers.killed)
    answer = a_client(state).post("/v1/score", json=a_request())

    assert (500, JSON) == (answer.status_code, answer.mimetype)


def test_own_errors(state: ServerState, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of ours in another process is logged with its place there, and answered as any."""
    monkeypatch.setattr(api, "answer", broken_answers.wrong)
    answer = a_client(state).post("/v1/score", json=a_request())

    assert (500, JSON) == (answer.status_code, answer.mimetype)
