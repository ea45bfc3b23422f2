"""The answers of the page's routes: each has the form that its type says."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest

from docs.generator.type_schema import standalone_schema
from tests.waiting import eventually
from tests.webhook.ui.pages import DEPLOYMENT, PageClient, a_client
from webhook.ui.manifest import PageError
from webhook.ui.routes import ROUTES

MANIFEST = json.dumps(DEPLOYMENT)
#: The requests to each route: a query, or a body besides the manifest.
REQUESTS: dict[str, list[Any]] = {
    "/api/cluster": [None],
    "/api/reading": [None],
    "/api/refresh": [{}],
    "/api/workloads": [None],
    "/api/workload": [
        {"kind": kind, "namespace": "shop", "name": name}
        for kind, name in (("Deployment", "web"), ("Pod", "web-1"), ("Pod", "web-3"))
    ],
    "/api/node": [{"name": "na"}],
    "/api/pods": [{"name": "web"}, {"name": "SHOP/web-3"}, {"name": "nothing"}],
    "/api/pending": [None],
    "/api/open": [{}],
    "/api/check": [{}, {"manifest": "a: ["}, {"manifest": "{apiVersion: v1, kind: Pod}"}],
    "/api/explain": [{}],
    "/api/score": [{}],
    "/api/what-if": [
        {},
        {"manifest": None, "each": "zone"},
        {"manifest": None, "events": [{"drain": "na"}, {"add": {"like": "na", "count": 2}}]},
        {"workloads": [{"kind": "Deployment", "namespace": "shop", "name": "web"}]},
    ],
    "/api/shown": [{"manifest": None, "title": "Cluster", "action": "", "verdict": "", "command": ""}],
    "/api/suggest": [
        {"edits": [{"path": ["spec", "replicas"], "old": 4, "new": 5, "field": "spec.replicas"}]}
    ],
    "/api/patch": [{"original": MANIFEST.replace("web:1", "web:2")}],
}


@pytest.fixture(scope="module")
def client() -> PageClient:
    """A client of a page whose audit is done."""
    client = a_client()
    client.state.audit.start()
    eventually(lambda: (client.get("/api/workloads").json or {})["done"])
    return client


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_answers_have_the_form_of_their_types(client: PageClient, route: Any) -> None:
    """The answers have the form of the page's TypeScript types."""
    for request in REQUESTS[route.path]:
        if route.body is None and route.method == "GET":
            answer = client.get(f"{route.path}?{urlencode(request or {})}")
        else:
            body = {"manifest": MANIFEST, **request}
            # A body may have no manifest.
            given = {name: value for name, value in body.items() if value is not None}
            answer = client.post(route.path, given)

        assert 200 == answer.status_code, answer.json
        jsonschema.validate(answer.json, standalone_schema(route.answer, "", ""))


def test_errors_have_the_form_of_their_type(client: PageClient) -> None:
    """An error names every field with its line in the manifest."""
    text = "{apiVersion: v1, kind: Pod,\nspec: {topologySpreadConstraints: [{maxSkew: 0}]}}"
    answer = client.post("/api/explain", {"manifest": text})

    assert 400 == answer.status_code
    assert answer.json is not None
    jsonschema.validate(answer.json, standalone_schema(PageError, "", ""))
    found = {(problem["line"], problem["field"].rpartition(".")[2]) for problem in answer.json["problems"]}
    assert {(2, "maxSkew"), (2, "topologyKey"), (2, "whenUnsatisfiable")} <= found
