"""POST /v1/lint without a server: what is read, answered and refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.builders import a_constraint, a_workload
from tests.webhook.http.client import a_client
from webhook.http.state import ServerState

JSON = "application/json"
BAD = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
BODY = orjson.dumps({"objects": [BAD]})


@pytest.mark.parametrize(
    ("call", "status"),
    [
        pytest.param({}, 200, id="200: a request"),
        pytest.param({"data": b"{"}, 400, id="400: no JSON"),
        pytest.param({"data": b"{}"}, 400, id="400: no objects"),
        pytest.param({"method": "GET"}, 405, id="405: GET"),
        pytest.param({"data": b""}, 411, id="411: no length"),
        pytest.param({"data": b" " * 5000}, 413, id="413: 5,000 bytes"),
        pytest.param({"content_type": "text/plain"}, 415, id="415: text"),
    ],
)
def test_statuses(state: ServerState, call: dict[str, Any], status: int) -> None:
    """A bad request gets its own status, and the one shape of errors."""
    state = replace(state, settings=replace(state.settings, max_body_bytes=4000))
    call = {"method": "POST", "data": BODY, "content_type": JSON, **call}
    answer = a_client(state).open("/v1/lint", **call)

    assert (status, JSON) == (answer.status_code, answer.mimetype)
    assert answer.json is not None
    assert status == 200 or {"error", "details"} == answer.json.keys()


def test_report(state: ServerState) -> None:
    """The answer is the report that ``evenkeel lint -o json`` prints."""
    answer = a_client(state).post("/v1/lint", data=BODY, content_type=JSON).json

    assert answer is not None
    assert "evenkeel.dev/lint/v1" == answer["schema"]
    assert (1, 1, True) == (
        answer["summary"]["workloads"],
        answer["summary"]["errors"],
        answer["summary"]["failed"],
    )
    assert [("max-skew-not-positive", "objects[0]", None)] == [
        (finding["rule"], finding["file"], finding["line"]) for finding in answer["findings"]
    ]


def test_busy(state: ServerState) -> None:
    """While as many requests are answered as may be, others are told to come again."""
    state = replace(state, settings=replace(state.settings, threads=2))
    client = a_client(state)
    with state.computing.enter(large=False):
        answer = client.post("/v1/lint", data=BODY, content_type=JSON)

        assert (503, "1") == (answer.status_code, answer.headers["Retry-After"])
    assert 200 == client.post("/v1/lint", data=BODY, content_type=JSON).status_code
