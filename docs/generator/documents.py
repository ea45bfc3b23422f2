"""The reference of SpreadPolicy and LintConfig, from their JSON Schemas, and a list of those of answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance import report_json as conformance_json
from docs.generator.markdown import code, page, table
from docs.generator.schemas import Schema, fields
from policies.config.schema import schema_texts
from policies.reports.generate_schemas import report_schemas

_INTRODUCTION = """\
The documents that Evenkeel reads. `evenkeel policy schema` prints the JSON Schema of SpreadPolicy for
editors."""

_ANSWERS = """\
What commands print with `-o json`. Each installation has the schemas beside the modules that write the
answers. Where a form has a name, answers have it in `schema`, and its number changes when a field is
renamed, goes away or means something else."""


def page_of_documents() -> str:
    """Return a section for each kind of document, with its fields."""
    parts = []
    for schema in map(json.loads, schema_texts().values()):
        parts += [f"## {schema['title']}", schema["description"]]
        parts.append(table(("field", "type", "meaning"), fields(schema)))
    return page("Documents", _INTRODUCTION, *parts, *_answers())


def _answers() -> Iterator[str]:
    """Yield the section on what commands print for programs."""
    files = {f"policies/reports/{file}": schema for file, schema in report_schemas().items()}
    files["conformance/conformance.schema.json"] = json.loads(conformance_json.schema())
    rows = [(code(file), schema["title"], code(_form(schema))) for file, schema in sorted(files.items())]
    yield "## Answers"
    yield _ANSWERS
    yield table(("JSON Schema", "what it describes", "form"), rows)


def _form(schema: Schema) -> str:
    """Return the name and version of a form, as its documents have it; empty without one."""
    return str(schema["properties"].get("schema", {}).get("const", ""))
