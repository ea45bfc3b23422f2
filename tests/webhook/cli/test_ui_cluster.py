"""The cluster that the page shows: read whole, or through Evenkeel by a person who may not list it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.config.context import AdmissionContext
from tests.builders import a_constraint
from tests.policies.scheduler.clusters import an_index
from tests.webhook.http.authorization.control_plane import CLIENT, ControlPlane, a_control_plane
from tests.webhook.http.client import a_client
from tests.webhook.ui.pages import DEPLOYMENT, PageClient, a_cluster
from webhook.admission.current_context import CurrentContext
from webhook.cli.live import api_server
from webhook.cli.placement_options import PlacementOptions
from webhook.cli.ui_cluster import read_page_cluster
from webhook.http.authorization.authorizer import DecisionCache, KubernetesAuthorizer
from webhook.http.authorization.token_reviewer import TokenReviewer
from webhook.http.state import ServerState
from webhook.kube.api_server import ApiError
from webhook.ui.readings import PageState

LIVE = PlacementOptions(live=True)
WEB = "/api/workload?kind=Deployment&namespace=shop&name=web"
MANIFEST = yaml.safe_dump(DEPLOYMENT)


@pytest.fixture
def plane(state: ServerState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlPlane]:
    """A cluster with an Evenkeel, whose context has the namespace shop."""
    with a_control_plane() as plane:
        guard = KubernetesAuthorizer(
            TokenReviewer(plane.api(tmp_path)), DecisionCache(), places=4, count=lambda _result: None
        )
        context = AdmissionContext(policies=(), cluster=an_index(a_cluster()))
        plane.app = a_client(replace(state, access=guard, current=CurrentContext(context)))
        plane.objects = a_cluster()
        plane.rights.add((CLIENT, "create", "placements.evenkeel.dev"))
        plane.gets["/apis/apps/v1/namespaces/shop/deployments/web"] = DEPLOYMENT
        monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig(tmp_path)))
        api_server.cache_clear()
        yield plane


@pytest.fixture
def limited(plane: ControlPlane) -> ControlPlane:
    """The same for a person who may list no nodes, and in the namespace no StatefulSets."""
    plane.forbidden = {"/api/v1/nodes", "/apis/apps/v1/namespaces/shop/statefulsets"}
    listed = {"deployments": "Deployment", "replicasets": "ReplicaSet"}
    for plural, kind in listed.items():
        plane.gets[f"/apis/apps/v1/namespaces/shop/{plural}"] = _list(kind)
    plane.gets["/api/v1/namespaces/shop/pods"] = _list("Pod")
    return plane


def _list(kind: str) -> dict[str, Any]:
    items = [obj for obj in a_cluster() if obj["kind"] == kind]
    return {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}


def _client(options: PlacementOptions = LIVE) -> PageClient:
    return PageClient(PageState.of(read_page_cluster(options)))


def test_a_live_cluster(plane: ControlPlane) -> None:
    """Everything is read with the person's own rights, and Evenkeel is not asked."""
    client = _client()
    found = client.get("/api/cluster").json or {}

    assert ["na", "nb", "nc"] == found["nodes"]["names"]
    assert ("live", []) == (found["source"]["kind"], found["source"]["notes"])
    assert "/proxy/" not in "".join(plane.paths())
    detail = client.get(WEB).json or {}
    assert DEPLOYMENT == yaml.safe_load(detail["manifest"])


@pytest.mark.usefixtures("limited")
def test_what_is_shown_without_the_right_to_list_nodes() -> None:
    """The workloads of the namespace, and why there is no map and no audit."""
    client = _client()
    client.state.audit.start()
    found = client.get("/api/cluster").json or {}
    audit = client.get("/api/workloads").json or {}
    pending = client.get("/api/pending").json or {}

    assert ([], ["web"]) == (found["nodes"]["names"], found["workloads"]["name"])
    assert 2 == len(found["source"]["notes"]), found["source"]["notes"]
    assert (True, []) == (audit["done"], audit["workloads"])
    assert "nodes" in audit["error"]
    assert [("0/3 nodes are available", None)] == [
        (group["pods"][0]["condition"], group["feasibleNodes"]) for group in pending["groups"]
    ]


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        pytest.param("/api/explain", {}, "constraints", id="explain"),
        pytest.param("/api/score", {}, "nodes", id="score"),
        pytest.param("/api/what-if", {"events": [{"drain": "na"}]}, "outcome", id="what if"),
    ],
)
@pytest.mark.usefixtures("limited")
def test_evenkeel_answers(plane: ControlPlane, path: str, body: dict[str, Any], member: str) -> None:
    """Requests to the model go to the Evenkeel in the cluster, which knows the nodes."""
    answer = _client().post(path, {"manifest": MANIFEST, **body})

    assert 200 == answer.status_code, answer.json
    assert (answer.json or {})[member]
    assert "/proxy/v1/" in plane.paths()[-1]


@pytest.mark.usefixtures("limited")
def test_a_workload_through_evenkeel() -> None:
    """It is fetched with the person's own rights, and explained by Evenkeel."""
    found = _client().get(WEB).json or {}

    assert 3 == found["explain"]["nodes"]
    assert DEPLOYMENT == yaml.safe_load(found["manifest"])


@pytest.mark.usefixtures("limited")
def test_errors_have_lines_all_the_same() -> None:
    """Errors of a manifest are found here, where its lines are known."""
    broken = {**DEPLOYMENT, "spec": json.loads(json.dumps(DEPLOYMENT["spec"]))}
    broken["spec"]["template"]["spec"]["topologySpreadConstraints"] = [a_constraint(maxSkew=0)]
    text = yaml.safe_dump(broken)
    answer = _client().post("/api/explain", {"manifest": text})

    assert 400 == answer.status_code
    (problem,) = (answer.json or {})["problems"]
    assert "maxSkew: 0" in text.splitlines()[problem["line"] - 1]


def test_what_evenkeel_refuses(limited: ControlPlane) -> None:
    """Its own words reach the page; if it is gone by then, that is said, too."""
    client = _client()
    events = [{"drain": "nowhere"}]
    refused = client.post("/api/what-if", {"manifest": MANIFEST, "events": events})
    limited.app = None
    gone = client.post("/api/explain", {"manifest": MANIFEST})

    assert 400 == refused.status_code
    assert "no such node" in (refused.json or {})["error"]
    assert 502 == gone.status_code
    assert "not installed" in (gone.json or {})["error"]


def test_neither_way(limited: ControlPlane) -> None:
    """Without the right and without Evenkeel, the error is about the right."""
    limited.app = None

    with pytest.raises(ApiError, match="have list granted"):
        read_page_cluster(LIVE)


@pytest.mark.usefixtures("limited")
def test_options_that_evenkeel_does_not_know() -> None:
    """A policy of the command line does not count there, and that is said."""
    notes = read_page_cluster(replace(LIVE, policy=("builtin:default",))).notes

    assert 1 == sum("--policy does not count" in note for note in notes)
