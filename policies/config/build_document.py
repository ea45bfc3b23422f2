"""Build the types of documents from documents without errors; their JSON Schema comes from the types too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from policies.manifests.wire import document_name
from policies.model.constraint import Constraint
from policies.model.labels import LabelSelector

_T = TypeVar("_T")


def build_document(kind: type[_T], document: Mapping[str, Any]) -> _T:
    """Return a value of a dataclass; what the document leaves out has the default of its attribute.

    Args:
        kind: The dataclass.
        document: Its attributes by their names in camelCase, valid.
    """
    hints = get_type_hints(kind)
    names = {field.name: document_name(field.name) for field in fields(kind) if field.init}  # type: ignore[arg-type]
    given = {
        attribute: _value(hints[attribute], document[name])
        for attribute, name in names.items()
        if name in document
    }
    return kind(**given)


def _value(hint: Any, value: Any) -> Any:
    if get_origin(hint) is UnionType:
        hint = next(part for part in get_args(hint) if part is not NoneType)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return tuple(_value(arguments[0], entry) for entry in value)
    if origin is Mapping:
        return {key: _value(arguments[1], entry) for key, entry in value.items()}
    if hint is LabelSelector or hint is Constraint:
        return hint.parse(value)
    if hint is date:
        return date.fromisoformat(value)
    if is_dataclass(hint):
        return build_document(hint, value)  # type: ignore[arg-type]  # a class
    return hint(value) if isinstance(hint, type) and issubclass(hint, StrEnum) else value
