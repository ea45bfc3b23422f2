"""Where the fields of an object are written that kustomize built: in a resource, or in a patch of it.

What kustomize does is not repeated here. Each text that may state a part of the object is compared with what
was built: a field is written where the last of them states the built value. Where none does, for a
transformer or a replacement made the value, the origin is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from policies.manifests.documents import ManifestObject
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath, text_member
from policies.manifests.findings import Build, Finding, Location
from policies.manifests.kustomize_layers import (
    MERGE_KEYS,
    Layer,
    Segments,
    Stated,
    agrees,
    entry_of,
    stated_in,
    value_at,
)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a field is written."""

    layer: Layer  #: The text.
    #: The field in the text's document: that of the object, or of the value of a JSON Patch operation.
    way: FieldPath
    path: FieldPath  #: The field as messages name it.
    only: bool  #: Whether no other text states it.

    @property
    def location(self) -> Location:
        """The place, with its line."""
        return self.layer.document.location(self.way)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Edits of an object as they are made in a text that it was built from; paths start at the document."""

    layer: Layer
    edits: tuple[Edit, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Origin:
    """The source that an object was built from."""

    build: str  #: The file of the kustomization that was built.
    value: Mapping[str, Any]  #: The object as it was built.
    #: Returns what states parts of it, in the order in which they were applied; None where that is not known.
    find_layers: Callable[[], Sequence[Layer] | None]
    count_builds: Callable[[str], int]  #: Returns how many kustomizations that are built use a file.

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that state parts of it, in the order in which they were applied; empty if unknown."""
        return tuple(self.find_layers() or ())

    def written(self, path: FieldPath) -> Written | None:
        """Return where a field is written, or its nearest ancestor that exists; None if unknown."""
        existing = _existing(self.value, path.segments)
        stated = self._stating(existing)
        if not stated:
            return None
        rest = path.segments[len(existing) :]
        # A constraint is where it was first given; a field of it is where that was set last.
        found = stated[0] if rest or not existing or isinstance(existing[-1], int) else stated[-1]
        way = FieldPath((*found.way, *rest))
        named = path
        if not isinstance(found.layer.value, list):
            named = FieldPath(way.segments[len(found.layer.path.segments) :])
        return Written(found.layer, way, named, len(stated) == 1)

    def _stating(self, path: Segments) -> list[Stated]:
        """Return the statements from which a field, or a part of it, was built."""
        built = value_at(self.value, path)
        found: list[Stated] = []
        known, is_clear = False, True
        for number, layer in enumerate(self.layers):
            stated = stated_in(layer, self.value, path)
            if stated is None:
                continue
            # An entry beside one of the same keys, or one whose place may have changed: which is it?
            moves = stated.by_index and self._moves_entries(self.layers[number + 1 :], path)
            if stated.unclear or moves or (stated.inserted and known):
                is_clear = False
                continue
            known = True
            if stated.replaces:
                found.clear()
                is_clear = is_clear or not stated.inserted
            if agrees(stated.value, built):
                found.append(stated)
        return found if is_clear else []

    def _moves_entries(self, layers: Sequence[Layer], path: Segments) -> bool:
        """Return whether layers may give the entries of a path's last list other places."""
        last = max(number for number, segment in enumerate(path) if isinstance(segment, int))
        return any(stated_in(layer, self.value, path[:last]) for layer in layers)

    def placed(self, edits: Sequence[Edit]) -> Placed | None:
        """Return how edits of the object are made in what it was built from; None where they cannot be.

        All must be made in one text, and the labels that they write must be in some: what a kustomization
        adds is another in another overlay.
        """
        found = [self._place(edit) for edit in edits]
        placed = [each for each in found if each is not None]
        if not placed or len(placed) < len(found) or any(layer is not placed[0][0] for layer, _ in placed):
            return None
        wanted = {pair for edit in edits for pair in _labels(edit.new)}
        if not wanted <= {pair for layer in self.layers for pair in _labels(layer.value)}:
            return None
        return Placed(placed[0][0], tuple(edit for _, edit in placed))

    def _place(self, edit: Edit) -> tuple[Layer, Edit] | None:
        written = self.written(edit.path)
        if written is None or (written.layer.inline and not written.layer.inline.is_block):
            return None
        segments, source = edit.path.segments, written.layer.document.value
        parent = value_at(self.value, segments[:-1])
        if value_at(self.value, segments) is None:
            if isinstance(parent, list) and value_at(source, written.way.segments[:-1]) != parent:
                return None
            return written.layer, Edit(written.way, None, edit.new)
        if value_at(source, written.way.segments) != value_at(self.value, segments):
            return None
        # What ties the texts together, or is taken away, must be so in all of them.
        ties = edit.new is None or _is_merge_key(segments) or isinstance(segments[-1], int)
        if ties and not (written.only and self._states_alone(segments)):
            return None
        return written.layer, Edit(written.way, value_at(source, written.way.segments), edit.new)

    def _states_alone(self, segments: Segments) -> bool:
        """Return whether one text alone states the entry of a list that a field belongs to."""
        last = max((number for number, name in enumerate(segments) if isinstance(name, int)), default=None)
        return last is None or len(self._stating(segments[: last + 1])) == 1


@dataclass(frozen=True, slots=True, eq=False)
class BuiltObject(ManifestObject):
    """An object that kustomize built."""

    origin: Origin  #: What it was built from.

    def location(self, path: FieldPath) -> Location:
        """Return where a field is written; the whole kustomization where that is not known."""
        written = self.origin.written(path)
        return written.location if written else ManifestObject.location(self, path)


def _existing(value: Any, segments: Segments) -> Segments:
    """Return the part of a path that exists."""
    for length in range(len(segments), 0, -1):
        if value_at(value, segments[:length]) is not None:
            return segments[:length]
    return ()


def _is_merge_key(segments: Segments) -> bool:
    if len(segments) < 3 or not isinstance(segments[-2], int):
        return False
    return segments[-1] in MERGE_KEYS.get(str(segments[-3]), ())


#: The fields that hold labels, of objects and of selectors.
_LABELS: Final = frozenset({"labels", "matchLabels"})


def _labels(value: Any) -> Iterator[tuple[str, str]]:
    """Yield every label that a value sets or selects."""
    if isinstance(value, list):
        for entry in value:
            yield from _labels(entry)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name in _LABELS and isinstance(member, dict):
                yield from ((key, text) for key, text in member.items() if isinstance(text, str))
            else:
                yield from _labels(member)


def translated(path: FieldPath, old: Mapping[str, Any], new: Mapping[str, Any]) -> FieldPath | None:
    """Return the path in one built object of what a path leads to in another; None if it has nothing such."""
    found: Segments = ()
    for depth, segment in enumerate(path.segments):
        if isinstance(segment, int):
            ours, theirs = value_at(old, path.segments[:depth]), value_at(new, found)
            if not isinstance(ours, list) or segment >= len(ours):
                # An entry that is added: at the end of a list that is alike.
                found = (*found, segment)
                continue
            position = entry_of(theirs, ours, segment, MERGE_KEYS.get(str(path.segments[depth - 1]), ()))
            if position is None:
                return None
            found = (*found, position)
        else:
            found = (*found, segment)
    return FieldPath(found)


def at_origin(finding: Finding, manifest: ManifestObject, edits: Sequence[Edit] = ()) -> Finding:
    """Return a finding in an object where it is written, if kustomize built the object.

    Args:
        finding: The finding, in the object.
        manifest: The object.
        edits: What would fix it.
    """
    if not isinstance(manifest, BuiltObject):
        return finding
    origin = manifest.origin
    builds = (Build(origin.build, finding.title, finding.path, finding.message),)
    written = origin.written(finding.path)
    if written is None:
        return replace(finding, location=Location(origin.build), fixable=False, builds=builds)
    location = written.location
    return replace(
        finding,
        location=location,
        path=written.path,
        title=title_of(written.layer) or finding.title,
        fixable=bool(edits) and origin.placed(edits) is not None,
        builds=builds,
        used_in_builds=origin.count_builds(location.file),
    )


def title_of(layer: Layer) -> str:
    """Return kind and name as a text has them; empty where it lacks one."""
    value = layer.value if isinstance(layer.value, dict) else {}
    kind, name = text_member(value, "kind"), text_member(value.get("metadata"), "name")
    return f"{kind} {name}" if kind and name else ""
