"""The form of a value, by the JSON Schema of its type: all that is wrong with it, in Kubernetes' words.

The schema is the published one, a file beside the module of the type, which ``make generate`` writes. It
looks only into what the type declares, so however deep an object of Kubernetes is within a request, it is
opaque here. A value without errors can be built (``policies/manifests/wire``).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

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
from policies.manifests.wire import Received, from_json

#: Errors of one value that are collected, more than anyone fixes at once.
MOST_ERRORS: Final = 100

#: Errors of meaning that are so whatever other fields say.
_OF_ONE_FIELD: Final = frozenset({ErrorKind.INVALID, ErrorKind.NOT_SUPPORTED, ErrorKind.DUPLICATE})
#: What a type of JSON is called, in the order in which several are listed.
_NOUNS: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
}

_T = TypeVar("_T", bound=Received)


def read(kind: type[_T], value: object, found: ErrorList) -> _T | None:
    """Return a value of a type; None if it has not its form.

    Args:
        kind: The type.
        value: What JSON or YAML has.
        found: Takes what is wrong with its form, and what the type's own ``check`` finds; in a value without
            its form that looks at the fields that have it, if these make one.
    """
    errors = form_errors(kind, value)
    found.extend(errors)
    if not isinstance(value, dict):
        return None
    if not errors:
        built = from_json(kind, value)
        built.check(found)
        return built
    wrong = {error.path.segments[:1] for error in errors}
    right = {name: value[name] for name in value if (name,) not in wrong}
    # There may be more errors than were collected, and what is required may be gone.
    if not form_errors(kind, right):
        meant = ErrorList()
        from_json(kind, right).check(meant)
        found.extend(error for error in meant.errors if error.kind in _OF_ONE_FIELD)
    return None


def form_errors(kind: type, value: object) -> list[FieldError]:
    """Return what is wrong with the form of a value of a type, in the order of the paths: see ``read``."""
    return worded_errors(_validator(kind), value)


def prepare(kind: type) -> None:
    """Make the validator of a type, which takes a while, before children are forked that need it."""
    _validator(kind)


@cache
def _validator(kind: type) -> Any:
    # Only a program with something to check pays for jsonschema.
    from policies.config.form_validator import FormValidator  # noqa: PLC0415

    return FormValidator(orjson.loads(schema_text(kind)), format_checker=FormValidator.FORMAT_CHECKER)


def schema_text(kind: type) -> bytes:
    """Return the published JSON Schema of a type."""
    return Path(inspect.getfile(kind)).with_name(schema_file(kind)).read_bytes()


def schema_file(kind: type) -> str:
    """Return the name of the file with the JSON Schema of a type, beside the module of the type."""
    return f"{kind.__name__.removesuffix('Document').lower()}.schema.json"


def worded_errors(validator: Any, value: object) -> list[FieldError]:
    """Return what a validator finds wrong with a value, an error a path, in the order of the paths."""
    by_path: dict[tuple[str | int, ...], FieldError] = {}
    for error in islice(chain.from_iterable(map(_worded, validator.iter_errors(value))), MOST_ERRORS):
        # What else is wrong with a value follows from the first.
        by_path.setdefault(error.path.segments, error)
    return [by_path[path] for path in sorted(by_path)]


def _worded(error: Any) -> Iterator[FieldError]:
    """Yield an error in Kubernetes' words, by the keyword that failed."""
    path, keyword, limit = FieldPath(tuple(error.path)), error.validator, error.validator_value
    value, schema = error.instance, error.schema
    match keyword:
        case "additionalProperties":
            known = schema["properties"]
            yield from (unknown_field(path, name, known) for name in value if name not in known)
        case "required":
            missing = (name for name in limit if name not in value)
            yield from (required_value(path.child(name), "", FIELD_MISSING) for name in missing)
        case "type" | "anyOf":
            yield wrong_type(path, _wanted(schema), value)
        case "enum" | "const":
            yield unsupported_value(path, value, limit if keyword == "enum" else [limit], VALUE_INVALID)
        case "minimum" | "maximum":
            bound = "greater" if keyword == "minimum" else "less"
            yield invalid_value(path, value, f"must be {bound} than or equal to {limit:,}", VALUE_INVALID)
        case "maxLength":
            text = f"Too long: may not be more than {limit:,} characters"
            yield FieldError(path, text, ErrorKind.TOO_LONG, VALUE_INVALID)
        case _ if "title" in schema and keyword in schema:
            yield invalid_value(path, value, f"must be {schema['title']}", VALUE_INVALID)
        case "maxItems" | "maxProperties":
            text = f"Too many: {len(value):,}: must have at most {limit:,} entries"
            yield FieldError(path, text, ErrorKind.TOO_MANY, VALUE_INVALID)
        case _:
            # An empty value counts as a missing one.
            yield required_value(path, "must not be empty", FIELD_MISSING)


def _wanted(schema: Any) -> str:
    """Return what a schema allows, with its article."""
    if "enum" in schema:
        return " or ".join(f'"{each}"' for each in schema["enum"])
    types = schema.get("type", ())
    parts = [_NOUNS[each] for each in ([types] if isinstance(types, str) else types) if each in _NOUNS]
    parts += filter(None, map(_wanted, schema.get("anyOf", ())))
    return " or ".join(dict.fromkeys(parts))
