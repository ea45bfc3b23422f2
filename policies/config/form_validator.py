"""jsonschema's validator of Draft 2020-12, for values that anyone may send.

Its own messages repeat a whole value, however large, and its own ``anyOf`` tells the errors of every branch.
Here errors have no message, a field that is missing or unknown is at its own path, keys of mappings are
marked as such, ``anyOf`` follows the branch that is meant, and 1.0 is no integer.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from math import isfinite
from typing import Any, Final, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from policies.manifests.fields import Key, shown_name

_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]

#: Entries of a list or mapping whose schema has no limit of its own, where each is looked into.
MOST_ENTRIES: Final = 10_000
#: Values that need no look where this is all that their schema says: a cluster has a hundred thousand.
_PLAIN: Final[Mapping[str, type]] = {"object": dict, "string": str}


def _assertion(kind: type | tuple[type, ...], holds: Callable[[Any, Any], bool]) -> _Keyword:
    """Return the function of a keyword that concerns values of a type."""

    def keyword(_validator: Any, limit: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, kind) and not holds(value, limit):
            yield ValidationError("")

    return keyword


def _type(validator: Any, types: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not any(validator.is_type(value, each) for each in ([types] if isinstance(types, str) else types)):
        yield ValidationError("")


def _any_of(validator: Any, branches: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Follow the branch of the value's type, of several objects that with the most of its fields."""
    fitting = [branch for branch in branches if _fits(validator, branch, value)]
    if not fitting:
        yield ValidationError("")
        return
    names = value.keys() if isinstance(value, dict) else set[str]()
    branch = max(fitting, key=lambda each: len(names & each.get("properties", {}).keys()))
    yield from validator.descend(value, branch)


def _fits(validator: Any, branch: Any, value: Any) -> bool:
    if "enum" in branch:
        return isinstance(value, str)
    return next(_type(validator, branch.get("type", ()), value, branch), None) is None


def _required(validator: Any, names: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Null is a missing value, too, where the field cannot be null."""
    for name in names if isinstance(value, dict) else ():
        if value.get(name) is None and not (
            name in value and validator.evolve(schema=schema["properties"][name]).is_valid(None)
        ):
            yield ValidationError("", path=[name])


def _additional(validator: Any, others: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    known = schema.get("properties", {})
    if not isinstance(value, dict) or value.keys() <= known.keys():
        return
    if others is False:
        yield from (ValidationError(name, path=[shown_name(name)]) for name in value if name not in known)
    else:
        yield from _entries(validator, others, value, schema)


def _names(validator: Any, names: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    for name in value if isinstance(value, dict) else ():
        yield from validator.descend(name, names, path=Key(shown_name(name)))


def _items(validator: Any, entry: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, list):
        yield from _entries(validator, entry, value, schema)


def _entries(
    validator: Any, entry: Any, value: list[Any] | dict[str, Any], schema: Any
) -> Iterator[ValidationError]:
    plain = next((kind for name, kind in _PLAIN.items() if entry == {"type": name}), None)
    limit = "maxItems" if isinstance(value, list) else "maxProperties"
    if plain is None and len(value) > (most := schema.get(limit, MOST_ENTRIES)):
        yield ValidationError("", validator=limit, validator_value=most)
        return
    for key, item in enumerate(value) if isinstance(value, list) else value.items():
        if type(item) is not plain:
            at = Key(shown_name(key)) if isinstance(key, str) else key
            yield from validator.descend(item, entry, path=at)


def _counted(kind: type, compare: Callable[[int, int], bool]) -> _Keyword:
    return _assertion(kind, lambda value, limit: compare(len(value), limit))


def _is_format(text: str, name: str) -> bool:
    try:
        return name != "date" or bool(date.fromisoformat(text))
    except ValueError:
        return False


_NUMBERS: Final = (int, float)
_COUNTED: Final = {"Length": str, "Items": list, "Properties": dict}

FormValidator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "type": _type,
        "enum": _assertion(object, lambda value, allowed: value in allowed),
        "const": _assertion(object, operator.eq),
        "anyOf": _any_of,
        "required": _required,
        "additionalProperties": _additional,
        "propertyNames": _names,
        "items": _items,
        "minimum": _assertion(_NUMBERS, operator.ge),
        "maximum": _assertion(_NUMBERS, operator.le),
        **{f"min{what}": _counted(kind, operator.ge) for what, kind in _COUNTED.items()},
        **{f"max{what}": _counted(kind, operator.le) for what, kind in _COUNTED.items()},
        "pattern": _assertion(str, lambda text, pattern: re.search(pattern, text) is not None),
        "format": _assertion(str, _is_format),
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: type(value) is int,
            # YAML has such as are none.
            "number": lambda _, value: type(value) is int or (type(value) is float and isfinite(value)),
        }
    ),
)
