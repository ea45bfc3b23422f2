"""JSON Schemas of a lint request and its answer, as the OpenAPI document shows them."""

from __future__ import annotations

import json
from typing import Any, Final

from policies.reports.lint_json import schema_text
from webhook.scoring.schema_forms import TEXT, Schema, closed, described

_OBJECT: Final[Schema] = {
    "type": "object",
    "description": "An API object.",
    "required": ["apiVersion", "kind"],
    "properties": {"apiVersion": TEXT, "kind": TEXT},
}


def lint_schemas() -> dict[str, Schema]:
    """Return the schemas by name; those of the report's parts are named after it."""
    text = schema_text().replace('"#/$defs/', '"#/components/schemas/LintReport.')
    report: dict[str, Any] = json.loads(text)
    parts = {f"LintReport.{name}": schema for name, schema in report.pop("$defs").items()}
    # Within the document its references start at the document's root.
    del report["$schema"], report["$id"]
    request = closed(
        "Objects that are applied together.",
        objects={
            "description": "The objects, or a v1 List of them.",
            "oneOf": [{"type": "array", "items": _OBJECT}, _OBJECT],
        },
        kubernetesVersion=described({"type": ["string", "null"]}, "The release; left out, the server's."),
    )
    return {"LintRequest": request | {"required": ["objects"]}, "LintReport": report, **parts}
