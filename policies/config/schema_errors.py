"""Translate the errors of a JSON Schema into field errors, in Kubernetes' words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    FieldError,
    FieldPath,
    Key,
    invalid_value,
    required_value,
    shown_name,
    unknown_field,
    unsupported_value,
    wrong_type,
)

if TYPE_CHECKING:
    import jsonschema


#: What a path shows as a plain field; any other key is in brackets, cut short.
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
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
    path = field_path(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        path = path.key(shown_name(error.instance))
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
            yield invalid_value(path, error.instance, _detail(error), VALUE_INVALID)


def field_path(segments: Iterable[Any]) -> FieldPath:
    """Return the path of keys and positions: what is no name of a field is shown in brackets."""
    return FieldPath(
        tuple(
            segment
            if isinstance(segment, int) or _FIELD_NAME.fullmatch(segment)
            else Key(shown_name(segment))
            for segment in segments
        )
    )


def _unknown(path: FieldPath, value: Mapping[str, object], known: list[str]) -> Iterator[FieldError]:
    yield from (unknown_field(path, name, known) for name in value if name not in known)


def _missing(path: FieldPath, error: Any) -> Iterator[FieldError]:
    """Yield the error of one missing field; jsonschema reports each on its own, by its message only."""
    for name in error.validator_value:
        if error.message.startswith(repr(name)):
            yield required_value(path.child(name), "", FIELD_MISSING)


def _not_allowed(path: FieldPath, error: Any) -> FieldError:
    allowed = [error.validator_value] if error.validator == "const" else list(error.validator_value)
    if not isinstance(error.instance, str):
        return wrong_type(path, f"a string, one of {', '.join(allowed)}", error.instance)
    return unsupported_value(path, error.instance, allowed, VALUE_INVALID)


def _detail(error: Any) -> str:
    """Return the requirement that a value does not meet, in Kubernetes' words where it has them."""
    limit = error.validator_value
    match error.validator:
        case "minimum":
            return f"must be greater than or equal to {limit}"
        case "maximum":
            return f"must be less than or equal to {limit}"
        case "minLength" | "minItems":
            return "must not be empty"
        case "maxLength":
            return f"must be no more than {limit} characters"
        case "pattern":
            return f"must be {_FORMS[error.schema['title']]}"
    return "is not allowed"
