"""Settings of a rule, as a policy gives them: what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin, get_type_hints

from policies.manifests.fields import FieldError, FieldPath, shown_name, unknown_field, wrong_type
from policies.manifests.wire import document_name
from policies.rules.base import Rule

#: The types of settings, as a message names them.
_WORDS: dict[Any, str] = {int: "an integer", float: "a number", bool: "a boolean", str: "a string"}


def settings_errors(rule: Rule, settings: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield the errors in settings of a rule.

    Args:
        rule: The rule.
        settings: The settings, by the names of the attributes of ``Params`` in camelCase.
        path: Where they are written.
    """
    hints = get_type_hints(rule.params) if rule.params is not None else {}
    known = {document_name(name): hint for name, hint in hints.items()}
    for name, value in settings.items():
        where = path.child(shown_name(name))
        if name not in known:
            yield unknown_field(path, name, known)
        elif not _fits(value, known[name]):
            yield wrong_type(where, _wanted(known[name]), value)


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
