"""Field paths and field errors: how every part of Evenkeel reports where a document is wrong.

Paths and errors read as those of Kubernetes (``k8s.io/apimachinery/pkg/util/validation/field``):
``spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero``. This module knows
nothing of what a field means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from policies.manifests.sanitize import one_line
from policies.manifests.wire import INTERNAL, SentAs
from policies.manifests.words import more

#: Errors of one rule that are collected, more than anyone fixes at once; the others are only counted. The
#: limit is per rule, so that many errors of one kind hide none of another.
MAX_ERRORS = 256
#: Characters of a user's value that a message repeats: what keeps it readable.
SHOWN_VALUE_LENGTH = 80
#: Names that are compared with the known fields for a suggestion: longer ones are no typing mistakes, and
#: the comparison takes time that grows with the square of the length.
_COMPARED_LENGTH = 40
#: Known fields that a message lists: the API's largest object among them has 13.
_LISTED_FIELDS = 16


class Key(str):
    """A key of a free-form mapping (a label, say); paths print it in brackets."""

    __slots__ = ()


T = TypeVar("T")

#: The segments that paths print in brackets.
_IN_BRACKETS: Final = (int, Key)


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The way from the root of a document to one field.

    >>> str(FieldPath().child("spec", "topologySpreadConstraints").index(0).child("maxSkew"))
    'spec.topologySpreadConstraints[0].maxSkew'
    >>> str(FieldPath(("matchLabels",)).key("app"))
    'matchLabels[app]'
    """

    segments: tuple[str | int, ...] = ()

    def wire_form(self) -> str:
        """Return the path as it is sent."""
        return str(self)

    def child(self, *names: str) -> FieldPath:
        """Return the path of a named field below this one."""
        return FieldPath((*self.segments, *names))

    def index(self, position: int) -> FieldPath:
        """Return the path of a list item below this one."""
        return FieldPath((*self.segments, position))

    def key(self, key: str) -> FieldPath:
        """Return the path of an entry of a free-form mapping below this one."""
        return FieldPath((*self.segments, Key(key)))

    def __add__(self, other: FieldPath) -> FieldPath:
        return FieldPath(self.segments + other.segments)

    def __str__(self) -> str:
        text = ""
        for segment in self.segments:
            # Nearly all are plain names, for which the first test is enough.
            if type(segment) is not str and isinstance(segment, _IN_BRACKETS):
                text += f"[{segment}]"
            else:
                text += f".{segment}" if text else segment
        return text


#: The parts of every object of Kubernetes.
METADATA: Final = FieldPath(("metadata",))
NAME: Final = METADATA.child("name")
LABELS: Final = METADATA.child("labels")
SPEC: Final = FieldPath(("spec",))
STATUS: Final = FieldPath(("status",))


class ErrorKind(StrEnum):
    """Kubernetes' cause types, as ``status.details.causes[].reason`` spells them."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    TOO_MANY = "FieldValueTooMany"
    TOO_LONG = "FieldValueTooLong"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field."""

    path: Annotated[FieldPath, SentAs("field")]  #: The field.
    #: The text that follows the path: the type of the error, the value, and what is allowed.
    problem: Annotated[str, SentAs("message")]
    kind: Annotated[ErrorKind, INTERNAL]  #: Kubernetes' type of the error.
    rule: str  #: The id of the broken rule; exemptions and updates refer to it.

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path.segments else self.problem


#: The rule that a value of the wrong JSON type breaks.
WRONG_TYPE = "wrong-type"
#: The rule that an object breaks which lacks a field, or has an empty one.
FIELD_MISSING = "field-missing"
#: The rule that a value breaks which its field cannot have.
VALUE_INVALID = "value-invalid"
#: The rule that a second object of one name breaks.
NAME_TAKEN = "name-taken"
#: The rule that a field breaks which its object does not have; strict decoding refuses it.
UNKNOWN_FIELD = "unknown-field"


#: The writers of JSON in messages; ``json.dumps`` makes one for each call.
_TEXT, _VALUE = json.JSONEncoder(ensure_ascii=False), json.JSONEncoder(default=str)


def shown(value: object) -> str:
    """Return a user's value as one short line of printable JSON.

    >>> shown("zone"), shown(None), shown([1.5, True])
    ('"zone"', 'null', '[1.5, true]')
    """
    if isinstance(value, str):
        # Cut first: a value may be megabytes long.
        text = one_line(_TEXT.encode(value[:SHOWN_VALUE_LENGTH]))
        return text if len(value) <= SHOWN_VALUE_LENGTH else f'{text[:-1]}…"'
    if isinstance(value, dict | list) and len(value) > SHOWN_VALUE_LENGTH:
        return f"{type_name(value)} of {len(value)} entries"
    try:
        # Most are numbers, for which the writer of JSON takes as long as for an object.
        text = str(value) if type(value) is int else _VALUE.encode(value)
    except (ValueError, RecursionError):
        # More digits than Python converts, or more levels than it descends.
        return type_name(value)
    return text if len(text) <= SHOWN_VALUE_LENGTH else f"{text[:SHOWN_VALUE_LENGTH]}…"


def first_of(errors: Sequence[FieldError]) -> str:
    """Return the first of some errors, and how many more there are."""
    return f"{errors[0]}{and_more(len(errors))}" if errors else ""


def and_more(count: int) -> str:
    """Return the suffix that follows the first of ``count`` errors.

    >>> and_more(1), and_more(2), and_more(3)
    ('', ' (and 1 more error)', ' (and 2 more errors)')
    """
    return "" if count < 2 else f" ({more(count - 1, 'error')})"


def shown_name(name: str) -> str:
    """Return a user's field name short and printable enough for a path."""
    return name if len(name) <= SHOWN_VALUE_LENGTH and name.isprintable() else shown(name)


def type_name(value: object) -> str:
    """Return the JSON name of a value's type, with its article.

    >>> type_name({}), type_name(True), type_name(None)
    ('an object', 'a boolean', 'null')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
    return f"a {type(value).__name__}"


def invalid_value(path: FieldPath, value: object, detail: str, rule: str) -> FieldError:
    """Return the error of a value that its field cannot have.

    >>> str(invalid_value(FieldPath(("maxSkew",)), 0, "must be greater than zero", "max-skew-not-positive"))
    'maxSkew: Invalid value: 0: must be greater than zero'
    """
    return FieldError(path, f"Invalid value: {shown(value)}: {detail}", ErrorKind.INVALID, rule)


def required_value(path: FieldPath, detail: str, rule: str) -> FieldError:
    """Return the error of a field that is missing; the detail may be empty."""
    return FieldError(
        path, f"Required value: {detail}" if detail else "Required value", ErrorKind.REQUIRED, rule
    )


def unsupported_value(path: FieldPath, value: object, supported: Iterable[str], rule: str) -> FieldError:
    """Return the error of a value that is not one of a few.

    >>> unsupported_value(FieldPath(), "Always", ["Honor", "Ignore"], "policy-unknown").problem
    'Unsupported value: "Always": supported values: "Honor", "Ignore"'
    """
    listed = ", ".join(f'"{name}"' for name in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return FieldError(path, text, ErrorKind.NOT_SUPPORTED, rule)


def too_long(path: FieldPath, most: int, rule: str) -> FieldError:
    """Return the error of a value of more than so many bytes."""
    return FieldError(path, f"Too long: may not be more than {most} bytes", ErrorKind.TOO_LONG, rule)


def duplicate_value(path: FieldPath, value: object, rule: str, *, detail: str = "") -> FieldError:
    """Return the error of a value that must be unique and is not."""
    text = f"Duplicate value: {shown(value)}"
    return FieldError(path, f"{text}: {detail}" if detail else text, ErrorKind.DUPLICATE, rule)


def forbidden(path: FieldPath, detail: str, rule: str) -> FieldError:
    """Return the error of a field that must not be set here."""
    return FieldError(path, f"Forbidden: {detail}", ErrorKind.FORBIDDEN, rule)


def wrong_type(path: FieldPath, wanted: str, value: object) -> FieldError:
    """Return the error of a value of the wrong type; ``wanted`` has its article ("an object").

    >>> wrong_type(FieldPath(), "an integer", "1").problem, wrong_type(FieldPath(), "a string", [1]).problem
    ('Invalid value: "1": must be an integer', 'Invalid value: a list: must be a string')
    """
    # A list or an object is named by its type only: writing it out may take long.
    given = type_name(value) if isinstance(value, dict | list) else shown(value)
    return FieldError(path, f"Invalid value: {given}: must be {wanted}", ErrorKind.INVALID, WRONG_TYPE)


def unknown_field(path: FieldPath, name: str, known: Collection[str]) -> FieldError:
    """Return the error of a field that an object does not have.

    Args:
        path: The object.
        name: The field.
        known: The fields that it has.

    >>> str(unknown_field(FieldPath(("spec",)), "maxSkews", ["maxSkew", "topologyKey"]))
    'spec.maxSkews: unknown field "maxSkews", did you mean "maxSkew"?'
    """
    hint = did_you_mean(name, known)
    if not hint and 0 < len(known) <= _LISTED_FIELDS:
        hint = f"; the fields are {', '.join(known)}"
    where = path.child(shown_name(name))
    return FieldError(where, f"unknown field {shown(name)}{hint}", ErrorKind.INVALID, UNKNOWN_FIELD)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question about a name that was probably meant, with a comma before it; empty if none was.

    >>> did_you_mean("topologykey", ["maxSkew", "topologyKey"])
    ', did you mean "topologyKey"?'
    """
    meant = similar_name(name, known)
    return f', did you mean "{meant}"?' if meant else ""


def similar_name(name: str, known: Iterable[str]) -> str:
    """Return the name that was probably meant by one that is not known; empty if none was."""
    if len(name) > _COMPARED_LENGTH:
        return ""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else ""


def field_names(*names: str) -> KeysView[str]:
    """Return names as a set that keeps its order, which is what ``ErrorList.unknown`` compares with."""
    return dict.fromkeys(names).keys()


def cut_rules(errors: Collection[FieldError]) -> list[str]:
    """Return the rules that have so many errors that others may have been left out."""
    if len(errors) < MAX_ERRORS:
        return []
    return [rule for rule, count in Counter(error.rule for error in errors).items() if count >= MAX_ERRORS]


def is_cut(errors: Collection[FieldError]) -> bool:
    """Return whether there are so many errors of one rule that others of it may have been left out."""
    return bool(cut_rules(errors))


_ONLY_TEXTS = {str}


@dataclass(slots=True)
class ErrorList:
    """Collects errors while a document is read, so that all are reported at once."""

    errors: list[FieldError] = field(default_factory=list)  #: The errors, of each rule up to ``MAX_ERRORS``.
    #: How many there are of each rule, also those that were left out.
    counts: dict[str, int] = field(default_factory=dict)
    #: The parts of the document that are as they were when they were read, by name; None to keep none.
    kept: dict[str, Any] | None = None

    def once(self, part: str, read: Callable[[], T]) -> T:
        """Return a part of the document as it was read before, else read it."""
        if self.kept is None:
            return read()
        if part not in self.kept:
            self.kept[part] = read()
        found: T = self.kept[part]
        return found

    def add(self, error: FieldError) -> None:
        """Record an error, unless there are enough of its rule."""
        count = self.counts.get(error.rule, 0)
        if count < MAX_ERRORS:
            self.errors.append(error)
        self.counts[error.rule] = count + 1

    def extend(self, errors: Iterable[FieldError]) -> None:
        """Record errors."""
        for error in errors:
            self.add(error)

    def has_enough(self, rule: str) -> bool:
        """Whether no more errors of a rule are collected, so that there is no need to word another."""
        return self.counts.get(rule, 0) >= MAX_ERRORS

    @property
    def count(self) -> int:
        """How many errors there are, also those that were left out."""
        return sum(self.counts.values())

    def mapping(self, raw: object, path: FieldPath) -> dict[str, Any]:
        """Return an object, empty for null, and record any other type."""
        if raw is None:
            return {}
        if isinstance(raw, dict):
            return raw
        self.add(wrong_type(path, "an object", raw))
        return {}

    def items(self, raw: object, path: FieldPath) -> list[Any]:
        """Return a list, empty for null, and record any other type."""
        if raw is None:
            return []
        if isinstance(raw, list):
            return raw
        self.add(wrong_type(path, "a list", raw))
        return []

    @property
    def full(self) -> bool:
        """Whether a reader may stop that lets nothing through for it: some errors have been left out."""
        return any(count >= MAX_ERRORS for count in self.counts.values())

    def objects(self, raw: object, path: FieldPath) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
        """Yield the objects of a list with their paths; null is an object without fields, as in Go."""
        for position, item in enumerate(self.items(raw, path)):
            if item is None or isinstance(item, dict):
                yield path.index(position), item or {}
            elif not self.has_enough(WRONG_TYPE):
                self.add(wrong_type(path.index(position), "an object", item))

    def text(self, raw: object, path: FieldPath) -> str:
        """Return a string, empty for null as Go decodes it, and record any other type."""
        if raw is None:
            return ""
        if isinstance(raw, str):
            return raw
        self.add(wrong_type(path, "a string", raw))
        return ""

    def text_of(self, parent: Mapping[str, Any], name: str, path: FieldPath) -> str:
        """Return the same of a field of an object, which is at ``path``."""
        raw = parent.get(name)
        # Most are texts or absent; a path is built for the others alone.
        return raw if type(raw) is str else "" if raw is None else self.text(raw, path.child(name))

    def name(self, metadata: Mapping[str, Any], path: FieldPath) -> str:
        """Return the name in an object's metadata, which is at ``path``; record where there is none."""
        name = metadata.get("name")
        if isinstance(name, str) and name:
            return name
        self.add(wrong_type(path.child("name"), "a name", name))
        return ""

    def integer(self, raw: object, path: FieldPath, *, bits: int = 32) -> int | None:
        """Return an integer of so many bits, 0 for null; None for anything else, which is recorded."""
        most = 2 ** (bits - 1) - 1
        if raw is None:
            return 0
        if type(raw) is not int:
            self.add(wrong_type(path, "an integer", raw))
        elif not -most - 1 <= raw <= most:
            self.add(invalid_value(path, raw, f"must be an integer from {-most - 1} to {most}", WRONG_TYPE))
        else:
            return raw
        return None

    def flag(self, raw: object, path: FieldPath) -> bool:
        """Return a boolean, false for null, and record any other type."""
        if raw is None or isinstance(raw, bool):
            return bool(raw)
        self.add(wrong_type(path, "a boolean", raw))
        return False

    def labels(self, raw: object, path: FieldPath) -> dict[str, str]:
        """Return a mapping of strings, leaving out and recording what is none."""
        mapping = self.mapping(raw, path)
        if set(map(type, mapping.values())) <= _ONLY_TEXTS:
            return mapping
        labels, enough = {}, self.has_enough(WRONG_TYPE)
        for key, value in mapping.items():
            if isinstance(value, str):
                labels[key] = value
            elif value is not None and not enough:
                self.text(value, path.key(shown_name(key)))
                # Asked here alone: there may be a hundred thousand more.
                enough = self.has_enough(WRONG_TYPE)
        return labels

    def unknown(self, mapping: Mapping[str, Any], path: FieldPath, *, known: KeysView[str]) -> None:
        """Record every field of an object that it does not have."""
        if mapping.keys() <= known:
            return
        for name in mapping:
            if name not in known and not self.has_enough(UNKNOWN_FIELD):
                self.add(unknown_field(path, name, known))


def descend(obj: Mapping[str, Any], way: tuple[str, ...], found: ErrorList | None = None) -> dict[str, Any]:
    """Follow names down to an object; anything of another type on the way is read as empty.

    Args:
        obj: Where to begin.
        way: The names.
        found: Records what is of another type.
    """
    node: Any = obj
    for depth, name in enumerate(way):
        value = node.get(name)
        if isinstance(value, dict):
            node = value
        else:
            # Most of what is no object is not there, and needs no path.
            node = {}
            if value is not None and found is not None:
                found.mapping(value, FieldPath(way[: depth + 1]))
    return node  # type: ignore[no-any-return]  # a dict: obj, or what the loop left


def member(parent: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, empty where there is none or it is of another type."""
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def text_member(parent: object, name: str) -> str:
    """Return a field of an object, empty where there is none or it is no text."""
    value = parent.get(name) if isinstance(parent, dict) else None
    return value if isinstance(value, str) else ""


def list_member(parent: Mapping[str, Any], name: str) -> list[Any]:
    """Return a field that is a list, empty where there is none or it is of another type."""
    value = parent.get(name)
    return value if isinstance(value, list) else []


def objects_at(raw: object, path: FieldPath) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the objects of a list with their paths; passes over what ``object_items`` does."""
    for position, item in enumerate(raw if isinstance(raw, list) else ()):
        if isinstance(item, dict):
            yield path.index(position), item


def object_items(raw: object) -> list[dict[str, Any]]:
    """Return the objects of a list; what is no object is passed over, and so is what is no list."""
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []
