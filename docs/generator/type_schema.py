"""JSON Schemas of types: what a document, a request or an answer holds is defined once, by its class.

The docstring of a class and the ``#:`` comments at its fields are the descriptions, ``NotRequired`` fields
may be left out, and the keywords that no type has are in ``Annotated``: ``Annotated[int,
Keywords(minimum=0)]``. What is sent of a dataclass ``policies/manifests/wire`` defines.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import takewhile
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from policies.manifests.wire import OPTIONAL, DocumentFields, Form, Keywords, Received, members

Schema: TypeAlias = dict[str, Any]

#: The dialect.
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAMES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class Definitions:
    """The schemas of classes by name: each is made once, and others refer to it.

    Args:
        prefix: Where the document that they go into keeps them (``#/$defs/``).
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.schemas: dict[str, Schema] = {}
        #: Returns the schemas of what they refer to.
        self.define: Callable[[type], Schema] = self.reference

    def reference(self, kind: type) -> Schema:
        """Return a reference to the schema of a class, which is made if it is not there yet."""
        name = kind.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # Before those that it refers to, as a reader wants them.
            self.schemas[name] = class_schema(kind, self.define)
        return {"$ref": f"{self._prefix}{name}"}


def standalone_schema(kind: type, title: str, path: str) -> Schema:
    """Return the schema of a class as a document of its own, with its path on the web site.

    A value of the class within another one has the form of the whole document.
    """
    definitions = Definitions("#/$defs/")

    def define(other: type) -> Schema:
        return {"$ref": "#"} if other is kind else definitions.reference(other)

    definitions.define = define
    schema = class_schema(kind, define)
    identifier = f"https://evenkeel.dev/schemas/{path}"
    return {"$schema": DIALECT, "$id": identifier, "title": title, **schema, "$defs": definitions.schemas}


def class_schema(kind: type, define: Callable[[type], Schema] | None = None) -> Schema:
    """Return the schema of a class, which closes it; a member without a description is a KeyError.

    Args:
        kind: A TypedDict, or a class whose attributes are sent.
        define: Returns the schema of another class; without it, its schema is within this one.
    """
    entries = list(_typed_entries(kind) if is_typeddict(kind) else _sent_entries(kind))
    required = [entry.name for entry in entries if entry.required]
    is_left_out = not required and not is_typeddict(kind) and _is_of_documents(kind)
    return {
        "description": _plain(_docstring(kind)),
        "type": "object",
        "additionalProperties": False,
        **({} if is_left_out else {"required": required}),
        "properties": {
            entry.name: type_schema(entry.hint, define) | entry.keywords | {"description": entry.description}
            for entry in entries
        },
    }


class _Entry(NamedTuple):
    """A member of a JSON object."""

    name: str
    hint: Any
    description: str
    required: bool
    keywords: Schema


def _typed_entries(kind: type) -> Iterator[_Entry]:
    """Yield the members of a TypedDict."""
    docs = attribute_docs(kind)
    for name, hint in get_type_hints(kind, include_extras=True).items():
        yield _Entry(name, hint, docs[name], get_origin(hint) is not NotRequired, {})


def _sent_entries(kind: type) -> Iterator[_Entry]:
    """Yield the members of a class; those of an inline value are there in each of its forms, or optional."""
    docs = attribute_docs(kind)
    form: Any = kind
    defaults = dict(getattr(kind, "_field_defaults", {})) if _is_of_documents(kind) else {}
    defaults |= {
        entry.name: entry.default
        for entry in (fields(form) if issubclass(kind, Received) else ())
        if entry.default is not MISSING or entry.default_factory is not MISSING
    }
    for name, attribute, hint, inline, _ in members(kind):
        if inline:
            forms = _forms(hint)
            for form in forms:
                yield from (
                    entry._replace(required=entry.required and len(forms) == 1)
                    for entry in (_sent_entries(form) if form is not NoneType else ())
                )
        else:
            default = defaults.get(attribute)
            keywords: Schema = {} if default in (None, MISSING, ()) else {"default": default}
            is_optional = OPTIONAL in getattr(hint, "__metadata__", ())
            described = without_none(hint) if is_optional or _is_of_documents(kind) else hint
            required = not is_optional and attribute not in defaults
            yield _Entry(name, described, docs[attribute], required, keywords)


def _is_of_documents(kind: type) -> bool:
    """Return whether people write values of a class, in its fields or as Kubernetes has them (``parse``)."""
    return issubclass(kind, DocumentFields) or hasattr(kind, "parse")


def without_none(hint: Any) -> Any:
    """Return a type without None."""
    if get_origin(hint) is Annotated:
        return Annotated[without_none(get_args(hint)[0]), *get_args(hint)[1:]]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007
    return hint


def _forms(hint: Any) -> tuple[type, ...]:
    """Return the classes as which a value is sent."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if get_origin(hint) in (Union, UnionType):
        return tuple(form for part in get_args(hint) for form in _forms(part))
    return _forms(_form(hint)) if hasattr(hint, "wire_form") else (hint,)


def _form(kind: type) -> Any:
    """Return the type as which a class is sent."""
    return get_type_hints(kind.wire_form, include_extras=True)["return"]  # type: ignore[attr-defined]


def type_schema(hint: Any, define: Callable[[type], Schema] | None = None) -> Schema:
    """Return the schema of a type.

    Args:
        hint: The type.
        define: Returns the schema of a class; without it, its schema is within this one.

    >>> type_schema(list[Count | None])
    {'type': 'array', 'items': {'type': ['integer', 'null'], 'minimum': 0}}
    """
    hint = _form(hint) if hasattr(hint, "wire_form") else hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return type_schema(arguments[0], define)
    if origin is Annotated:
        forms = [mark.described for mark in arguments[1:] if isinstance(mark, Form)]
        schema = dict(type_schema(forms[0] if forms else arguments[0], define))
        for mark in arguments[1:]:
            schema |= mark.schema if isinstance(mark, Keywords) else {}
        return schema
    if origin in (Union, UnionType):
        return _union([type_schema(part, define) for part in arguments])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": type_schema(arguments[0], define)}
    if origin in (dict, Mapping):
        others = {} if arguments[1] is Any else {"additionalProperties": type_schema(arguments[1], define)}
        names = type_schema(arguments[0])
        return {"type": "object", **({"propertyNames": names} if "pattern" in names else {}), **others}
    if _has_members(hint):
        return (define or class_schema)(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": list(hint)}
    return {} if hint in (Any, object) else {"type": _NAMES[hint]}


def _has_members(hint: Any) -> bool:
    return is_typeddict(hint) or is_dataclass(hint) or hasattr(hint, "_fields")


def _union(parts: list[Schema]) -> Schema:
    """Return the schema of what one of several allows; keywords of one type do not concern others."""
    types = [part["type"] for part in parts if isinstance(part.get("type"), str) and "const" not in part]
    if len(set(types)) < len(parts):
        return {"anyOf": [each for part in parts for each in part.get("anyOf", [part])]}
    schema: Schema = {"type": types}
    for part in parts:
        schema = part | schema
    return schema


def summary(described: object) -> str:
    """Return the first paragraph of the docstring of a class or a function."""
    return _plain(_docstring(described).partition("\n\n")[0])


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the descriptions of a class's attributes and properties, and of those of what it extends.

    Before Python 3.12 it is known what one extends only where that is not all: ``class B(A, TypedDict)``.
    """
    docs: dict[str, str] = {}
    for base in getattr(kind, "__orig_bases__", kind.__bases__):
        docs |= attribute_docs(base) if is_typeddict(base) or is_dataclass(base) else {}
    docs |= {name: summary(value) for name, value in vars(kind).items() if isinstance(value, property)}
    return docs | _comments(kind.__module__).get(kind.__qualname__, {})


@cache
def _comments(module: str) -> dict[str, dict[str, str]]:
    """Return what the ``#:`` comments at fields and members of a module's classes say, by class."""
    source = inspect.getsource(sys.modules[module])
    lines = source.splitlines()
    return {
        node.name: {
            target.id: comment
            for entry in node.body
            if isinstance(entry, ast.AnnAssign | ast.Assign)
            for target in (entry.targets if isinstance(entry, ast.Assign) else [entry.target])
            if isinstance(target, ast.Name) and (comment := _comment(lines, entry))
        }
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
    }


def _comment(lines: Sequence[str], entry: ast.AnnAssign | ast.Assign) -> str:
    """Return the comment of a field or a member, from the lines of its module; empty without one."""
    behind = lines[(entry.end_lineno or entry.lineno) - 1].partition("  #: ")[2]
    above = takewhile(lambda line: line.lstrip().startswith("#: "), reversed(lines[: entry.lineno - 1]))
    return _plain(behind or " ".join(reversed([line.lstrip()[3:] for line in above])))


def _docstring(described: object) -> str:
    return inspect.getdoc(described) or ""


def _plain(text: str) -> str:
    return re.sub(r"\bNone\b(?! of\b)", "null", re.sub(r"\s+", " ", text)).strip().replace("``", '"')
