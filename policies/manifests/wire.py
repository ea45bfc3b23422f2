"""Values of declared types as JSON: answers that are sent, documents and requests that are received.

A member is named like the attribute of the dataclass or NamedTuple, in camelCase, and comes in its place.
``Annotated`` has what differs: an ``INTERNAL`` attribute is not sent, the members of an ``INLINE`` value take
its place, an ``OPTIONAL`` one is absent where it is None, ``SentAs`` renames one. Properties marked ``sent``
follow. A class with a method ``wire_form`` is sent as what that returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum, StrEnum, auto
from functools import cache, partial
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

#: What computes a member.
_Getter = TypeVar("_Getter", bound=Callable[[Any], object])
_Received = TypeVar("_Received", bound="Received")


class Keywords:
    """Keywords of a JSON Schema beside those that the type gives."""

    def __init__(self, **keywords: Any) -> None:
        self.schema: dict[str, Any] = keywords


#: A number of things.
Count: TypeAlias = Annotated[int, Keywords(minimum=0)]
#: A number of things, of which there is one at least.
Positive: TypeAlias = Annotated[int, Keywords(minimum=1)]


class Sending(Enum):
    """How an attribute is sent, if not as a member of its own."""

    INTERNAL = auto()
    INLINE = auto()
    OPTIONAL = auto()


INTERNAL: Final = Sending.INTERNAL
INLINE: Final = Sending.INLINE
OPTIONAL: Final = Sending.OPTIONAL


class Form:
    """Another type that describes the values in a schema; they are kept as something simpler, or parsed."""

    def __init__(self, described: Any) -> None:
        self.described = described


class Received:
    """Base of dataclasses that are received: what has a default may be left out, and null if it can be None.

    Where one is sent, what is None is absent.
    """

    __slots__ = ()

    def check(self, found: Any) -> None:
        """Record in an ErrorList what the form of the fields does not tell."""


class DocumentFields(Received):
    """Base of dataclasses that people write in documents, where no field may be null."""

    __slots__ = ()


class SentAs(NamedTuple):
    """Renames a member."""

    name: str  #: Its name in JSON.


class Member(NamedTuple):
    """A member of a JSON object."""

    name: str  #: Its name.
    attribute: str  #: The attribute that holds it.
    hint: Any  #: The type of the attribute.
    inline: bool  #: Whether the members of the value take its place.
    optional: bool  #: Whether it is absent where the attribute is None.


def sent(getter: _Getter) -> _Getter:
    """Mark the function of a property as one that computes a member."""
    getter.__dict__["sent"] = True
    return getter


@cache
def members(kind: type) -> tuple[Member, ...]:
    """Return the members of a class that are sent, in order.

    Raises:
        TypeError: It has no declared attributes.
    """
    if not (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")):
        raise TypeError(f"{kind.__name__} cannot be sent as JSON")
    hints = get_type_hints(kind, include_extras=True)
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and hasattr(value.fget, "sent"):
                hints[name] = get_type_hints(value.fget, include_extras=True)["return"]
    is_received = issubclass(kind, Received)
    return tuple(
        Member(
            next((mark.name for mark in marks if isinstance(mark, SentAs)), document_name(attribute)),
            attribute,
            hint,
            inline=INLINE in marks,
            optional=OPTIONAL in marks or is_received,
        )
        for attribute, hint in hints.items()
        if INTERNAL not in (marks := get_args(hint)[1:] if get_origin(hint) is Annotated else ())
    )


def document_name(attribute: str) -> str:
    """Return an attribute's name in a document.

    >>> document_name("exclude_namespaces")
    'excludeNamespaces'
    """
    first, *others = attribute.split("_")
    return first + "".join(map(str.capitalize, others))


def dumps(value: object, *, indent: bool = False) -> bytes:
    """Return a value as JSON: one line without its end, or indented with it."""
    option = orjson.OPT_PASSTHROUGH_DATACLASS
    if indent:
        option |= orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, _sent, option)
    except orjson.JSONEncodeError:
        return orjson.dumps(_encodable(value), option=option)


def encodable(text: str) -> str:
    """Return text that UTF-8 can hold; file names may have bytes that are no characters."""
    return text.encode(errors="backslashreplace").decode()


def _sent(value: Any) -> Any:
    """Return a value that orjson does not know as one that it does."""
    form = getattr(value, "wire_form", None)
    if form is not None:
        return form()
    if isinstance(value, Mapping):
        return dict(value)
    found: dict[str, Any] = {}
    kind: Any = type(value)
    for name, attribute, _, inline, optional in members(kind):
        item = getattr(value, attribute)
        if inline:
            found |= _object(item)
        elif item is not None or not optional:
            found[name] = item
    return found


def _object(value: Any) -> dict[str, Any]:
    """Return the members of a value; none of None."""
    while not isinstance(value, dict):
        value = {} if value is None else _sent(value)
    return value


def _encodable(value: Any) -> Any:
    """Return a value as orjson knows it, with text that UTF-8 can hold."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return [_encodable(item) for item in value]
    if value is None or isinstance(value, bool | int | float | orjson.Fragment):
        return value
    return _encodable(_sent(value))


def from_json(kind: type[_Received], raw: Mapping[str, Any]) -> _Received:
    """Return a value from JSON that has its form (``policies/config/form``); other fields are passed over."""
    form: Any = kind
    value: _Received = form(
        **{attribute: build(raw[name]) for name, attribute, build in _built(form) if name in raw}
    )
    return value


@cache
def _built(kind: type) -> list[tuple[str, str, Callable[[Any], Any]]]:
    """Return the members of a class by name: their attributes, and what builds these from JSON."""
    return [(entry.name, entry.attribute, _builder(entry.hint)) for entry in members(kind)]


def _builder(hint: Any) -> Callable[[Any], Any]:
    """Return what builds the values of a type from JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _builder(arguments[0])
    if origin in (Union, UnionType):
        # One of several types at most is not as JSON has it.
        build = next((each for each in map(_builder, arguments) if each is not _as_it_is), _as_it_is)
        return build if build is _as_it_is else lambda raw: None if raw is None else build(raw)
    if origin in (list, tuple):
        entry = _builder(arguments[0])
        if entry is _as_it_is:
            return tuple if origin is tuple else _as_it_is
        return lambda raw: origin(map(entry, raw))
    if origin in (dict, Mapping):
        entry = _builder(arguments[1])
        return entry if entry is _as_it_is else lambda raw: {key: entry(raw[key]) for key in raw}
    if isinstance(hint, type) and issubclass(hint, Received):
        return partial(from_json, hint)
    if hint is date:
        return date.fromisoformat
    parse: Callable[[Any], Any] | None = getattr(hint, "parse", None)
    return parse or (hint if isinstance(hint, type) and issubclass(hint, StrEnum) else _as_it_is)


def _as_it_is(raw: Any) -> Any:
    return raw
