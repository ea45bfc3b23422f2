"""Which objects the ``target`` of a kustomization's patch means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: One requirement of a selector with the comma behind it.
_REQUIREMENT: Final = re.compile(
    r"\s*+(?P<absent>!)?(?P<key>[\w./-]++)\s*+"
    r"(?:(?:(?P<set>in|notin)\s*+\((?P<values>[^()]*+)\)|(?P<sign>==?|!=)\s*+(?P<value>[\w.-]*+))\s*+)?(?:,|$)"
)


def is_target(target: Mapping[str, Any], kind: str, names: Iterable[str], value: Mapping[str, Any]) -> bool:
    """Tell whether a target means an object.

    Args:
        target: The target.
        kind: The object's kind.
        names: Its names, with prefix and suffix and without.
        value: What its resource states.
    """
    if not _fits(target.get("kind"), [kind]) or not _fits(target.get("name"), names):
        return False
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return _selects(target.get("labelSelector"), metadata.get("labels")) and _selects(
        target.get("annotationSelector"), metadata.get("annotations")
    )


def _fits(pattern: Any, names: Iterable[str]) -> bool:
    """Tell whether a target's regular expression, which must match a whole name, matches one of them."""
    if not pattern:
        return True
    try:
        compiled = re.compile(str(pattern))
    except re.error:
        return False
    return any(compiled.fullmatch(name) for name in names)


def _selects(selector: Any, labels: Any) -> bool:
    """Tell whether a selector as kubectl takes it holds, such as ``app=web,tier in (a, b),!old``."""
    if not isinstance(selector, str) or not selector.strip():
        return True
    labels = labels if isinstance(labels, dict) else {}
    position = 0
    while position < len(selector):
        requirement = _REQUIREMENT.match(selector, position)
        # Kustomize refuses what is none, and then builds nothing.
        if requirement is None or not _holds(requirement, labels):
            return False
        position = requirement.end()
    return True


def _holds(requirement: re.Match[str], labels: Mapping[str, Any]) -> bool:
    key, sign = requirement["key"], requirement["set"] or requirement["sign"]
    if sign is None:
        return (key in labels) is not bool(requirement["absent"])
    text = requirement["values"] if requirement["set"] else requirement["value"]
    wanted = {value.strip() for value in text.split(",")}
    return (labels.get(key) in wanted) is (sign in {"in", "=", "=="})
