"""The reference of SpreadPolicy and LintConfig, from their JSON Schemas, and a list of those of answers."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generator.markdown import code, page, table
from docs.generator.published import document_schemas, report_schemas
from docs.generator.schemas import Schema, fields

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
    for schema in document_schemas().values():
        parts += [f"## {schema['title']}", schema["description"]]
        parts.append(table(("field", "type", "meaning"), fields(schema)))
    return page("Documents", _INTRODUCTION, *parts, *_answers())


def _answers() -> Iterator[str]:
    """Yield the section on what commands print for programs."""
    schemas = sorted(report_schemas().items())
    rows = [(code(file), schema["title"], code(_form(schema))) for file, schema in schemas]
    yield "## Answers"
    yield _ANSWERS
    yield table(("JSON Schema", "what it describes", "form"), rows)


def _form(schema: Schema) -> str:
    """Return the name and version of a form, as its documents have it; empty without one."""
    return str(schema["properties"].get("schema", {}).get("const", ""))
