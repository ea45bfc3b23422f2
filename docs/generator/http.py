"""The reference of the HTTP routes, from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docs.generator.markdown import code, page, table
from docs.generator.openapi import document
from docs.generator.schemas import Schema, fields, type_of

_INTRODUCTION = """\
The server describes itself at `GET /openapi.json` (OpenAPI 3.1); this page is made from that document. Errors
of every route have the form [ErrorAnswer](#erroranswer)."""


def page_of(document_: Schema) -> str:
    """Return the page of a document: its routes, how callers authenticate, and its types."""
    return page(
        "HTTP",
        _INTRODUCTION,
        *_routes(document_["paths"]),
        "## Authentication",
        table(
            ("how", "meaning"),
            [
                (f"header `{scheme.get('name', 'Authorization')}`", scheme["description"])
                for scheme in document_["components"]["securitySchemes"].values()
            ],
        ),
        "## Types",
        *_types(document_["components"]["schemas"]),
    )


def page_of_routes() -> str:
    """Return the page of this release's document."""
    return page_of(document())


def _routes(paths: Mapping[str, Schema]) -> Iterator[str]:
    yield "## Routes"
    for path, operations in paths.items():
        for method, operation in operations.items():
            yield f"### {method.upper()} {path}"
            yield operation["summary"]
            if "requestBody" in operation:
                yield f"Body: {_content(operation['requestBody'])}"
            if parameters := operation.get("parameters"):
                rows = (
                    (code(entry["name"]), type_of(entry["schema"]), entry["description"])
                    for entry in parameters
                )
                yield table(("query parameter", "type", "meaning"), rows)
            answers = sorted(operation["responses"].items())
            yield table(
                ("status", "body", "meaning"),
                ((status, _content(answer), answer["description"]) for status, answer in answers),
            )


def _content(part: Schema) -> str:
    content: Mapping[str, Schema] = part.get("content", {})
    return ", ".join(
        f"{type_of(entry.get('schema', {}))} ({code(media)})" for media, entry in content.items()
    )


def _types(schemas: Mapping[str, Schema]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield f"### {name}"
        yield str(schema.get("description", ""))
        if rows := list(fields(schema)):
            yield table(("field", "type", "meaning"), rows)
