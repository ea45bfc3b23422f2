"""What can be read of a constraint with values of the wrong type, so that the rest of it is judged too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from policies.manifests.fields import FieldPath
from policies.model.constraint import Constraint
from policies.model.labels import label_selector_errors
from policies.model.validation import INCLUSION_FIELDS, constraint_errors

#: Digits of the largest number that is read from a text: int32 has ten.
_DIGITS: Final = 10
#: What nearly every constraint has, for a ``maxSkew`` that is no number.
_USUAL_MAX_SKEW: Final = 1


def readable_constraint(
    raw: Mapping[str, Any], labels: Mapping[str, str], unreadable: Collection[str]
) -> tuple[Constraint, Mapping[str, Any]] | None:
    """Return a constraint without what is of the wrong type, and the entry that would mean it.

    Numbers in quotes are numbers. A selector that cannot be read is taken to be right: it selects the pods
    that carry it, so that no rule finds fault with what is not known.

    Args:
        raw: The entry as it was written.
        labels: The labels of the pods that could be read.
        unreadable: The keys of the others.

    Returns:
        None where the topology key or ``whenUnsatisfiable`` cannot be read, where neither the selector nor
        any label can, or where something else is wrong.

    >>> raw = {"maxSkew": "2", "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    >>> readable_constraint(raw, {}, ())[1]["maxSkew"]
    2
    """
    entry = {name: value for name, value in raw.items() if value is not None}
    if "maxSkew" in entry:
        entry["maxSkew"] = _number(entry["maxSkew"]) or _USUAL_MAX_SKEW
    if "minDomains" in entry and (least := _number(entry.pop("minDomains"))):
        entry["minDomains"] = least
    for name in INCLUSION_FIELDS:
        if not isinstance(entry.get(name, ""), str):
            del entry[name]
    if "matchLabelKeys" in entry:
        keys = entry["matchLabelKeys"]
        entry["matchLabelKeys"] = [key for key in _listed(keys) if isinstance(key, str)]
    if "labelSelector" in entry and not _is_readable(entry["labelSelector"], unreadable):
        if not labels:
            return None
        entry["labelSelector"] = {"matchLabels": labels}
    if constraint_errors([entry], FieldPath(), labels=labels, of_template=True, strict=False):
        return None
    return Constraint.parse(entry), entry


def _number(value: object) -> int | None:
    """Return a number, also one in quotes; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)
    return value if type(value) is int else None


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _is_readable(selector: object, unreadable: Collection[str]) -> bool:
    """Return whether a selector is one, and asks for no label of the pods that cannot be read."""
    if not isinstance(selector, dict) or label_selector_errors(selector, FieldPath()):
        return False
    expressions = selector.get("matchExpressions") or ()
    named = {*(selector.get("matchLabels") or ()), *(expression.get("key") for expression in expressions)}
    return named.isdisjoint(unreadable)
