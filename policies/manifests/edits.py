"""Edits of a manifest: which field, from what, to what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from policies.manifests.fields import FieldPath, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEdit:
    """A field of the manifest to change."""

    field: str  #: Its path, as Kubernetes writes it.
    path: tuple[str | int, ...]  #: Its path, by names and positions.
    old: object  #: Its value; null where it is absent.
    new: object  #: The value it should have; null to remove it.


@dataclass(frozen=True, slots=True)
class Edit:
    """One field that changes."""

    path: FieldPath  #: The field, from the root of the manifest as it is before any edit.
    old: Any  #: Its value; None where it is absent.
    new: Any  #: Its new value; None to take it away.

    def wire_form(self) -> FieldEdit:
        """Return the edit as it is sent: an old value that is no JSON of 64 bits and Unicode as text."""
        try:
            old: object = orjson.Fragment(orjson.dumps(self.old))
        except TypeError:
            old = shown(self.old)
        return FieldEdit(field=str(self.path), path=self.path.segments, old=old, new=self.new)


def apply_edits(manifest: Any, edits: Iterable[Edit]) -> Any:
    """Return an edited copy of a manifest, or of a list of patch operations; what is not edited is shared.

    Entries of lists are taken away last and from the end, so that every path means what it meant before.

    >>> apply_edits({"a": [1, 2]}, [Edit(FieldPath(("a", 0)), 1, None), Edit(FieldPath(("a", 1)), 2, 3)])
    {'a': [3]}
    """
    edited: Any = manifest
    for edit in sorted(edits, key=_turn):
        edited = _put(edited, edit.path.segments, edit.new)
    return edited


def merge_edits(manifest: Any, edits: tuple[Edit, ...], more: Iterable[Edit]) -> tuple[Edit, ...] | None:
    """Return edits with more of them, each with the manifest's own value as its old one.

    Returns:
        None if one of the further edits is of a field that is edited already, or of one below it. Edits below
        a further one are left out.
    """
    merged = list(edits)
    for edit in more:
        segments = edit.path.segments
        if any(segments[: len(other.path.segments)] == other.path.segments for other in merged):
            return None
        merged = [other for other in merged if other.path.segments[: len(segments)] != segments]
        merged.append(Edit(edit.path, _value_at(manifest, segments), edit.new))
    return tuple(merged)


def _value_at(node: Any, segments: tuple[str | int, ...]) -> Any:
    for segment in segments:
        if isinstance(segment, int):
            node = node[segment] if isinstance(node, list) and segment < len(node) else None
        else:
            node = node.get(segment) if isinstance(node, dict) else None
    return node


def _turn(edit: Edit) -> tuple[bool, int]:
    last = edit.path.segments[-1]
    takes_entry = edit.new is None and isinstance(last, int)
    return takes_entry, -last if takes_entry and isinstance(last, int) else 0


def _put(node: Any, segments: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy of a node with a value below it set, or taken away where it is None."""
    if not segments:
        return value
    head, rest = segments[0], segments[1:]
    if isinstance(head, int):
        items = list(node or ())
        changed = _put(items[head] if head < len(items) else None, rest, value)
        items[head : head + 1] = [] if changed is None else [changed]
        return items
    members = dict(node or {})
    changed = _put(members.get(head), rest, value)
    if changed is None:
        members.pop(head, None)
    else:
        members[str(head)] = changed
    return members
