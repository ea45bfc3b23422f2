"""The OpenAPI document: valid, complete, and true of real answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from werkzeug.test import TestResponse

from docs.generator.openapi import document
from policies.model.cluster_kinds import LISTS
from tests.builders import HOSTNAME, a_constraint, a_node, a_pod, a_policy, a_workload
from tests.planning.explain.explanations import UNEVEN
from tests.planning.rollouts import a_deployment
from tests.planning.verdicts import on
from tests.policies.config.contexts import a_context, defaults
from tests.webhook.http.client import a_client
from tests.webhook.requests.bodies import CLUSTER, a_request
from tests.webhook.running import review_of
from webhook.admission.current_context import CurrentContext
from webhook.http.admission import PHASES
from webhook.http.api_routes import API_ROUTES
from webhook.http.application import create_app
from webhook.http.authorization.authorizer import ClosedAuthorizer
from webhook.http.state import ServerState

DOCUMENT = document()


def test_document_is_valid() -> None:
    """The document is OpenAPI 3.1, and its schemas are schemas."""
    validate(DOCUMENT)
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_route_is_described(state: ServerState) -> None:
    """The document has the routes of the app and of admission, with their methods, and no others."""
    app = create_app(state)[0]
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
PLACEMENTS = [
    pytest.param({}, id="a pod"),
    pytest.param({"pod": a_workload(spec={"topologySpreadConstraints": [SOFT]})}, id="a workload, scored"),
    pytest.param({"cluster": {"kind": "List", "items": [*CLUSTER["nodes"], *on("n1", 1)]}}, id="a List"),
    pytest.param({"cluster": dict.fromkeys(LISTS)}, id="nothing of each kind"),
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
LINTED = [
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
]
BROKEN = a_workload(spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]})
REVIEWED = [
    pytest.param("/validate", a_pod(), {"uid", "allowed"}, id="allowed"),
    pytest.param("/validate", BROKEN, {"uid", "allowed", "status", "auditAnnotations"}, id="denied"),
    pytest.param(
        "/mutate",
        a_workload("Deployment"),
        {"uid", "allowed", "patch", "patchType", "warnings", "auditAnnotations"},
        id="a patch, and a warning",
    ),
]
SIMULATED = [
    pytest.param({"queue": [a_pod(), {"kind": None, "spec": {"nodeName": "gone"}}]}, id="a queue"),
    pytest.param({"workload": a_workload(), "replicas": 3, "seed": 1, "runs": 3}, id="replicas, often"),
    pytest.param({"workload": a_workload(spec={"topologySpreadConstraints": [SOFT]})}, id="constraints"),
    pytest.param({"queue": [], "kubernetesVersion": "1.30", "defaults": None}, id="nothing"),
    pytest.param({"queue": [a_pod()], "nodesToScore": "adaptive"}, id="some nodes"),
    pytest.param(
        {
            "workload": a_workload(spec={"topologySpreadConstraints": [SOFT]}),
            "actions": [
                {"add": {"count": 2, "like": "n1"}},
                {"taint": {"node": "n1", "key": "team", "effect": "NoExecute"}},
                {"lose": {"topologyKey": "zone", "value": "a"}},
                {"cordon": "n2"},
            ],
        },
        id="actions",
    ),
]
AUDITED = [
    pytest.param({"cluster": CLUSTER}, id="no workload"),
    pytest.param(
        {
            "cluster": {
                "kind": "List",
                "items": [
                    *UNEVEN,
                    a_workload("Deployment", spec={"topologySpreadConstraints": [a_constraint(), SOFT]}),
                    a_workload("StatefulSet", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}),
                    a_workload("CloneSet", "apps.kruise.io"),
                ],
            },
            "top": 2,
            "kubernetesVersion": "1.33",
        },
        id="a List",
    ),
    pytest.param({"cluster": CLUSTER, "namespace": "shop", "selector": "a in (b),!c", "top": None}, id="few"),
]
ADVISED = [
    pytest.param({"workload": a_deployment(2), "loseAtMost": "1/2"}, id="a share"),
    pytest.param(
        {
            "workload": a_deployment(2, a_constraint(minDomains=9)),
            "loseAtMost": "1",
            "topologyKey": "hostname",
            "oneANode": True,
            "enforce": True,
            "replicas": {"least": 1, "most": 3},
            "nodes": {"c": 2},
        },
        id="everything",
    ),
]
#: Scenarios whose answers have lost domains within, an object that is refused, and one that is applied.
PLAYED = [
    pytest.param({}, id="what waits"),
    pytest.param({"events": [{"drain": "n1"}], "each": "zone", "unreachable": True}, id="losses"),
    pytest.param(
        {"events": [{"apply": a_deployment(3, a_constraint())}], "runs": 3, "seed": 1}, id="applied"
    ),
    pytest.param({"events": [{"apply": a_deployment(2, a_constraint(maxSkew=0))}]}, id="refused"),
    pytest.param(
        {"events": [{"release": "1.38"}], "allowMissing": 1, "autoscale": "deduced"}, id="a release"
    ),
]
#: A request that each route refuses.
REFUSED: dict[str, Any] = {
    "/v1/score": a_request(pod=3),
    "/v1/explain": a_request(x=1),
    "/v1/simulate": {"queue": 3},
    "/v1/what-if": {"events": [{"drain": "n1", "cordon": "n1"}]},
    "/v1/audit": {"selector": "a b"},
    "/v1/advise": {"workload": a_workload()},
    "/v1/lint": {"objects": [{"kind": 3}], "x": 1},
    "/validate": {"kind": "AdmissionReview"},
    "/mutate": [],
}


@pytest.mark.parametrize("path", ["/v1/score", "/v1/explain"])
@pytest.mark.parametrize("fields", PLACEMENTS)
def test_placements(state: ServerState, path: str, fields: dict[str, Any]) -> None:
    """Requests that the schema allows get answers as the schema says."""
    assert 200 == _post(state, path, a_request(**fields)).status_code


@pytest.mark.parametrize("fields", SIMULATED)
def test_simulations(state: ServerState, fields: dict[str, Any]) -> None:
    """Simulate requests that the schema allows get answers as the schema says."""
    assert 200 == _post(state, "/v1/simulate", {**fields, "cluster": CLUSTER}).status_code


@pytest.mark.parametrize("fields", PLAYED)
def test_outcomes(state: ServerState, fields: dict[str, Any]) -> None:
    """Scenarios that the schema allows get outcomes as the schema says."""
    answer = _post(state, "/v1/what-if", {**fields, "cluster": CLUSTER})

    assert 200 == answer.status_code
    assert answer.json
    assert ("refused" == answer.json["verdict"]["cause"]) is ("maxSkew': 0" in str(fields))


@pytest.mark.parametrize("fields", AUDITED)
def test_audits(state: ServerState, fields: dict[str, Any]) -> None:
    """Audit requests that the schema allows get answers as the schema says."""
    assert 200 == _post(state, "/v1/audit", fields).status_code


@pytest.mark.parametrize("fields", ADVISED)
def test_advice(state: ServerState, fields: dict[str, Any]) -> None:
    """Advise requests that the schema allows get answers as the schema says."""
    assert 200 == _post(state, "/v1/advise", {**fields, "cluster": CLUSTER}).status_code


@pytest.mark.parametrize("path", [path for path, route in API_ROUTES.items() if route.screen])
def test_texts(state: ServerState, path: str) -> None:
    """A text for people is one of the answers that the document names."""
    requests: dict[str, Any] = {
        "/v1/what-if": {},
        "/v1/audit": {},
        "/v1/advise": ADVISED[0].values[0],
    }
    request = requests.get(path, a_request())
    answer = a_client(state).post(path, json=request | {"cluster": CLUSTER}, headers={"Accept": "text/plain"})
    _validate(answer, path, "post")

    assert "text/plain" == answer.mimetype


@pytest.mark.parametrize("objects", LINTED)
def test_lint_reports(state: ServerState, objects: object) -> None:
    """Lint requests that the schema allows get reports as the schema says."""
    assert 200 == _post(state, "/v1/lint", {"objects": objects}).status_code


@pytest.mark.parametrize(("path", "obj", "fields"), REVIEWED)
def test_reviews(state: ServerState, path: str, obj: dict[str, Any], fields: set[str]) -> None:
    """Reviews are answered as the schema says, whatever becomes of the object."""
    state = replace(state, current=CurrentContext(a_context(a_policy(defaults=defaults("both")))))
    answer = _post(state, path, orjson.loads(review_of(obj))).json

    assert answer is not None
    assert fields == answer["response"].keys()


@pytest.mark.parametrize("path", [path for path, item in DOCUMENT["paths"].items() if "post" in item])
def test_errors(state: ServerState, path: str) -> None:
    """Every route that reads a body refuses a bad one as the schema says; a new route has its line here."""
    answer = a_client(state).post(path, json=REFUSED[path])
    _validate(answer, path, "post")

    assert 400 == answer.status_code
    assert answer.json
    assert path == "/mutate" or answer.json["details"]


@pytest.mark.parametrize("path", [path for path, item in DOCUMENT["paths"].items() if "get" in item])
@pytest.mark.parametrize("draining", [False, True], ids=["ready", "draining"])
def test_pages(state: ServerState, path: str, draining: bool) -> None:  # noqa: FBT001
    """The pages for who operates the server are as the document says, also where they are refused."""
    state = replace(state, draining=draining, access=ClosedAuthorizer() if draining else state.access)
    answer = a_client(state).get(path)
    _validate(answer, path, "get")

    assert (path in ("/readyz", "/metrics") and draining) == (answer.status_code != 200)


def test_a_field_more_or_less_is_refused(state: ServerState) -> None:
    """The schema of an answer closes every object, so that no field can be forgotten in it."""
    answer = _post(state, "/v1/explain", a_request()).json
    validator = _validator(DOCUMENT["components"]["schemas"]["ExplainAnswer"])
    changed = list(_changed(answer))

    assert len(changed) > 50
    assert [] == [way for way, value in changed if validator.is_valid(value)]


def _post(state: ServerState, path: str, body: dict[str, Any]) -> TestResponse:
    """Send a request that the document allows; the answer is as it says."""
    content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    _validator(content["schema"]).validate(body)
    answer = a_client(state).post(path, json=body)
    _validate(answer, path, "post")
    return answer


def _validate(answer: TestResponse, path: str, method: str) -> None:
    response = DOCUMENT["paths"][path][method]["responses"][str(answer.status_code)]
    schema = response["content"][answer.mimetype]["schema"]
    _validator(schema).validate(answer.json if answer.is_json else answer.text)
    for header in response.get("headers", {}):
        assert header in answer.headers


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def _changed(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a document with one field more, and with each one less, in each of its objects."""
    if isinstance(value, dict):
        yield "more", {**value, "more": 1}
        for name, inner in value.items():
            yield name, {other: value[other] for other in value if other != name}
            for way, changed in _changed(inner):
                yield f"{name}.{way}", {**value, name: changed}
    if isinstance(value, list):
        for position, inner in enumerate(value):
            for way, changed in _changed(inner):
                yield f"{position}.{way}", [*value[:position], changed, *value[position + 1 :]]
