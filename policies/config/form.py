"""The form of a value, by the JSON Schema of its type: all that is wrong with it, in Kubernetes' words.

The schema looks only into what its type declares, so however deep an object of Kubernetes is within a
request, it is opaque here. A value without errors can be built (``policies/manifests/from_json``).
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar

from policies.config.spread_policy import API_VERSION
from policies.config.type_schema import Schema, class_schema
from policies.manifests.fields import (
    FIELD_MISSING,
    VALUE_INVALID,
    ErrorKind,
    ErrorList,
    FieldError,
    FieldPath,
    invalid_value,
    required_value,
    unknown_field,
    unsupported_value,
    wrong_type,
)
from policies.manifests.from_json import from_json
from policies.manifests.wire import Received

#: Errors of one value that are collected, more than anyone fixes at once.
MOST_ERRORS: Final = 100

_NOUNS: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
}
#: What a keyword says of a value, given its own.
_WORDS: Final = {
    "minimum": "must be greater than or equal to {:,}",
    "maximum": "must be less than or equal to {:,}",
    "format": "there is no such {}",
}

_T = TypeVar("_T", bound=Received)


def read(kind: type[_T], value: object, found: ErrorList, *, document: str = "") -> _T | None:
    """Return a value of a type; None if it has not its form.

    Args:
        kind: The type.
        value: What JSON or YAML has.
        found: Takes what is wrong with its form, or else what the type's own ``check`` finds.
        document: The kind of the document, where it is one: it then has apiVersion and kind besides.
    """
    errors = form_errors(kind, value, document)
    found.extend(errors)
    if errors or not isinstance(value, dict):
        return None
    built = from_json(kind, value)
    built.check(found)
    return built


def form_errors(kind: type, value: object, document: str = "") -> list[FieldError]:
    """Return what is wrong with the form of a value of a type, in the order of the paths: see ``read``."""
    by_path: dict[tuple[str | int, ...], Any] = {}
    for error in islice(_validator(kind, document).iter_errors(value), MOST_ERRORS):
        # What else is wrong with a value follows from the first.
        by_path.setdefault(tuple(error.path), error)
    return [_worded(by_path[path], FieldPath(path)) for path in sorted(by_path)]


def prepare(kind: type) -> None:
    """Make the validator of a type, which takes a while, before children are forked that need it."""
    _validator(kind, "")


@cache
def _validator(kind: type, document: str) -> Any:
    # Only a program with something to check pays for jsonschema.
    from policies.config.form_validator import FormValidator  # noqa: PLC0415

    return FormValidator(document_schema(kind, document) if document else class_schema(kind))


def document_schema(form: type, kind: str) -> Schema:
    """Return the schema of a document: that of its type, with apiVersion and kind."""
    schema = class_schema(form)
    return schema | {
        "required": ["apiVersion", "kind", *schema.get("required", [])],
        "properties": {
            "apiVersion": {"description": "The version of the document.", "const": API_VERSION},
            "kind": {"description": "The kind of the document.", "const": kind},
            **schema["properties"],
        },
    }


def _worded(error: Any, path: FieldPath) -> FieldError:
    """Return an error in Kubernetes' words, by the keyword that failed."""
    value, limit, schema = error.instance, error.validator_value, error.schema
    match error.validator:
        case "additionalProperties":
            return unknown_field(FieldPath(path.segments[:-1]), error.message, schema["properties"])
        case "required":
            return required_value(path, "", FIELD_MISSING)
        case "type" | "anyOf":
            return wrong_type(path, _wanted(schema), value)
        case "enum":
            return unsupported_value(path, value, limit, VALUE_INVALID)
        case "const":
            return unsupported_value(path, value, [limit], VALUE_INVALID)
        case "maxLength":
            text = f"Too long: may not be more than {limit:,} characters"
            return FieldError(path, text, ErrorKind.TOO_LONG, VALUE_INVALID)
        case "minimum" | "maximum" | "format" as keyword:
            return invalid_value(path, value, _WORDS[keyword].format(limit), VALUE_INVALID)
    return _of_size(error, path)


def _of_size(error: Any, path: FieldPath) -> FieldError:
    """Return the error of a text that is another, or of a value with too few or too many entries."""
    value, limit, title = error.instance, error.validator_value, error.schema.get("title")
    if title:
        return invalid_value(path, value, f"must be {title}", VALUE_INVALID)
    if error.validator.startswith("min"):
        # An empty value counts as a missing one.
        return required_value(path, "must not be empty", FIELD_MISSING)
    text = f"Too many: {len(value):,}: must have at most {limit:,} entries"
    return FieldError(path, text, ErrorKind.TOO_MANY, VALUE_INVALID)


def _wanted(schema: Any) -> str:
    """Return what a schema allows, with its article."""
    if "enum" in schema:
        return " or ".join(f'"{each}"' for each in schema["enum"])
    types = schema.get("type", [])
    parts = [_NOUNS[each] for each in ([types] if isinstance(types, str) else types) if each in _NOUNS]
    parts += filter(None, map(_wanted, schema.get("anyOf", ())))
    return " or ".join(dict.fromkeys(parts))
