"""All errors of a NodeGroups document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from policies.config.node_groups import KIND, NodeGroups
from policies.config.read_document import read_document
from policies.manifests.fields import (
    NAME_TAKEN,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    member,
    objects_at,
    required_value,
    shown_name,
    unsupported_value,
)
from policies.model.labels import label_key_errors, label_value_errors
from policies.model.quantity import read_amounts
from policies.model.taints import TaintEffect
from policies.model.topology_keys import ZONE

#: What a pattern of names may hold; ``.*`` stands for any characters, of which there may be few.
_PATTERN: Final = re.compile(r"\^?[A-Za-z0-9_./:*-]*\$?")
#: The resources without which nothing can be compared.
_NEEDED: Final = ("cpu", "memory")


def read_node_groups(value: object, found: ErrorList) -> NodeGroups:
    """Return a NodeGroups document, and record everything that is wrong with it."""
    document = read_document(NodeGroups, KIND, value, found)
    raw = value if isinstance(value, dict) else {}
    names = set[str]()
    for where, group in objects_at(raw.get("groups"), FieldPath(("groups",))):
        found.extend(_group_errors(group, where, names))
    for where, entry in objects_at(raw.get("priorities"), FieldPath(("priorities",))):
        path = where.child("names")
        texts = entry.get("names")
        for number, text in enumerate(texts if isinstance(texts, list) else ()):
            if isinstance(text, str) and not is_pattern(text):
                form = 'must hold letters, digits, "-_./:", ".*", and "^" and "$" at the ends'
                found.add(invalid_value(path.index(number), text, form, VALUE_INVALID))
    return document


def _group_errors(group: Mapping[str, Any], path: FieldPath, names: set[str]) -> Iterator[FieldError]:
    name, most, zone = group.get("name"), group.get("maxSize"), group.get("zone")
    if isinstance(name, str):
        if name in names:
            yield duplicate_value(path.child("name"), name, NAME_TAKEN)
        names.add(name)
    if type(group.get("minSize")) is int and type(most) is int and group["minSize"] > most:
        text = f"must be at most maxSize, {most}"
        yield invalid_value(path.child("minSize"), group["minSize"], text, VALUE_INVALID)
    labels = member(group, "labels")
    yield from label_errors(labels, path.child("labels"))
    if isinstance(zone, str):
        yield from label_value_errors(zone, path.child("zone"), VALUE_INVALID)
    if isinstance(zone, str) and zone and labels.get(ZONE, zone) != zone:
        text = f"must be that of zone, {zone}"
        yield invalid_value(path.child("labels").key(ZONE), labels[ZONE], text, VALUE_INVALID)
    for where, taint in objects_at(group.get("taints"), path.child("taints")):
        yield from taint_errors(taint, where)
    yield from amount_errors(group, path)


def taint_errors(taint: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what no taint of a node can be, of the fields that are texts."""
    key, value, effect = taint.get("key"), taint.get("value"), taint.get("effect")
    if isinstance(effect, str) and effect not in list(TaintEffect):
        yield unsupported_value(path.child("effect"), effect, list(TaintEffect), VALUE_INVALID)
    if isinstance(key, str):
        yield from label_key_errors(key, path.child("key"), VALUE_INVALID)
    if isinstance(value, str):
        yield from label_value_errors(value, path.child("value"), VALUE_INVALID)


def label_errors(labels: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what no label of a node can be."""
    for key, value in labels.items():
        if isinstance(key, str):
            yield from label_key_errors(key, path, VALUE_INVALID)
        if isinstance(value, str):
            yield from label_value_errors(value, path.key(shown_name(str(key))), VALUE_INVALID)


def amount_errors(entry: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what is wrong with what a described node has, and what of that is allocatable."""
    for field in ("allocatable", "capacity"):
        if isinstance(entry.get(field), dict):
            amounts = ErrorList()
            read_amounts(entry[field], path.child(field), amounts)
            yield from amounts.errors
            missing = (needed for needed in _NEEDED if needed not in entry[field])
            yield from (required_value(path.child(field).child(each), "", VALUE_INVALID) for each in missing)


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern of names.

    >>> is_pattern("^web-.*-a$"), is_pattern("(a+)+")
    (True, False)
    """
    return _PATTERN.fullmatch(text) is not None and "*" not in text.replace(".*", "")


def matches(pattern: str, name: str) -> bool:
    """Return whether a name has what a pattern describes, as Go's regular expressions have it.

    The parts between ``.*`` are looked for one after another, so each is read a few times at most.

    >>> [matches(pattern, "web-spot-a") for pattern in ("spot", "^spot", "w.b.*-a$", "a.*w")]
    [True, False, True, False]
    """
    start, end = pattern.startswith("^"), pattern.endswith("$")
    parts = pattern.removeprefix("^").removesuffix("$").split(".*")
    if not start:
        parts.insert(0, "")
    if not end:
        parts.append("")
    first, *middle = parts
    last = middle.pop() if middle else None
    if last is None:
        return len(first) == len(name) and _at(first, name, 0)
    at, stop = len(first), len(name) - len(last)
    if stop < at or not _at(first, name, 0) or not _at(last, name, stop):
        return False
    for part in middle:
        found = next((place for place in range(at, stop - len(part) + 1) if _at(part, name, place)), None)
        if found is None:
            return False
        at = found + len(part)
    return True


def _at(part: str, name: str, place: int) -> bool:
    """Return whether a part of a pattern describes a name from a place on."""
    text = name[place : place + len(part)]
    return len(text) == len(part) and all(a in (".", b) for a, b in zip(part, text, strict=True))
