"""POST /v1/score, /v1/explain and /v1/simulate without a server: what is read, answered and refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.builders import a_pod, a_workload
from tests.webhook.http.client import a_client
from tests.webhook.requests.bodies import a_body, a_request
from webhook.admission.current_context import CurrentContext
from webhook.http.state import ServerState

JSON = "application/json"


@pytest.mark.parametrize("route", ["/v1/score", "/v1/explain"])
@pytest.mark.parametrize(
    ("call", "status"),
    [
        pytest.param({}, 200, id="200: a request"),
        pytest.param({"content_type": "Application/JSON; charset=utf-8"}, 200, id="200: with a charset"),
        pytest.param({"data": b"{"}, 400, id="400: no JSON"),
        pytest.param({"data": b" "}, 400, id="400: a space"),
        pytest.param({"data": a_body(cluster=None)}, 400, id="400: no cluster"),
        pytest.param({"method": "GET"}, 405, id="405: GET"),
        pytest.param({"method": "PUT"}, 405, id="405: PUT"),
        pytest.param({"data": b""}, 411, id="411: no length"),
        pytest.param({"data": b" " * 5000}, 413, id="413: 5,000 bytes"),
        pytest.param({"content_type": "text/plain"}, 415, id="415: text"),
        pytest.param({"content_type": None}, 415, id="415: no type"),
    ],
)
def test_statuses(state: ServerState, call: dict[str, Any], status: int, route: str) -> None:
    """A bad request gets its own status, and the one shape of errors."""
    state = replace(state, settings=replace(state.settings, max_score_body_bytes=4000))
    call = {"method": "POST", "data": a_body(), "content_type": JSON, **call}
    answer = a_client(state).open(route, **call)

    assert (status, JSON) == (answer.status_code, answer.mimetype)
    assert answer.json is not None
    assert status == 200 or {"error", "details"} == answer.json.keys()
    assert status != 405 or "POST" in answer.headers["Allow"]


def test_errors_have_paths(state: ServerState) -> None:
    """Every error of a request is told with its path."""
    broken = a_request(cluster={"nodes": [3]}, kubernetesVersion=3)
    answer = a_client(state).post("/v1/score", json=broken).json

    assert answer is not None
    assert ["cluster.nodes[0]", "kubernetesVersion"] == [entry["field"] for entry in answer["details"]]


@pytest.mark.parametrize(
    ("route", "line"),
    [("/v1/score", "FITS   SCORE   RAW   TOTAL   WHY NOT"), ("/v1/explain", "Constraints in force")],
)
def test_text_for_people(state: ServerState, route: str, line: str) -> None:
    """Who accepts text gets what the command prints, as wide as asked for; JSON is the default."""
    client = a_client(state)
    wide, narrow = (
        client.post(f"{route}?columns={columns}", json=a_request(), headers={"Accept": "text/plain"})
        for columns in (200, 30)
    )

    assert ("text/plain", "1") == (wide.mimetype, wide.headers["Evenkeel-Feasible-Nodes"])
    assert line in wide.text
    assert 30 >= max(map(len, narrow.text.splitlines()))
    assert JSON == client.post(route, json=a_request(), headers={"Accept": "*/*"}).mimetype


def test_bad_columns(state: ServerState) -> None:
    """A width that is none is an error of the request."""
    headers = {"Accept": "text/plain"}
    answer = a_client(state).post("/v1/score?columns=x", json=a_request(), headers=headers)

    assert 400 == answer.status_code


def test_a_picture_that_is_too_old(state: ServerState) -> None:
    """While the cluster's picture cannot be used, only requests with their own cluster are answered."""
    state = replace(state, current=CurrentContext(state.current.context.without_cluster("too old")))
    client = a_client(state)
    answer = client.post("/v1/score", json=a_request(cluster=None))

    assert (503, "too old") == (answer.status_code, answer.json and answer.json["error"])
    assert 200 == client.post("/v1/score", json=a_request()).status_code


def test_busy(state: ServerState) -> None:
    """While as much is scored as may be, others are told to come again at once, and later succeed."""
    state = replace(state, settings=replace(state.settings, threads=2))
    client = a_client(state)
    with state.computing.enter(large=False):
        answer = client.post("/v1/score", json=a_request())

        assert (503, "1") == (answer.status_code, answer.headers["Retry-After"])
    assert 200 == client.post("/v1/score", json=a_request()).status_code


def test_a_simulation(state: ServerState) -> None:
    """A header says how many pods stay pending."""
    body = a_request(pod=None) | {"queue": [a_pod(), a_pod(name="gone", spec={"nodeName": "gone"})]}
    client = a_client(state)
    answer = client.post("/v1/simulate", json=body)

    assert answer.json is not None
    assert ("1", 1) == (answer.headers["Evenkeel-Pending-Pods"], answer.json["pending"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"[]", 400, id="400: no object"),
        pytest.param(b'{"queue": ' + b"[" * 3000 + b"]" * 3000 + b"}", 400, id="400: deep"),
        pytest.param(orjson.dumps({"queue": [{}] * 300}), 400, id="400: pods that are none"),
        pytest.param(orjson.dumps({"queue": [], "seed": 2**63}), 400, id="400: a large number"),
        pytest.param(b'{"workload": {"kind": "Pod"}, "replicas": 1e400}', 400, id="400: no number"),
        pytest.param(orjson.dumps({"workload": a_workload(), "replicas": 150_000}), 400, id="400: much work"),
    ],
)
def test_hostile_simulations(state: ServerState, body: bytes, status: int) -> None:
    """Requests that would take long or are invalid are rejected at once, with the place of the mistake."""
    answer = a_client(state).post("/v1/simulate", data=body, content_type=JSON)

    assert status == answer.status_code, answer.text
    assert answer.json is not None
    assert {"error", "details"} == answer.json.keys()
