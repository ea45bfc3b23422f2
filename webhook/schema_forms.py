"""What JSON Schemas are put together from."""

from __future__ import annotations

from typing import Any, Final

#: A JSON Schema.
Schema = dict[str, Any]

#: Any text.
TEXT: Final[Schema] = {"type": "string"}
#: Yes or no.
FLAG: Final[Schema] = {"type": "boolean"}
#: How many.
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}


def closed(description: str, **properties: Schema) -> Schema:
    """Return the schema of an object that has exactly these fields."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def optional(description: str, **properties: Schema) -> Schema:
    """Return the schema of an object, or null, that may have some of these fields and no others."""
    schema = closed(description, **properties)
    del schema["required"]
    return schema | {"type": ["object", "null"]}


def reference(name: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(name: str) -> Schema:
    """Return the schema of a list of what another schema describes."""
    return {"type": "array", "items": reference(name)}


def nullable(schema: Schema) -> Schema:
    """Return a schema of one type that allows null, too."""
    return {**schema, "type": [schema["type"], "null"]}


def described(schema: Schema, description: str) -> Schema:
    """Return a schema with a description."""
    return {**schema, "description": description}
