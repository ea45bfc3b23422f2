"""The OpenAPI document of every route, for programs that talk to the server and the people who write them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from webhook.admission.review import API_VERSION
from webhook.http.scoring.explain_schemas import EXPLAIN_SCHEMAS
from webhook.http.scoring.schemas import SCHEMAS
from webhook.http.scoring.screen import DEFAULT_COLUMNS, FEASIBLE_NODES, MOST_COLUMNS, PENDING_PODS
from webhook.http.scoring.simulate_schemas import SIMULATE_SCHEMAS
from webhook.lint.request import lint_schemas
from webhook.rbac import PROXIED_HEADER
from webhook.schema_forms import Schema

#: The version of the format.
OPENAPI: Final = "3.1.1"

_ERROR: Final[Schema] = {
    "type": "object",
    "description": "Every error of every route.",
    "required": ["error", "details"],
    "additionalProperties": False,
    "properties": {
        "error": {"type": "string"},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "additionalProperties": False,
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}

_REVIEW: Final[Schema] = {
    "type": "object",
    "required": ["apiVersion", "kind"],
    "properties": {"apiVersion": {"const": API_VERSION}, "kind": {"const": "AdmissionReview"}},
}

#: What each refusal of a body means.
_REFUSALS: Final[Mapping[int, str]] = {
    400: "The body is not what it should be; details name every field.",
    408: "The body did not arrive in time.",
    411: "The body has no length.",
    413: "The body is too large, or the answer takes too much memory.",
    415: "The body is not application/json.",
    500: "The server failed; its log says why.",
}
_LATE: Final = {504: "The answer takes too long."}
_BUSY: Final = {503: "As many requests are being answered as may be at once, or who calls cannot be asked."}
#: What each refusal of a caller means.
_STRANGERS: Final[Mapping[int, str]] = {
    401: "The route requires authentication, and the token is missing or invalid.",
    403: "The caller lacks a permission, or the server cannot check it.",
}
_NO_CERTIFICATE: Final = {403: "The server was started with --client-ca, and no client certificate came."}

#: How a caller says who it is. The last stands for none at all: a server on loopback, with --self-signed or
#: --access open, asks nobody.
_SECURITY: Final[list[dict[str, list[str]]]] = [{"token": []}, {"proxiedToken": []}, {}]
_SECURITY_SCHEMES: Final[dict[str, Schema]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A Kubernetes token for the audience evenkeel; for /metrics also one for the API "
        "server. Its owner needs a right in the API group evenkeel.dev: create placements for /v1/score, "
        "/v1/explain and /v1/simulate, create lintreports for /v1/lint, get metrics for /metrics.",
    },
    "proxiedToken": {
        "type": "apiKey",
        "in": "header",
        "name": PROXIED_HEADER,
        "description": "Bearer and a Kubernetes token for the audience evenkeel: for callers through the API "
        "server's proxy, which takes the header Authorization for itself.",
    },
}

_SCREEN: Final[list[dict[str, Any]]] = [
    {
        "name": "columns",
        "in": "query",
        "description": "Columns of a text.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST_COLUMNS, "default": DEFAULT_COLUMNS},
    },
    {
        "name": "color",
        "in": "query",
        "description": "Whether a text has a terminal's colors.",
        "schema": {"type": "boolean", "default": False},
    },
    {
        "name": "wide",
        "in": "query",
        "description": "Whether all nodes are named, however many: in a text, and of an explanation in JSON.",
        "schema": {"type": "boolean", "default": False},
    },
]


def document() -> dict[str, Any]:
    """Return the document, OpenAPI 3.1."""
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "Evenkeel",
            "version": version("evenkeel"),
            "description": "Keeps Kubernetes workloads spread over nodes, racks and zones.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/v1/score": {"post": _scoring("score", "Judge every node for one pod.", "ScoreAnswer")},
            "/v1/explain": {
                "post": _scoring("explain", "Explain where a pod would go, or why nowhere.", "Explanation")
            },
            "/v1/simulate": {"post": _simulation()},
            "/v1/lint": {
                "post": _guarded(
                    _posted("lint", "Ask the linter's rules of objects.", "LintRequest", "LintReport")
                )
                | {"tags": ["manifests"]}
            },
            "/validate": {"post": _admission("validate", "Check an object.")},
            "/mutate": {"post": _admission("mutate", "Inject default constraints into a new object.")},
            "/livez": {"get": _page("livez", "Whether the process lives.")},
            "/readyz": {"get": _page("readyz", "Whether requests should come here.", also={503: "Not now."})},
            "/metrics": {
                "get": _guarded(_page("metrics", "Prometheus metrics.", media_type="text/plain"), _BUSY)
            },
            "/openapi.json": {"get": _page("openapi", "This document.")},
        },
        "components": {
            "schemas": {
                **SCHEMAS,
                **EXPLAIN_SCHEMAS,
                **SIMULATE_SCHEMAS,
                **lint_schemas(),
                "Error": _ERROR,
                "AdmissionReview": _REVIEW,
            },
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _scoring(name: str, summary: str, answer: str) -> dict[str, Any]:
    """Return the operation that answers a score request."""
    operation = _guarded(_posted(name, summary, "ScoreRequest", answer))
    return _readable(operation, _SCREEN, FEASIBLE_NODES, "Nodes that the pod fits.")


def _simulation() -> dict[str, Any]:
    summary = "Schedule pods one after another, each bound before the next."
    operation = _guarded(_posted("simulate", summary, "SimulateRequest", "Simulation"))
    screen = [parameter for parameter in _SCREEN if parameter["name"] != "wide"]
    return _readable(operation, screen, PENDING_PODS, "Pods that got no node.")


def _readable(
    operation: dict[str, Any], screen: list[dict[str, Any]], header: str, meaning: str
) -> dict[str, Any]:
    """Return an operation whose answer may be had as JSON or as text, with a number in a header."""
    success = operation["responses"]["200"]
    success["content"]["text/plain"] = {"schema": {"type": "string", "description": "For a person."}}
    success["headers"] = {header: {"description": meaning, "schema": {"type": "integer", "minimum": 0}}}
    return operation | {"parameters": screen, "tags": ["placement"]}


def _guarded(operation: dict[str, Any], also: Mapping[int, str] | None = None) -> dict[str, Any]:
    """Return an operation that asks who calls."""
    responses = operation["responses"] | _errors({**_STRANGERS, **(also or {})})
    return operation | {"security": _SECURITY, "responses": responses}


def _admission(name: str, summary: str) -> dict[str, Any]:
    review = "AdmissionReview"
    operation = _posted(name, summary, review, review)
    for status in _BUSY | _LATE:
        del operation["responses"][str(status)]
    operation["responses"] |= _errors(_NO_CERTIFICATE)
    return operation | {"tags": ["admission"]}


def _posted(name: str, summary: str, request: str, answer: str) -> dict[str, Any]:
    """Return the operation that answers one JSON document with another."""
    return {
        "operationId": name,
        "summary": summary,
        "requestBody": {"required": True, "content": _content(request)},
        "responses": {
            "200": {"description": "The answer.", "content": _content(answer)},
            **_errors({**_REFUSALS, **_BUSY, **_LATE}),
        },
    }


def _page(
    name: str, summary: str, *, media_type: str = "application/json", also: Mapping[int, str] | None = None
) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {}}
    others = {str(status): {"description": text, "content": content} for status, text in (also or {}).items()}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["operation"],
        "responses": {"200": {"description": summary, "content": content}, **others},
    }


def _content(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _errors(texts: Mapping[int, str]) -> dict[str, Any]:
    return {
        str(status): {"description": text, "content": _content("Error")} for status, text in texts.items()
    }
