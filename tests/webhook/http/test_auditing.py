"""POST /v1/audit without a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.workload_kinds import WorkloadKinds
from tests.builders import a_constraint, a_node, a_workload
from tests.planning.verdicts import on
from tests.policies.scheduler.clusters import an_index
from tests.webhook.http.client import a_client
from webhook.admission.current_context import CurrentContext
from webhook.http.state import ServerState
from webhook.settings import Settings

WEB = a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint()]})
ITEMS: list[dict[str, Any]] = [a_node("n1", "a"), a_node("n2", "b"), *on("n1", 3), WEB]


@pytest.fixture
def own(state: ServerState) -> ServerState:
    """A server with a cluster of its own."""
    workloads = ClusterWorkloads(WorkloadKinds())
    for obj in ITEMS:
        workloads(obj)
    current = CurrentContext(replace(state.current.context, cluster=an_index(ITEMS)))
    return replace(state, current=current, workloads=lambda: workloads)


def test_json_and_text(own: ServerState) -> None:
    """The answer is the command's, for programs or for people."""
    client = a_client(own)
    answer = client.post("/v1/audit", json={}).json
    text = client.post("/v1/audit?columns=60", json={}, headers={"Accept": "text/plain"})

    assert answer is not None
    assert ("evenkeel.dev/audit/v1", 1) == (answer["schema"], answer["total"])
    assert {"violated": 1, "one-domain": 1} == answer["risks"]
    assert "2026-11-20T00:00:00Z" == answer["generatedAt"]
    assert "StatefulSet shop/web: 3 of 1 pods" in text.text
    assert 60 >= max(map(len, text.text.splitlines()))


def test_no_cluster(state: ServerState) -> None:
    """Without any cluster, or while the server's is too old, only requests with their own are answered."""
    request = {"cluster": {"kind": "List", "items": ITEMS}}
    old = replace(state, current=CurrentContext(state.current.context.without_cluster("too old")))

    assert [400, 503] == [a_client(each).post("/v1/audit", json={}).status_code for each in (state, old)]
    assert [200, 200] == [a_client(each).post("/v1/audit", json=request).status_code for each in (state, old)]


def test_time_is_over(own: ServerState) -> None:
    """The answer comes before the request's timeout, and says what it lacks."""
    hurried = replace(own, settings=Settings(self_signed=True, request_timeout_s=2.0))
    hurried.monotonic = lambda: -100.0
    answer = a_client(hurried).post("/v1/audit", json={}).json

    assert answer is not None
    assert (0, 1) == (answer["total"], answer["left"])
    assert ["Ended early; objects that were not looked at: 1"] == answer["notes"]
