"""Values of types from JSON: a dataclass is read by its fields, with every error at once, each at its path.

What ``wire`` defines for a type is what is read: attributes in camelCase, those with a default may be left
out, and the bounds of ``Keywords`` hold. A broken value is recorded and read as an empty one of its type, so
that the rest can be read and checked too: what was read with errors is good for nothing else. A class may
have a method ``check``, which records what is wrong with fields that are right each by itself, and
``Checked`` names a function that records what the type of a value does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from itertools import takewhile
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    WRONG_TYPE,
    ErrorList,
    FieldPath,
    invalid_value,
    required_value,
    shown_name,
    unsupported_value,
    wrong_type,
)
from policies.manifests.wire import DocumentFields, Keywords, ParsedForm, Received, TextForm, members

#: Records what is wrong with a value of the right type.
Check: TypeAlias = Callable[[Any, FieldPath, ErrorList], None]

_T = TypeVar("_T", bound=Received)


class Checked(NamedTuple):
    """A check of a value beyond its type: ``Annotated[str, Checked(check)]``."""

    check: Check


class Needed(NamedTuple):
    """The noun in the error about a field, which is required where it is missing or empty.

    ``Annotated[str, Needed("a name")]``.
    """

    what: str


def read(kind: type[_T], raw: object, path: FieldPath, found: ErrorList) -> _T:
    """Return a value of a dataclass; null is an object without fields, as in Go.

    Args:
        kind: The dataclass.
        raw: What JSON has there.
        path: Where that is.
        found: Takes what is wrong; with errors the value is only good to look for more of them.
    """
    form: Any = kind
    value: _T = _reader(form).read(raw, path, found)
    return value


def prepare(kind: type[Received]) -> None:
    """Make the reader of a dataclass, which takes milliseconds, before children are forked that need it."""
    form: Any = kind
    _reader(form)


class _Reader(NamedTuple):
    """A reader of the values of one type.

    Attributes:
        types: The Python types of the JSON values that it takes.
        wanted: What these are called, with their article.
        convert: Returns the value, of one of these types, and records what is wrong with it.
        empty: Makes what a value of another type is read as.
        fields: The names of a class's fields; empty for all else.
        is_nullable: Whether null is one of its values.
    """

    types: tuple[type, ...]
    wanted: str
    convert: Callable[[Any, FieldPath, ErrorList], Any]
    empty: Callable[[], Any]
    fields: frozenset[str] = frozenset()
    is_nullable: bool = False

    def read(self, raw: object, path: FieldPath, found: ErrorList) -> Any:
        """Return the value, empty where it is of another type, which is recorded."""
        if isinstance(raw, self.types) and (type(raw) is not bool or bool in self.types):
            return self.convert(raw, path, found)
        if not found.has_enough(WRONG_TYPE):
            found.add(wrong_type(path, self.wanted, raw))
        return self.empty()


class _FieldReader(NamedTuple):
    """A reader of one field of a dataclass.

    Attributes:
        attribute: Its name in the class.
        name: Its name in JSON.
        reader: Reads its value.
        required: Whether it has no default.
        needed: What it should have where it is missing.
        refuses_null: Whether null is an error, whatever the type of the value.
    """

    attribute: str
    name: str
    reader: _Reader
    required: bool
    needed: str
    refuses_null: bool


@cache
def _reader(hint: Any) -> _Reader:
    """Return the reader of a type, which is made once."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        forms = [part for part in arguments[1:] if isinstance(part, ParsedForm)]
        if forms:
            return _parsed(arguments[0], _reader(forms[0].described))
        return _annotated(_reader(arguments[0]), arguments[1:])
    if origin in (Union, UnionType):
        return _union([_reader(part) for part in arguments])
    if origin is Literal:
        return _choice(arguments, str)
    if origin in (list, tuple):
        return _list(_reader(arguments[0]), origin)
    if origin in (dict, Mapping):
        return _FREE_OBJECT if arguments[1] is Any else _mapping(*map(_reader, arguments))
    if is_dataclass(hint):
        return _object(hint)  # type: ignore[arg-type]  # a class
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _choice(list(hint), hint)
    return _SCALARS[hint]


def _as_it_is(raw: Any, _path: FieldPath, _found: ErrorList) -> Any:
    return raw


def _free_object(raw: Any, _path: FieldPath, _found: ErrorList) -> Any:
    return {} if raw is None else raw


def _finite(raw: float, path: FieldPath, found: ErrorList) -> float:
    """Return a number as JSON has it: YAML has such as are none."""
    if isinstance(raw, int) or isfinite(raw):
        return raw
    found.add(wrong_type(path, "a number", raw))
    return 0.0


def _day(raw: str, path: FieldPath, found: ErrorList) -> date:
    try:
        return date.fromisoformat(raw)
    except ValueError:
        found.add(invalid_value(path, raw, "there is no such day", VALUE_INVALID))
        return date.min


#: An object that something else looks into; null is one without fields.
_FREE_OBJECT: Final = _Reader((dict, NoneType), "an object", _free_object, dict)
_SCALARS: Final[dict[Any, _Reader]] = {
    str: _Reader((str,), "a string", _as_it_is, str),
    int: _Reader((int,), "an integer", _as_it_is, int),
    float: _Reader((int, float), "a number", _finite, float),
    bool: _Reader((bool,), "a boolean", _as_it_is, bool),
    date: _Reader((str,), "a string", _day, lambda: date.min),
    NoneType: _Reader((NoneType,), "null", _as_it_is, lambda: None),
    Any: _Reader((object,), "anything", _as_it_is, lambda: None),
    object: _Reader((object,), "anything", _as_it_is, lambda: None),
}


def _parsed(kind: Any, form: _Reader) -> _Reader:
    """Return the reader of values that are written in another form, and parsed by their class."""

    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        before = found.count
        form.convert(raw, path, found)
        return kind.parse(raw) if found.count == before else kind()

    return form._replace(convert=convert, empty=kind)


def _annotated(reader: _Reader, parts: tuple[Any, ...]) -> _Reader:
    """Return the reader of a type with bounds and checks, which look at a value before its parts are read."""
    bounds: dict[str, Any] = {}
    for part in parts:
        bounds |= part.schema if isinstance(part, Keywords) else {}
    needed = _needed(parts)
    must_hold = needed is not None and not bounds.keys().isdisjoint(_NOT_EMPTY)
    own = [part.check for part in parts if isinstance(part, Checked)]
    own += [_form_check(part) for part in parts if isinstance(part, TextForm)]
    # A check of its own may stand for a keyword that has none here.
    names = [name for name in bounds if name != "examples" and (name in _BOUNDS or not own)]
    checks = [*(_BOUNDS[name](bounds[name]) for name in names), *own]

    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        before = found.count
        if must_hold and not raw:
            found.add(required_value(path, needed or "", FIELD_MISSING))
            return reader.empty()
        for check in checks:
            check(raw, path, found)
            if found.count > before:
                return reader.empty()
        return reader.convert(raw, path, found)

    return reader._replace(convert=convert)


def _needed(parts: tuple[Any, ...]) -> str | None:
    return next((part.what for part in reversed(parts) if isinstance(part, Needed)), None)


def _bound(is_right: Callable[[Any, Any], bool], problem: str) -> Callable[[Any], Check]:
    """Return a function that makes the check of a bound, given the bound."""

    def check_of(limit: Any) -> Check:
        def check(value: Any, path: FieldPath, found: ErrorList) -> None:
            if not is_right(value, limit) and not found.has_enough(VALUE_INVALID):
                found.add(invalid_value(path, value, problem.format(limit), VALUE_INVALID))

        return check

    return check_of


def _form_check(form: TextForm) -> Check:
    search = re.compile(form.pattern).search
    return _bound(lambda value, _: search(value) is not None, f"must be {form.words}")(None)


#: The keywords that forbid an empty value.
_NOT_EMPTY: Final = frozenset({"minItems", "minLength", "minProperties"})


def _not_empty(_limit: int) -> Check:
    return _bound(lambda value, _: bool(value), "must not be empty")(None)


#: Makes the check of each keyword; a type with one that is not here cannot be read.
_BOUNDS: Final[Mapping[str, Callable[[Any], Check]]] = {
    "minimum": _bound(lambda value, limit: value >= limit, "must be greater than or equal to {:,}"),
    "maximum": _bound(lambda value, limit: value <= limit, "must be less than or equal to {:,}"),
    **dict.fromkeys(_NOT_EMPTY, _not_empty),
    "maxItems": _bound(lambda value, limit: len(value) <= limit, "must have at most {:,} items"),
    "maxLength": _bound(lambda value, limit: len(value) <= limit, "must be no more than {:,} characters"),
}


def _union(readers: list[_Reader]) -> _Reader:
    """Return the reader of one of several types: the value's type decides, and of classes its fields."""
    others = [reader for reader in readers if reader.types != (NoneType,)]
    is_nullable = len(others) < len(readers)

    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        if raw is None and is_nullable:
            return None
        fitting = [reader for reader in others if isinstance(raw, reader.types)]
        if len(fitting) > 1 and isinstance(raw, dict):
            fitting.sort(key=lambda reader: -len(reader.fields & raw.keys()))
        return fitting[0].read(raw, path, found)

    return _Reader(
        types=tuple({kind: None for reader in readers for kind in reader.types}),
        wanted=" or ".join(dict.fromkeys(reader.wanted for reader in others)),
        convert=convert,
        empty=others[0].empty,
        is_nullable=is_nullable,
    )


def _choice(allowed: Any, kind: type[str]) -> _Reader:
    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        if raw in allowed:
            return kind(raw)
        if not found.has_enough(VALUE_INVALID):
            found.add(unsupported_value(path, raw, allowed, VALUE_INVALID))
        return kind(allowed[0])

    wanted = " or ".join(f'"{each}"' for each in allowed)
    return _Reader((str,), wanted, convert, lambda: kind(allowed[0]))


def _list(entries: _Reader, kind: Callable[..., Any]) -> _Reader:
    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        # The lists of a cluster have a hundred thousand objects, of which nothing more is to be read here.
        if entries is _FREE_OBJECT and set(map(type, raw)) <= {dict}:
            return kind(raw)
        places = takewhile(lambda _: not found.full, enumerate(raw))
        return kind(entries.read(entry, path.index(position), found) for position, entry in places)

    return _Reader((list,), "a list", convert, kind)


def _mapping(keys: _Reader, values: _Reader) -> _Reader:
    def convert(raw: Any, path: FieldPath, found: ErrorList) -> dict[str, Any]:
        value = {}
        for key, entry in takewhile(lambda _: not found.full, raw.items()):
            where = path.key(shown_name(key))
            value[keys.read(key, where, found)] = values.read(entry, where, found)
        return value

    return _Reader((dict,), "an object", convert, dict)


def _object(kind: type[Received]) -> _Reader:
    """Return the reader of a dataclass."""
    readers = _field_readers(kind)
    names, check = {reader.name: None for reader in readers}.keys(), getattr(kind, "check", None)

    def convert(raw: Any, path: FieldPath, found: ErrorList) -> Any:
        members: dict[str, Any] = raw or {}
        found.unknown(members, path, known=names)
        given = {
            entry.attribute: _member(entry, members, path, found)
            for entry in readers
            if entry.required or entry.name in members
        }
        value = kind(**given)
        # A field that is not known may be one of those that the check would miss.
        if check is not None and members.keys() <= names:
            check(value, path, found)
        return value

    return _Reader(
        (dict,) if issubclass(kind, DocumentFields) else (dict, NoneType),
        "an object",
        convert,
        lambda: convert({}, FieldPath(), ErrorList()),
        frozenset(names),
    )


def _member(entry: _FieldReader, members: dict[str, Any], path: FieldPath, found: ErrorList) -> Any:
    """Return the value of a field; a required one that is missing is recorded."""
    raw, where = members.get(entry.name), path.child(entry.name)
    if raw is None and entry.refuses_null and entry.name in members:
        found.add(wrong_type(where, entry.reader.wanted, raw))
        return entry.reader.empty()
    if entry.required and raw is None and not entry.reader.is_nullable:
        found.add(required_value(where, entry.needed, FIELD_MISSING))
        return entry.reader.empty()
    return entry.reader.read(raw, where, found)


def _field_readers(kind: type[Received]) -> list[_FieldReader]:
    return [
        _FieldReader(
            attribute=entry.attribute,
            name=entry.name,
            reader=_reader(entry.hint),
            required=entry.required,
            needed=_needed(get_args(entry.hint)) or "",
            refuses_null=issubclass(kind, DocumentFields),
        )
        for entry in members(kind)
    ]
