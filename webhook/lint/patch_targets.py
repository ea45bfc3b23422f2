"""Which objects the ``target`` of a kustomization's patch means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: One requirement of a selector with the comma behind it; what was matched is never given back, so that many
#: blanks cost no more than reading them.
_REQUIREMENT: Final = re.compile(
    r"\s*+(?P<absent>!)?(?P<key>[\w./-]++)\s*+"
    r"(?:(?P<set>in|notin)\s*+\((?P<values>[^()]*+)\)|(?P<sign>==?|!=)\s*+(?P<value>[\w.-]*+))?\s*+(?:,|$)"
)


#: Characters of a target's expression, and repetitions in it, up to which it is matched: Python's expressions
#: come back to earlier places where Go's do not, and they come from untrusted files; people write ``web-``
#: with one ``.*``.
MAX_PATTERN: Final = 200
MAX_REPETITIONS: Final = 2
#: A repetition, and a repeated group.
_REPEATED: Final = re.compile(r"[*+{]")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")


def is_target(target: Mapping[str, Any], kind: str, names: Iterable[str], value: Mapping[str, Any]) -> bool:
    """Return whether a target means an object.

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
    """Return whether a target's regular expression, which must match a whole name, matches one of them.

    Of one that could take long it is not known: what its patch states is then at no line.
    """
    if not pattern:
        return True
    text = str(pattern)
    if (
        len(text) > MAX_PATTERN
        or _REPEATED_GROUP.search(text)
        or len(_REPEATED.findall(text)) > MAX_REPETITIONS
    ):
        return False
    try:
        compiled = re.compile(text)
    except re.error:
        return False
    return any(compiled.fullmatch(name) for name in names)


def _selects(selector: Any, labels: Any) -> bool:
    """Return whether a selector as kubectl takes it holds, such as ``app=web,tier in (a, b),!old``."""
    if not isinstance(selector, str) or not selector.strip():
        return True
    labels = labels if isinstance(labels, dict) else {}
    end = 0
    while end < len(selector):
        requirement = _REQUIREMENT.match(selector, end)
        # Kustomize refuses what is none, and then builds nothing.
        if requirement is None or not _holds(requirement, labels):
            return False
        end = requirement.end()
    return True


def _holds(requirement: re.Match[str], labels: Mapping[str, Any]) -> bool:
    key, sign = requirement["key"], requirement["set"] or requirement["sign"]
    if sign is None:
        return (key in labels) is not bool(requirement["absent"])
    text = requirement["values"] if requirement["set"] else requirement["value"]
    wanted = {value.strip() for value in text.split(",")}
    return (labels.get(key) in wanted) is (sign in {"in", "=", "=="})
