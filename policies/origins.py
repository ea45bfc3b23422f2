"""Where the fields of an object are written that kustomize built: in a resource, or in a patch of it.

What kustomize does is not repeated here. Each text that may state a part of the object is compared with what
was built: a field is written where the last of them states the built value. Where none does, for a
transformer or a replacement made the value, nobody claims to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from policies.edits import Edit
from policies.fields import FieldPath
from policies.findings import Location
from policies.manifests import Document, ManifestObject
from policies.patch import segments_of

_Segments = tuple[str | int, ...]
#: Lists whose entries a strategic merge patch finds by some of their fields (the API's merge keys).
_MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
}
#: What a strategic merge patch says of how it is merged.
_DIRECTIVE: Final = "$patch"
#: What a text states that takes the place of others and leaves a field out; equal to no value.
_NOTHING: Final = object()
#: JSON Patch operations that state a value.
_STATING: Final = frozenset({"add", "replace"})


@dataclass(frozen=True, slots=True, eq=False)
class Inline:
    """A patch that stands as a text in a kustomization.

    Attributes:
        document: The kustomization.
        path: The text's field.
        is_block: Whether it is a literal block, each line of which is a line of the file.
    """

    document: Document
    path: FieldPath
    is_block: bool


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A text that states a part of an object.

    Attributes:
        document: The text: of a file, or of a patch in a kustomization.
        path: Where the object stands in it; empty for a list of JSON Patch operations.
        is_patch: Whether it changes what earlier ones state.
        inline: Where it stands in a kustomization; None for a file of its own.
    """

    document: Document
    path: FieldPath
    is_patch: bool = False
    inline: Inline | None = None

    @property
    def value(self) -> Any:
        """The object, the part of it, or the list of operations."""
        return value_at(self.document.value, self.path.segments)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a field is written.

    Attributes:
        layer: The text.
        way: The field in the text's document: that of the object, or of the value of a JSON Patch operation.
        path: The field as messages name it.
        only: Whether no other text states it.
    """

    layer: Layer
    way: FieldPath
    path: FieldPath
    only: bool

    @property
    def location(self) -> Location:
        """The place, with its line."""
        return self.layer.document.location(self.way)


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a layer states of a field: its way in the document, its value, and whether earlier ones count."""

    layer: Layer
    way: _Segments
    value: Any
    replaces: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Origin:
    """What an object was built from.

    Attributes:
        build: The file of the kustomization that was built.
        value: The object as it was built.
        find_layers: Returns what states parts of it, in the order in which they were applied; None where that
            is not known.
        count_builds: Returns how many kustomizations that are built use a file.
    """

    build: str
    value: Mapping[str, Any]
    find_layers: Callable[[], Sequence[Layer] | None]
    count_builds: Callable[[str], int]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """What states parts of it, in the order in which they were applied; empty where that is not known."""
        return tuple(self.find_layers() or ())

    def written(self, path: FieldPath) -> Written | None:
        """Return where a field is written, or its nearest ancestor that exists; None where nobody knows."""
        existing = _existing(self.value, path.segments)
        if not existing:
            return None
        stated = self._stating(existing)
        if not stated:
            return None
        # A constraint is where it was first given; what a field of it says is where that was said last.
        found = stated[0] if isinstance(existing[-1], int) else stated[-1]
        rest = path.segments[len(existing) :]
        way = FieldPath((*found.way, *rest))
        named = path
        if not isinstance(found.layer.value, list):
            named = FieldPath(way.segments[len(found.layer.path.segments) :])
        return Written(found.layer, way, named, len(stated) == 1)

    def _stating(self, path: _Segments) -> list[_Stated]:
        """Return what states a field, or a part of it, as it was built."""
        built = value_at(self.value, path)
        found: list[_Stated] = []
        for layer in self.layers:
            stated = _in_layer(layer, self.value, path)
            if stated is None:
                continue
            if stated.replaces:
                found.clear()
            if _agrees(stated.value, built):
                found.append(stated)
        return found

    def placed(self, edits: Sequence[Edit]) -> list[tuple[Layer, Edit]] | None:
        """Return the edits of the texts that make edits of the object; None where that cannot be done."""
        placed = []
        for edit in edits:
            one = self._place(edit)
            if one is None:
                return None
            placed.append(one)
        return placed

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

    def _states_alone(self, segments: _Segments) -> bool:
        """Tell whether one text alone states the entry of a list that a field belongs to."""
        last = max((number for number, name in enumerate(segments) if isinstance(name, int)), default=None)
        return last is None or len(self._stating(segments[: last + 1])) == 1


@dataclass(frozen=True, slots=True, eq=False)
class BuiltObject(ManifestObject):
    """An object that kustomize built.

    Attributes:
        origin: What it was built from.
    """

    origin: Origin

    def location(self, path: FieldPath) -> Location:
        """Return where a field is written; the whole kustomization where that is not known."""
        written = self.origin.written(path)
        return written.location if written else ManifestObject.location(self, path)


def value_at(value: Any, segments: Sequence[str | int]) -> Any:
    """Return what stands at a path; None where there is nothing."""
    for segment in segments:
        if isinstance(segment, int):
            value = value[segment] if isinstance(value, list) and 0 <= segment < len(value) else None
        else:
            value = value.get(segment) if isinstance(value, dict) else None
    return value


def _existing(value: Any, segments: _Segments) -> _Segments:
    """Return the part of a path that exists."""
    for length in range(len(segments), 0, -1):
        if value_at(value, segments[:length]) is not None:
            return segments[:length]
    return ()


def _is_merge_key(segments: _Segments) -> bool:
    if len(segments) < 3 or not isinstance(segments[-2], int):
        return False
    return segments[-1] in _MERGE_KEYS.get(str(segments[-3]), ())


def _in_layer(layer: Layer, built: Mapping[str, Any], path: _Segments) -> _Stated | None:
    """Return what a layer states of a field; None if nothing."""
    start = layer.path.segments
    if not isinstance(layer.value, list):
        return _follow(layer, _Step(layer.value, start), built, path)
    # Of several operations on a field the last one decides.
    for number in reversed(range(len(layer.value))):
        operation = layer.value[number]
        if isinstance(operation, dict) and operation.get("op") in _STATING and "value" in operation:
            length = _length(segments_of(str(operation.get("path"))), operation["value"], built, path)
            step = _Step(operation["value"], (*start, number, "value"), length, replaces=True)
            if length and (stated := _follow(layer, step, built, path)) is not None:
                return stated
    return None


def _length(pointer: Sequence[str], value: Any, built: Any, path: _Segments) -> int:
    """Return how much of a path the pointer of an operation is; 0 if it leads elsewhere."""
    if len(pointer) > len(path):
        return 0
    for depth, (name, segment) in enumerate(zip(pointer, path, strict=False)):
        if isinstance(segment, int) and depth == len(pointer) - 1:
            # Entries may move after one was added: which one it is its merge keys tell.
            keys = _MERGE_KEYS.get(str(path[depth - 1]), ())
            key = _identity(value, keys)
            if key is None or key != _identity(value_at(built, path[: depth + 1]), keys):
                return 0
        elif name != str(segment):
            return 0
    return len(pointer)


@dataclass(frozen=True, slots=True)
class _Step:
    """A place on the way down a layer, and how much of the path led there."""

    node: Any
    way: _Segments
    depth: int = 0
    replaces: bool = False


def _follow(layer: Layer, step: _Step, built: Mapping[str, Any], path: _Segments) -> _Stated | None:
    """Follow the path of a built field in what a layer states, from a place on."""
    node, way, replaces = step.node, step.way, step.replaces
    merges = _merges_lists(built)
    for depth in range(step.depth, len(path)):
        segment: str | int | None = path[depth]
        if isinstance(segment, int):
            keys = _MERGE_KEYS.get(str(path[depth - 1]), ())
            whole = not (keys and merges) or _has_directive(node)
            segment = _entry(node, value_at(built, path[:depth]), segment, keys)
        else:
            whole = isinstance(node, dict) and node.get(_DIRECTIVE) == "replace"
            segment = segment if isinstance(node, dict) and segment in node else None
        replaces = replaces or (layer.is_patch and whole)
        if segment is None:
            return _Stated(layer, way, _NOTHING, replaces) if replaces else None
        node, way = node[segment], (*way, segment)
    return _Stated(layer, way, node, replaces)


def _merges_lists(built: Mapping[str, Any]) -> bool:
    """Tell whether patches merge lists of this kind: those of custom resources are replaced."""
    group = str(built.get("apiVersion")).rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def _has_directive(node: Any) -> bool:
    return isinstance(node, list) and any(_is_directive(entry) for entry in node)


def _is_directive(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get(_DIRECTIVE) == "replace"


def _entry(node: Any, built: Any, index: int, keys: tuple[str, ...]) -> int | None:
    """Return which entry of a list became an entry of the built one; None if that is not certain."""
    if not isinstance(node, list) or not isinstance(built, list):
        return None
    wanted = _identity(built[index], keys)
    if wanted is not None and sum(_identity(entry, keys) == wanted for entry in built) == 1:
        found = [number for number, entry in enumerate(node) if _identity(entry, keys) == wanted]
        return found[0] if len(found) == 1 else None
    return index if len(node) == len(built) and _covers(node[index], built[index]) else None


def _identity(entry: Any, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return what an entry of a list is merged by; None where it lacks some of it."""
    values = [entry.get(key) for key in keys] if isinstance(entry, dict) else []
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if texts and len(texts) == len(keys) else None


def _covers(stated: Any, built: Any) -> bool:
    """Tell whether all that is stated was built; there may be more, such as labels."""
    if isinstance(stated, dict) and isinstance(built, dict):
        return all(name in built and _covers(value, built[name]) for name, value in stated.items())
    if isinstance(stated, list) and isinstance(built, list):
        return len(stated) == len(built) and all(map(_covers, stated, built))
    return type(stated) is type(built) and bool(stated == built)


def _agrees(stated: Any, built: Any) -> bool:
    """Tell whether a value may be what was built: texts and numbers must be equal."""
    if isinstance(stated, dict | list):
        return type(stated) is type(built)
    return type(stated) is type(built) and bool(stated == built)
