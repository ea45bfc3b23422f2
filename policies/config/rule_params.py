"""The settings that a policy gives a rule: held to the rule's ``Params``, and made into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

from policies.manifests.fields import (
    FieldError,
    FieldPath,
    shown_name,
    unknown_field,
    wrong_type,
)

#: The types of settings, as a message names them.
_WORDS: dict[Any, str] = {int: "an integer", float: "a number", bool: "a boolean", str: "a string"}


def params_errors(params: type[Any] | None, raw: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what is wrong with the settings of one rule.

    Args:
        params: The dataclass of the rule's settings; None for a rule without.
        raw: The settings, by the names of the dataclass' attributes in camelCase.
        path: Where they stand.
    """
    hints = get_type_hints(params) if params is not None else {}
    known = [_in_document(field.name) for field in fields(params)] if params is not None else []
    for name, value in raw.items():
        where = path.child(shown_name(name))
        if name not in known:
            yield unknown_field(path, name, known)
        elif not _fits(value, hints[_attribute(name)]):
            yield wrong_type(where, _wanted(hints[_attribute(name)]), value)


def build_params(params: type[Any], raw: Mapping[str, Any]) -> Any:
    """Return the settings of a rule; what the policy leaves out has the rule's own default."""
    values = {
        _attribute(name): tuple(value) if isinstance(value, list) else value for name, value in raw.items()
    }
    return params(**values)


def _in_document(attribute: str) -> str:
    first, *others = attribute.split("_")
    return first + "".join(map(str.capitalize, others))


def _attribute(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _fits(value: object, hint: Any) -> bool:
    if get_origin(hint) in (tuple, list, frozenset):
        (item, *_) = get_args(hint)
        return isinstance(value, list) and all(_fits(entry, item) for entry in value)
    if hint in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)


def _wanted(hint: Any) -> str:
    if get_origin(hint) in (tuple, list, frozenset):
        return f"a list, each entry {_WORDS.get(get_args(hint)[0], 'of its own type')}"
    return _WORDS.get(hint, getattr(hint, "__name__", "of another type"))
