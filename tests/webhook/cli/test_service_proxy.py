"""Asking the Evenkeel of a cluster through the API server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from policies.manifests.errors import DocumentError
from tests.webhook.http.authorization.control_plane import CLIENT, OWN_TOKEN, ControlPlane, a_control_plane
from tests.webhook.http.client import a_client
from tests.webhook.requests.bodies import a_body
from webhook.cli.service_proxy import Installation, NotInstalledError
from webhook.http.authorization.authorizer import DecisionCache, KubernetesAuthorizer
from webhook.http.authorization.token_reviewer import TokenReviewer
from webhook.http.state import ServerState
from webhook.kube.api_server import ApiError
from webhook.rbac import account_of, proxied

TEXT, JSON = "text/plain", "application/json"
TOKEN = "/api/v1/namespaces/evenkeel/serviceaccounts/evenkeel-client/token"
PROXY = "/api/v1/namespaces/evenkeel/services/https:evenkeel-api:https/proxy"


@pytest.fixture
def plane(state: ServerState, tmp_path: Path) -> Iterator[ControlPlane]:
    """A cluster with an Evenkeel that asks the API server who calls; its clients may use every route."""
    with a_control_plane() as plane:
        guard = KubernetesAuthorizer(
            TokenReviewer(plane.api(tmp_path)), DecisionCache(), places=4, count=lambda _result: None
        )
        plane.app = a_client(replace(state, access=guard))
        plane.rights.add((CLIENT, "create", "placements.evenkeel.dev"))
        yield plane


def test_answers(plane: ControlPlane, tmp_path: Path) -> None:
    """The answer is Evenkeel's; it never sees the credentials of who asks."""
    installation = Installation(plane.api(tmp_path), "evenkeel")
    text = installation.post("/v1/explain", a_body(), accept=TEXT, query={"columns": "60"})
    values = installation.post("/v1/score", a_body(), accept=JSON)
    reviewed = [request.body["spec"]["token"] for request in plane.asked if "tokenreviews" in request.path]

    assert b"fits 1 of 2 nodes" in text.body
    assert ("1", "1") == tuple(answer.headers["evenkeel-feasible-nodes"] for answer in (text, values))
    assert values.body.startswith(b"{")
    assert 1 == plane.paths().count(TOKEN)
    assert OWN_TOKEN not in reviewed


def test_the_token_is_renewed(plane: ControlPlane, tmp_path: Path) -> None:
    """Another token is asked for after half of the time of the last one."""
    now = [0.0]
    installation = Installation(plane.api(tmp_path), "evenkeel", now=lambda: now[0])
    for now[0] in (0, 299, 301):
        installation.post("/v1/score", a_body(), accept=JSON)

    assert 2 == plane.paths().count(TOKEN)


@pytest.mark.parametrize("namespace", ["evenkeel", "elsewhere"])
def test_nothing_installed(plane: ControlPlane, tmp_path: Path, namespace: str) -> None:
    """Without Service or service account there is nobody to ask."""
    plane.app = plane.app if namespace == "elsewhere" else None
    with pytest.raises(NotInstalledError, match=namespace):
        Installation(plane.api(tmp_path), namespace).post("/v1/score", a_body(), accept=JSON)


@pytest.mark.parametrize("path", [TOKEN, f"{PROXY}/v1/score"])
def test_forbidden(plane: ControlPlane, tmp_path: Path, path: str) -> None:
    """Who may not ask is told what to have granted, on one line."""
    plane.forbidden.add(path)
    with pytest.raises(ApiError) as caught:
        Installation(plane.api(tmp_path), "evenkeel").post("/v1/score", a_body(), accept=JSON)

    assert caught.value.forbidden
    assert "serviceaccounts/token evenkeel-client" in str(caught.value)
    assert "services/proxy https:evenkeel-api:https" in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


def test_another_name(plane: ControlPlane, tmp_path: Path) -> None:
    """An installation of another name has another Service and another account."""
    installation = Installation(plane.api(tmp_path), "evenkeel", service="keel")
    with pytest.raises(NotInstalledError):
        installation.post("/v1/score", a_body(), accept=JSON)

    assert {"https:keel-api:https", "keel-client"} == {proxied("keel"), account_of("keel")}


def test_evenkeel_refuses_a_caller(plane: ControlPlane, tmp_path: Path) -> None:
    """A right that its client lacks is told in Evenkeel's words."""
    plane.rights.clear()
    with pytest.raises(ApiError, match=r"may not create placements\.evenkeel\.dev"):
        Installation(plane.api(tmp_path), "evenkeel").post("/v1/explain", a_body(), accept=JSON)


def test_evenkeel_refuses_a_request(plane: ControlPlane, tmp_path: Path) -> None:
    """Errors of a request are reported in Evenkeel's words, those of its form first."""
    installation = Installation(plane.api(tmp_path), "evenkeel")
    with pytest.raises(DocumentError) as bad:
        installation.post("/v1/score", a_body(pod={}, kubernetesVersion="x"), accept=JSON)

    assert ["pod"] == [line.split(": ")[1] for line in bad.value.problems]


def test_a_route_that_a_release_does_not_have(plane: ControlPlane, tmp_path: Path) -> None:
    """A route that an installation does not have is reported as another release."""
    with pytest.raises(NotInstalledError, match="another release"):
        Installation(plane.api(tmp_path), "evenkeel").post("/v1/unheard-of", a_body(), accept=JSON)


def test_an_older_release(plane: ControlPlane, tmp_path: Path) -> None:
    """An answer of another type than was asked for is told, not printed."""
    with pytest.raises(ApiError, match="another release"):
        Installation(plane.api(tmp_path), "evenkeel").post("/v1/score", a_body(), accept="text/csv")
