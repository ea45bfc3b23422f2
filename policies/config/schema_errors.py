"""Say in sentences of ours where a document breaks its JSON Schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jsonschema

from policies.manifests.fields import (
    UNKNOWN_FIELD,
    ErrorKind,
    FieldError,
    FieldPath,
    Key,
    shown,
    shown_name,
    wrong_type,
)

#: The rule that a value breaks which its field cannot have.
VALUE_INVALID = "value-invalid"
#: The rule that an object breaks which lacks a required field.
FIELD_MISSING = "field-missing"

#: What a path shows as a plain field; anything else stands in brackets, cut short.
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "boolean": "a boolean",
}
#: What the patterns of the schema mean, by the form that the text should have.
_FORMS = {
    "name": 'a DNS subdomain: lower-case letters, digits, "-" and ".", as in "team-a.production"',
    "namespace": 'a namespace: lower-case letters, digits and "-", with "*" for any characters',
    "kind": 'a kind, as in "Deployment"',
    "names": 'a name of objects: lower-case letters, digits, "-" and ".", with "*" for any characters',
    "date": 'a date, as in "2027-01-31"',
    "rule": 'a rule id, as in "max-skew-not-positive"',
}


def schema_errors(validator: jsonschema.Draft202012Validator, value: object) -> list[FieldError]:
    """Return everything in a document that its schema does not allow, in the order of the paths."""
    errors = [error for found in validator.iter_errors(value) for error in _translated(found)]
    return sorted(errors, key=lambda error: [str(segment) for segment in error.path.segments])


def _translated(error: Any) -> Iterator[FieldError]:
    """Yield our errors for one of jsonschema's, whose type declares every member as possibly unset."""
    path = _path(error.absolute_path)
    match error.validator:
        case "type":
            yield wrong_type(path, _TYPES[str(error.validator_value)], error.instance)
        case "additionalProperties":
            yield from _unknown(path, error.instance, list(error.schema.get("properties", {})))
        case "required":
            yield from _missing(path, error)
        case "enum" | "const":
            yield _not_allowed(path, error)
        case _:
            yield FieldError(path, _sentence(error), ErrorKind.INVALID, VALUE_INVALID)


def _path(segments: Iterable[Any]) -> FieldPath:
    return FieldPath(
        tuple(
            segment
            if isinstance(segment, int) or _FIELD_NAME.fullmatch(segment)
            else Key(shown_name(segment))
            for segment in segments
        )
    )


def _unknown(path: FieldPath, value: Mapping[str, object], known: list[str]) -> Iterator[FieldError]:
    by_lower = {name.lower(): name for name in known}
    for name in value:
        if name in known:
            continue
        close = difflib.get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.7)
        hint = f"did you mean {by_lower[close[0]]}?" if close else f"the fields are {', '.join(known)}"
        field = path.child(name) if _FIELD_NAME.fullmatch(name) else path.key(shown_name(name))
        yield FieldError(field, f"is no field here; {hint}", ErrorKind.INVALID, UNKNOWN_FIELD)


def _missing(path: FieldPath, error: Any) -> Iterator[FieldError]:
    """Yield the error of one missing field; jsonschema reports each on its own, by its message only."""
    for name in error.validator_value:
        if error.message.startswith(repr(name)):
            yield FieldError(path.child(name), "is required", ErrorKind.REQUIRED, FIELD_MISSING)


def _not_allowed(path: FieldPath, error: Any) -> FieldError:
    allowed = [error.validator_value] if error.validator == "const" else list(error.validator_value)
    if not isinstance(error.instance, str):
        return wrong_type(path, f"a string, one of {_listed(allowed)}", error.instance)
    wanted = _listed(allowed) if len(allowed) == 1 else f"one of {_listed(allowed)}"
    text = f"must be {wanted}, got {shown(error.instance)}"
    return FieldError(path, text, ErrorKind.NOT_SUPPORTED, VALUE_INVALID)


def _listed(allowed: list[str]) -> str:
    return ", ".join(f'"{value}"' for value in allowed)


def _sentence(error: Any) -> str:
    limit, got = error.validator_value, shown(error.instance)
    match error.validator:
        case "minimum":
            return f"must be at least {limit}, got {got}"
        case "maximum":
            return f"must be at most {limit}, got {got}"
        case "minLength" | "minItems":
            return "must not be empty"
        case "maxLength":
            return f"must be at most {limit} characters long, got {len(error.instance)}"
        case "pattern":
            return f"must be {_FORMS[error.schema['title']]}, got {got}"
    return f"is not allowed, got {got}"
