"""The reference of SpreadPolicy and LintConfig, from their JSON Schemas."""

from __future__ import annotations

import json

from docs.generator.markdown import page, table
from docs.generator.schemas import fields
from policies.config.schema import schema_texts

_INTRODUCTION = """\
The documents that Evenkeel reads. `evenkeel policy schema` prints the JSON Schema of SpreadPolicy for
editors."""


def page_of_documents() -> str:
    """Return a section for each kind of document, with its fields."""
    parts = []
    for schema in map(json.loads, schema_texts().values()):
        parts += [f"## {schema['title']}", schema["description"]]
        parts.append(table(("field", "type", "meaning"), fields(schema)))
    return page("Documents", _INTRODUCTION, *parts)
