"""Values of types from JSON that has their form (``policies/config/form``); nothing is checked here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from policies.manifests.wire import ParsedForm, Received, members

_T = TypeVar("_T", bound=Received)
_Build: TypeAlias = Callable[[Any], Any]


def from_json(kind: type[_T], raw: Mapping[str, Any]) -> _T:
    """Return a value of a dataclass: fields are named in camelCase, and others are passed over."""
    form: Any = kind
    value: _T = _builder(form)(raw)
    return value


@cache
def _builder(hint: Any) -> _Build:
    """Return what builds the values of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        is_parsed = any(isinstance(mark, ParsedForm) for mark in arguments[1:])
        return arguments[0].parse if is_parsed else _builder(arguments[0])
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin in (list, tuple):
        entry = _builder(arguments[0])
        return origin if entry is _as_it_is else lambda raw: origin(map(entry, raw))
    if origin in (dict, Mapping):
        entry = _builder(arguments[1])
        return entry if entry is _as_it_is else lambda raw: {key: entry(raw[key]) for key in raw}
    if is_dataclass(hint):
        return _object(hint)
    if hint is date:
        return date.fromisoformat
    return hint if isinstance(hint, type) and issubclass(hint, StrEnum) else _as_it_is


def _as_it_is(raw: Any) -> Any:
    return raw


def _object(kind: Any) -> _Build:
    entries = [(entry.name, entry.attribute, _builder(entry.hint)) for entry in members(kind)]
    return lambda raw: kind(
        **{attribute: value(raw[name]) for name, attribute, value in entries if name in raw}
    )


def _union(parts: tuple[Any, ...]) -> _Build:
    """Return what builds one of several types: the value's type decides, and of classes its fields."""
    kinds: list[Any] = [part for part in parts if is_dataclass(part)]
    classes = [(frozenset(entry.name for entry in members(kind)), _builder(kind)) for kind in kinds]
    others = {_json_type(part): _builder(part) for part in parts}

    def convert(raw: Any) -> Any:
        if classes and isinstance(raw, dict):
            return max(classes, key=lambda each: len(each[0] & raw.keys()))[1](raw)
        return others.get(type(raw), _as_it_is)(raw)

    return convert


def _json_type(hint: Any) -> type:
    """Return the Python type of the JSON values of a type, where they have to be built."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _json_type(get_args(hint)[0])
    if origin in (list, tuple):
        return list
    return str if hint is date or (isinstance(hint, type) and issubclass(hint, StrEnum)) else dict
