"""The OpenAPI document of every route, for programs that talk to the server and the people who write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from http import HTTPStatus
from typing import Any, Final, get_type_hints

from deploy.release.project import VERSION
from docs.generator.type_schema import Definitions, Schema, attribute_docs, summary, type_schema
from webhook.admission.review import API_VERSION, ReviewAnswer
from webhook.http.api_routes import API_ROUTES, ApiRoute
from webhook.http.application import ProbeAnswer
from webhook.http.problems import JSON, ErrorAnswer
from webhook.rbac import PROXIED_HEADER
from webhook.requests.frame import Screen

#: The version of the format.
OPENAPI: Final = "3.1.1"
#: Where the document keeps the schemas of types.
_SCHEMAS: Final = "#/components/schemas/"

#: What a review needs and gets; Kubernetes documents the rest.
_REVIEW: Final[Schema] = {
    "type": "object",
    "description": "An AdmissionReview, as Kubernetes documents it.",
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
_BUSY: Final = {503: "Too many requests are being answered, or the caller cannot be reviewed."}
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
        "server. Its owner needs a right in the API group evenkeel.dev: get metrics for /metrics"
        + "".join(f", create {route.resource} for {path}" for path, route in API_ROUTES.items())
        + ".",
    },
    "proxiedToken": {
        "type": "apiKey",
        "in": "header",
        "name": PROXIED_HEADER,
        "description": "Bearer and a Kubernetes token for the audience evenkeel: for callers through the API "
        "server's proxy, which takes the header Authorization for itself.",
    },
}


def document() -> dict[str, Any]:
    """Return the document, OpenAPI 3.1."""
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "Evenkeel",
            "version": VERSION,
            "description": "Keeps Kubernetes workloads spread over nodes, racks and zones.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            **{path: {"post": _api(path, route)} for path, route in API_ROUTES.items()},
            "/validate": {"post": _admission("validate", "Check an object.")},
            "/mutate": {"post": _admission("mutate", "Inject default constraints into a new object.")},
            "/livez": {"get": _page("livez", "Whether the process lives.", _content(ProbeAnswer.__name__))},
            "/readyz": {
                "get": _page(
                    "readyz", "Whether requests should come here.", _content(ProbeAnswer.__name__), 200, 503
                )
            },
            "/metrics": {
                "get": _guarded(
                    _page("metrics", "Prometheus metrics.", {"text/plain": {"schema": {"type": "string"}}}),
                    _BUSY,
                )
            },
            "/openapi.json": {
                "get": _page("openapi", "This document.", {JSON: {"schema": {"type": "object"}}})
            },
        },
        "components": {"schemas": _schemas(), "securitySchemes": _SECURITY_SCHEMES},
    }


def _schemas() -> dict[str, Schema]:
    definitions = Definitions(_SCHEMAS)
    for route in API_ROUTES.values():
        definitions.reference(route.request)
        definitions.reference(route.answer)
    for kind in (ErrorAnswer, ReviewAnswer, ProbeAnswer):
        definitions.reference(kind)
    return {**definitions.schemas, "AdmissionReview": _REVIEW}


def _api(path: str, route: ApiRoute) -> dict[str, Any]:
    """Return the operation of a route of the API."""
    answer: dict[str, Any] = {"description": "The answer.", "content": _content(route.answer.__name__)}
    answer["headers"] = {
        header: {"description": text, "schema": {"type": "integer", "minimum": 0}}
        for header, text in route.headers.items()
    }
    if route.screen:
        answer["content"]["text/plain"] = {"schema": {"type": "string", "description": "For a person."}}
    return _guarded(
        {
            "operationId": path.rpartition("/")[2],
            "summary": summary(route.compute),
            "tags": [route.resource],
            "parameters": _parameters(route.screen),
            "requestBody": {"required": True, "content": _content(route.request.__name__)},
            "responses": {"200": answer, **_errors({**_REFUSALS, **_BUSY, **_LATE})},
        }
    )


def _parameters(names: Collection[str]) -> list[dict[str, Any]]:
    """Return the query parameters of a text, those of a ``Screen`` that are named."""
    hints, docs = get_type_hints(Screen, include_extras=True), attribute_docs(Screen)
    return [
        {
            "name": entry.name,
            "in": "query",
            "description": docs[entry.name],
            "schema": type_schema(hints[entry.name]) | {"default": entry.default},
        }
        for entry in fields(Screen)
        if entry.name in names
    ]


def _guarded(operation: dict[str, Any], also: Mapping[int, str] | None = None) -> dict[str, Any]:
    """Return an operation that authenticates its caller."""
    responses = operation["responses"] | _errors({**_STRANGERS, **(also or {})})
    return operation | {"security": _SECURITY, "responses": responses}


def _admission(name: str, text: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": text,
        "tags": ["admission"],
        "requestBody": {"required": True, "content": _content("AdmissionReview")},
        "responses": {
            "200": {"description": "The review.", "content": _content(ReviewAnswer.__name__)},
            **_errors({**_REFUSALS, **_NO_CERTIFICATE}),
        },
    }


def _page(name: str, text: str, content: Schema, *statuses: int) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": text,
        "tags": ["operation"],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase, "content": content}
            for status in statuses or (200,)
        },
    }


def _content(schema: str) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"{_SCHEMAS}{schema}"}}}


def _errors(texts: Mapping[int, str]) -> dict[str, Any]:
    return {
        str(status): {"description": text, "content": _content(ErrorAnswer.__name__)}
        for status, text in texts.items()
    }
