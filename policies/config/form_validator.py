"""jsonschema's validator of Draft 2020-12, for values that anyone may send.

Its own messages repeat the value, however large, so keywords that do are here without one, and its own
``anyOf`` tells the errors of every branch: here it follows the one that is meant. Lists and mappings are
counted before they are looked into, keys of mappings are marked as such, and 1.0 is no integer.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from policies.manifests.fields import Key, shown_name

_Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]

#: Entries of a list or mapping whose schema has no limit of its own, where each is looked into.
MOST_ENTRIES: Final = 10_000
#: The schema of an object of Kubernetes within a request: nothing looks into it, and there may be many.
_OPAQUE: Final = {"type": "object"}

_TYPES: Final[Any] = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: type(value) is int,
        # YAML has such as are none.
        "number": lambda _, value: type(value) is int or (type(value) is float and isfinite(value)),
    }
)


def _assertion(holds: Callable[[Any, Any], bool], kind: str = "") -> _Keyword:
    """Return the function of a keyword, from what says whether it holds of a value of a type, or of any."""

    def keyword(_validator: Any, limit: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if (not kind or _TYPES.is_type(value, kind)) and not holds(value, limit):
            yield ValidationError("")

    return keyword


def _has_type(value: Any, types: Any) -> bool:
    return any(_TYPES.is_type(value, each) for each in ([types] if isinstance(types, str) else types))


def _any_of(validator: Any, branches: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Follow the branch of the value's type, of several objects that with the most of its fields."""
    fitting = [each for each in branches if _has_type(value, each.get("type", "string"))]
    if not fitting:
        yield ValidationError("")
        return
    names = value.keys() if isinstance(value, dict) else set[str]()
    branch = max(fitting, key=lambda each: len(names & each.get("properties", {}).keys()))
    yield from validator.descend(value, branch)


def _entries(keyword: str, kind: Any) -> _Keyword:
    """Return jsonschema's own function of a keyword that looks into lists or mappings, of bounded length."""
    own: Any = Draft202012Validator.VALIDATORS[keyword]
    limit = "maxItems" if kind is list else "maxProperties"

    def look(validator: Any, entry: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if not isinstance(value, kind):
            return
        if entry == _OPAQUE and kind is list:
            others = [(at, item) for at, item in enumerate(value) if not isinstance(item, dict)]
            yield from (error for at, item in others for error in validator.descend(item, entry, path=at))
        elif len(value) > (most := schema.get(limit, MOST_ENTRIES)):
            yield ValidationError("", validator=limit, validator_value=most)
        else:
            for error in own(validator, entry, value, schema):
                if kind is dict and entry is not False:
                    name = error.path.popleft() if error.path else error.instance
                    error.path.appendleft(Key(shown_name(name)))
                yield error

    return look


#: What is counted, by how its keywords end.
_COUNTED: Final[Mapping[str, str]] = {"Length": "string", "Items": "array", "Properties": "object"}

FormValidator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "type": _assertion(_has_type),
        "enum": _assertion(lambda value, allowed: value in allowed),
        "anyOf": _any_of,
        "items": _entries("items", list),
        **{
            name: _entries(name, dict)
            for name in ("additionalProperties", "patternProperties", "propertyNames")
        },
        "minimum": _assertion(operator.ge, "number"),
        "maximum": _assertion(operator.le, "number"),
        **{f"min{what}": _assertion(lambda each, n: len(each) >= n, of) for what, of in _COUNTED.items()},
        **{f"max{what}": _assertion(lambda each, n: len(each) <= n, of) for what, of in _COUNTED.items()},
        "pattern": _assertion(lambda text, pattern: bool(re.search(pattern, text)), "string"),
    },
    type_checker=_TYPES,
)
