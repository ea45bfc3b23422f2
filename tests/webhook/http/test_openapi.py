"""The OpenAPI document: valid, complete, and true of real answers."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from tests.builders import a_constraint, a_pod, a_policy, a_workload
from tests.policies.reports.explanations import UNEVEN
from tests.policies.reports.verdicts import HOSTNAME, a_node, on
from tests.webhook.http.client import a_client
from tests.webhook.http.scoring.requests import CLUSTER, a_request
from webhook.http.admission import PHASES
from webhook.http.flask_app import create_app
from webhook.http.openapi import document
from webhook.http.state import ServerState

DOCUMENT = document()


def _validator(name: str) -> Draft202012Validator:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return Draft202012Validator(schema)


def test_document_is_valid() -> None:
    """The document is OpenAPI 3.1, and its schemas are schemas."""
    validate(DOCUMENT)
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_route_is_described(state: ServerState) -> None:
    """The document has the routes of the app and of admission, with their methods, and no others."""
    app = create_app(state)
    routes = {
        (rule.rule, method.lower()) for rule in app.url_map.iter_rules() for method in rule.methods or ()
    }
    wanted = {(path, "post") for path in PHASES} | {
        (path, method) for path, method in routes if method not in ("head", "options")
    }

    assert wanted == {(path, method) for path, item in DOCUMENT["paths"].items() for method in item}


def test_document_is_served(state: ServerState) -> None:
    """The server answers the document."""
    assert a_client(state).get("/openapi.json").json == DOCUMENT


SOFT = a_constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
REQUESTS = [
    pytest.param({}, id="a pod"),
    pytest.param({"pod": a_workload(spec={"topologySpreadConstraints": [SOFT]})}, id="a workload, scored"),
    pytest.param({"cluster": {"kind": "List", "items": [*CLUSTER["nodes"], *on("n1", 1)]}}, id="a List"),
    pytest.param({"cluster": {"nodes": None}}, id="no nodes"),
    pytest.param({"cluster": {"nodes": [a_node("n1")]}}, id="a node without the key"),
    pytest.param({"defaults": {"defaultingType": "System"}, "pod": a_pod()}, id="defaults"),
    pytest.param({"kubernetesVersion": "1.27"}, id="another release"),
    pytest.param({"pod": a_pod(spec={"nodeName": "gone"})}, id="it fits nowhere"),
    pytest.param({"cluster": {"nodes": UNEVEN[:3], "pods": UNEVEN[3:]}}, id="it fits nowhere for now"),
    pytest.param(
        {"pod": a_pod(spec={"topologySpreadConstraints": [a_constraint(labelSelector=None)]})},
        id="no selector",
    ),
]


@pytest.mark.parametrize("fields", REQUESTS)
def test_real_answers(state: ServerState, fields: dict[str, Any]) -> None:
    """Requests that the schema allows get answers as the schema says."""
    request = a_request(**fields)
    _validator("ScoreRequest").validate(request)
    answer = a_client(state).post("/v1/score", json=request)

    assert 200 == answer.status_code
    _validator("ScoreAnswer").validate(answer.json)

    explanation = a_client(state).post("/v1/explain", json=request)

    assert 200 == explanation.status_code
    _validator("Explanation").validate(explanation.json)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"queue": [a_pod(), {"kind": None, "spec": {"nodeName": "gone"}}]}, id="a queue"),
        pytest.param({"workload": a_workload(), "replicas": 3, "seed": 1}, id="replicas"),
        pytest.param({"workload": a_workload(spec={"topologySpreadConstraints": [SOFT]})}, id="constraints"),
        pytest.param({"queue": [], "kubernetesVersion": "1.30", "defaults": None}, id="nothing"),
    ],
)
def test_real_simulations(state: ServerState, request_: dict[str, Any]) -> None:
    """The same of simulations."""
    request = request_ | {"cluster": CLUSTER}
    _validator("SimulateRequest").validate(request)
    answer = a_client(state).post("/v1/simulate", json=request)

    assert 200 == answer.status_code, answer.text
    _validator("Simulation").validate(answer.json)


@pytest.mark.parametrize("fields", [{"x": 1}, {"pod": 3}, {"cluster": {"pots": []}}, {"pod": a_policy()}])
def test_real_errors(state: ServerState, fields: dict[str, Any]) -> None:
    """Errors are as the schema says."""
    answer = a_client(state).post("/v1/score", json=a_request(**fields))

    assert 400 == answer.status_code
    _validator("Error").validate(answer.json)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="nothing"),
        pytest.param([a_workload(spec={"topologySpreadConstraints": [SOFT, {}]})], id="findings"),
        pytest.param({"apiVersion": "v1", "kind": "List", "items": [a_pod()]}, id="a List"),
        pytest.param(
            [
                a_workload(
                    annotations={"evenkeel.dev/ignore": "max-skew-not-positive: why"},
                    spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]},
                )
            ],
            id="suppressed",
        ),
    ],
)
def test_real_lint_answers(state: ServerState, objects: object) -> None:
    """Lint requests that the schema allows get reports as the schema says."""
    request = {"objects": objects}
    _validator("LintRequest").validate(request)
    answer = a_client(state).post("/v1/lint", json=request)

    assert 200 == answer.status_code
    _validator("LintReport").validate(answer.json)
