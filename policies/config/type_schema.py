"""JSON Schemas of types: what a document, a request or an answer holds is said once, by its class.

The docstring of a class and its ``Attributes`` section are the descriptions, ``NotRequired`` fields may be
left out, and the keywords that no type tells are in ``Annotated``: ``Annotated[int, Keywords(minimum=0)]``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Schema: TypeAlias = dict[str, Any]

#: The dialect.
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAMES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class Keywords:
    """Keywords of a schema beside those that the type gives."""

    def __init__(self, **keywords: Any) -> None:
        self.schema: Schema = keywords


#: How many there are.
Count: TypeAlias = Annotated[int, Keywords(minimum=0)]


class Definitions:
    """The schemas of classes by name: each is made once, and others refer to it.

    Args:
        prefix: Where the document that they go into keeps them (``#/$defs/``).
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.schemas: dict[str, Schema] = {}

    def reference(self, kind: type) -> Schema:
        """Return a reference to the schema of a class, which is made if it is not there yet."""
        name = kind.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # Before those that it refers to, as a reader wants them.
            self.schemas[name] = class_schema(kind, self.reference)
        return {"$ref": f"{self._prefix}{name}"}


def standalone_schema(kind: type, title: str, path: str) -> Schema:
    """Return the schema of a class as a document of its own, with its path on the web site."""
    definitions = Definitions("#/$defs/")
    schema = class_schema(kind, definitions.reference)
    identifier = f"https://evenkeel.dev/schemas/{path}"
    return {"$schema": DIALECT, "$id": identifier, "title": title, **schema, "$defs": definitions.schemas}


def class_schema(kind: type, define: Callable[[type], Schema] | None = None) -> Schema:
    """Return the schema of a TypedDict, which closes it; a field without a description is a KeyError.

    Args:
        kind: The class.
        define: Returns the schema of another class; without it, its schema is within this one.
    """
    hints, docs = get_type_hints(kind, include_extras=True), attribute_docs(kind)
    return {
        "description": _plain(_docstring(kind).partition("Attributes:\n")[0]),
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, hint in hints.items() if get_origin(hint) is not NotRequired],
        "properties": {
            name: type_schema(hint, define) | {"description": docs[name]} for name, hint in hints.items()
        },
    }


def type_schema(hint: Any, define: Callable[[type], Schema] | None = None) -> Schema:
    """Return the schema of a type.

    Args:
        hint: The type.
        define: Returns the schema of a class; without it, its schema is within this one.

    >>> type_schema(list[Count | None])
    {'type': 'array', 'items': {'type': ['integer', 'null'], 'minimum': 0}}
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return type_schema(arguments[0], define)
    if origin is Annotated:
        return {**type_schema(arguments[0], define), **arguments[1].schema}
    if origin in (Union, UnionType):
        return _union([type_schema(part, define) for part in arguments])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": type_schema(arguments[0], define)}
    if origin in (dict, Mapping):
        others = {} if arguments[1] is Any else {"additionalProperties": type_schema(arguments[1], define)}
        return {"type": "object", **others}
    if is_typeddict(hint) or is_dataclass(hint):
        return (define or class_schema)(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": list(hint)}
    return {} if hint in (Any, object) else {"type": _NAMES[hint]}


def _union(parts: list[Schema]) -> Schema:
    """Return the schema of what one of several allows; keywords of one type say nothing of others."""
    if not all(isinstance(part.get("type"), str) and "const" not in part for part in parts):
        return {"anyOf": parts}
    schema: Schema = {"type": [part["type"] for part in parts]}
    for part in parts:
        schema = part | schema
    return schema


def summary(described: object) -> str:
    """Return the first paragraph of the docstring of a class or a function."""
    return _plain(_docstring(described).partition("\n\n")[0])


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the descriptions of a class's attributes, and of those of the TypedDicts that it extends.

    Before Python 3.12 it is known what one extends only where that is not all: ``class B(A, TypedDict)``.
    """
    docs: dict[str, str] = {}
    for base in getattr(kind, "__orig_bases__", ()):
        docs |= attribute_docs(base) if is_typeddict(base) else {}
    section = _docstring(kind).partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", section, flags=re.MULTILINE)
    return docs | {name: _plain(text) for name, text in entries}


def _docstring(described: object) -> str:
    return inspect.getdoc(described) or ""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("``", '"')
