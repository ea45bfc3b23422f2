"""JSON Schemas as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from docs.generator.markdown import code

Schema: TypeAlias = Mapping[str, Any]

#: Where an OpenAPI document keeps schemas that have a name.
_NAMED = "#/components/schemas/"


def fields(schema: Schema, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each field; names of nested fields are paths."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        meaning = f"{field.get('description', '')} {'Required.' if name in required else ''}".strip()
        yield code(f"{prefix}{name}"), type_of(field), meaning
        yield from fields(field, f"{prefix}{name}.")
        yield from fields(field.get("items", {}), f"{prefix}{name}[].")
        others = field.get("additionalProperties")
        yield from fields(others if isinstance(others, dict) else {}, f"{prefix}{name}.*.")


def type_of(schema: Schema) -> str:
    """Return the type of a value in words, with a link if it has a name.

    >>> type_of({"type": "array", "items": {"$ref": "#/components/schemas/Node"}})
    'list of [Node](#node)'
    """
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix(_NAMED)
        return f"[{name}](#{name.lower().replace('.', '')})"
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code("null" if value is None else value) for value in schema["enum"])
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(map(type_of, alternatives))
    types = schema.get("type", "any")
    words = [types] if isinstance(types, str) else list(types)
    if "array" in words and "items" in schema:
        words[words.index("array")] = f"list of {type_of(schema['items'])}"
    return " or ".join(words)
