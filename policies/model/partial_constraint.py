"""The readable part of a constraint that the API server refuses, so that the rest is evaluated too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from policies.manifests.fields import FieldPath, similar_name
from policies.model.api_rules import ApiRule
from policies.model.constraint import (
    ACTIONS,
    CONSTRAINT_FIELDS,
    INCLUSION_POLICIES,
    INT32_MAX,
    Constraint,
    WhenUnsatisfiable,
)
from policies.model.labels import label_key_problems, label_selector_errors
from policies.model.validation import INCLUSION_FIELDS, constraint_errors

#: Digits of the largest number that is read from a text: int32 has ten.
_DIGITS: Final = 10
#: What nearly every constraint has, for a ``maxSkew`` that is none.
_USUAL_MAX_SKEW: Final = 1
#: The values of ``whenUnsatisfiable``, by what is left of one that is written in other letters.
_ACTIONS: Final = {action.lower(): action for action in ACTIONS}


def readable_constraint(
    raw: Mapping[str, Any], labels: Mapping[str, str], unreadable: Collection[str]
) -> tuple[Constraint, Mapping[str, Any]] | None:
    """Return a constraint without what is wrong with it, and the entry that would mean it.

    Numbers in quotes are numbers, and a misspelled field is the one that it is taken for. A selector that
    cannot be read, or that the API server demands, is taken to be right: it selects the pods that carry it,
    so that no rule finds fault with what is not known.

    Args:
        raw: The entry as it was written.
        labels: The labels of the pods that could be read.
        unreadable: The keys of the others.

    Returns:
        None where the topology key or ``whenUnsatisfiable`` cannot be read, or where neither the selector nor
        any label can.

    >>> raw = {"maxSkew": "2", "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    >>> readable_constraint(raw, {}, ())[1]["maxSkew"]
    2
    """
    entry = _known_fields(raw)
    entry["maxSkew"] = _positive(entry.get("maxSkew")) or _USUAL_MAX_SKEW
    action = entry["whenUnsatisfiable"] = _ACTIONS.get(str(entry.get("whenUnsatisfiable")).lower())
    least = _positive(entry.pop("minDomains", None))
    if least and action == WhenUnsatisfiable.DO_NOT_SCHEDULE:
        entry["minDomains"] = least
    for name in INCLUSION_FIELDS:
        if entry.get(name) not in INCLUSION_POLICIES:
            entry.pop(name, None)
    if "matchLabelKeys" in entry:
        keys = entry["matchLabelKeys"]
        keys = keys if isinstance(keys, list) else [keys]
        entry["matchLabelKeys"] = [
            key for key in keys if isinstance(key, str) and not label_key_problems(key)
        ]
    if entry.get("matchLabelKeys"):
        entry.setdefault("labelSelector", None)
    if "labelSelector" in entry and not _is_readable(entry["labelSelector"], unreadable):
        if not labels:
            return None
        entry["labelSelector"] = {"matchLabels": labels}
    errors = constraint_errors([entry], FieldPath(), labels=labels, of_template=True, strict=False)
    # A key that the selector has, too, is read as it is there.
    if any(error.rule != ApiRule.MATCH_LABEL_KEY_IN_SELECTOR for error in errors):
        return None
    return Constraint.parse(entry), entry


def _known_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that are known, a misspelled one under the name that was meant."""
    entry = {name: value for name, value in raw.items() if value is not None and name in CONSTRAINT_FIELDS}
    for name in raw.keys() - CONSTRAINT_FIELDS:
        meant = similar_name(name, CONSTRAINT_FIELDS)
        if meant and raw[name] is not None:
            entry.setdefault(meant, raw[name])
    return entry


def _positive(value: object) -> int | None:
    """Return a number above zero that the API takes, also one in quotes; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS:
        value = int(value)
    return value if type(value) is int and 0 < value <= INT32_MAX else None


def _is_readable(selector: object, unreadable: Collection[str]) -> bool:
    """Return whether a selector is one, and requires no label of the pods that cannot be read."""
    if not isinstance(selector, dict) or label_selector_errors(selector, FieldPath()):
        return False
    expressions = selector.get("matchExpressions") or ()
    named = {*(selector.get("matchLabels") or ()), *(expression.get("key") for expression in expressions)}
    return named.isdisjoint(unreadable)
