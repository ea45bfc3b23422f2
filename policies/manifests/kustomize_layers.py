"""One text that states a part of an object that kustomize builds, and what it states of a field.

An entry of a list is found by its merge keys; where it has none the lists must be alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, TypeAlias

from policies.manifests.documents import Document, is_of_kubernetes
from policies.manifests.fields import FieldPath
from policies.manifests.json_patch import segments_of

Segments: TypeAlias = tuple[str | int, ...]
#: Lists whose entries a strategic merge patch finds by some of their fields (the API's merge keys).
MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
}
#: The keys of a strategic merge patch that define how it is merged.
_DIRECTIVE: Final = "$patch"
#: What a text states that takes the place of others and leaves a field out; equal to no value.
_NOTHING: Final = object()
#: JSON Patch operations that state a value.
STATING: Final = frozenset({"add", "replace"})


@dataclass(frozen=True, slots=True, eq=False)
class Inline:
    """A patch that is a text in a kustomization."""

    document: Document  #: The kustomization.
    path: FieldPath  #: The text's field.
    is_block: bool  #: Whether it is a literal block, each line of which is a line of the file.


@dataclass(frozen=True, slots=True)
class TextKey:
    """A text that can be edited: a file, or a patch that is in one."""

    file: str  #: The file.
    index: int = 0  #: Which of its documents the patch is in.
    path: FieldPath = field(default_factory=FieldPath)  #: The patch's field there; empty for the file.


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A text that states a part of an object."""

    document: Document  #: The text: of a file, or of a patch in a kustomization.
    path: FieldPath  #: Where the object is in it; empty for a list of JSON Patch operations.
    is_patch: bool = False  #: Whether it changes what earlier ones state.
    inline: Inline | None = None  #: Where it is in a kustomization; None for a file of its own.

    @property
    def text(self) -> TextKey:
        """Which text it is: two layers may be two documents of one."""
        if self.inline is None:
            return TextKey(self.document.file)
        return TextKey(self.document.file, self.inline.document.index, self.inline.path)

    @property
    def value(self) -> Any:
        """The object, the part of it, or the list of operations."""
        return value_at(self.document.value, self.path.segments)


@dataclass(frozen=True, slots=True)
class Stated:
    """A layer's statement about a field."""

    layer: Layer  #: The layer.
    way: Segments  #: The field in its document.
    value: Any  #: The value there.
    replaces: bool  #: Whether what earlier ones state counts no more.
    by_index: bool = False  #: Whether it is for the entry of a list that had an index when it was applied.
    #: Whether it is of an entry that was put into a list, beside those that were there or for one.
    inserted: bool = False
    unclear: bool = False  #: Whether it leaves open which text the field comes from.


def value_at(value: Any, segments: Sequence[str | int]) -> Any:
    """Return the value at a path; None where there is none."""
    for segment in segments:
        if isinstance(segment, int):
            value = value[segment] if isinstance(value, list) and 0 <= segment < len(value) else None
        else:
            value = value.get(segment) if isinstance(value, dict) else None
    return value


def stated_in(layer: Layer, built: Mapping[str, Any], path: Segments) -> Stated | None:
    """Return a layer's statement about a field; None if it makes none."""
    start = layer.path.segments
    if not isinstance(layer.value, list):
        return _follow(layer, _Step(layer.value, start), built, path)
    moved = False
    effects = [_effect(operation, built, path) for operation in layer.value]
    # Of several operations on a field the last one decides.
    for number in reversed(range(len(layer.value))):
        operation, effect = layer.value[number], effects[number]
        pointer = _pointer(operation)
        moved = moved or _moves(pointer, path)
        if effect is _Effect.CLOUDS or (effect is _Effect.STATES_BY_INDEX and moved):
            return Stated(layer, start, _NOTHING, replaces=False, unclear=True)
        if effect is not _Effect.NONE:
            inserted = isinstance(path[len(pointer) - 1], int)
            others = set(effects[:number]) - {_Effect.NONE}
            step = _Step(operation["value"], (*start, number, "value"), len(pointer), replaces=True)
            stated = _follow(layer, step, built, path)
            if stated is not None:
                return replace(
                    stated,
                    by_index=effect is _Effect.STATES_BY_INDEX,
                    inserted=inserted,
                    unclear=inserted and bool(others),
                )
    return None


class _Effect(Enum):
    """The effect of an operation on a field: it may also make it uncertain what earlier ones did."""

    NONE = 0
    STATES = 1
    STATES_BY_INDEX = 2
    CLOUDS = 3


def _pointer(operation: Any) -> tuple[str, ...]:
    return segments_of(str(operation.get("path"))) if isinstance(operation, dict) else ()


def _effect(operation: Any, built: Any, path: Segments) -> _Effect:
    """Return the effect of an operation on a field."""
    pointer = _pointer(operation)
    if not pointer:
        return _Effect.NONE
    states = operation.get("op") in STATING and "value" in operation
    for depth, (name, segment) in enumerate(zip(pointer, path, strict=False)):
        if isinstance(segment, int):
            if depth < len(pointer) - 1:
                return _effect_by_index(operation, pointer, built, path, depth)
            # Entries may move after one was added: its merge keys identify it.
            keys = MERGE_KEYS.get(str(path[depth - 1]), ())
            value = operation.get("value")
            if states and entry_of([value], value_at(built, path[:depth]), segment, keys) is not None:
                return _Effect.STATES
            return _Effect.NONE if operation.get("op") == "add" else _Effect.CLOUDS
        if name != segment:
            return _Effect.NONE
    if len(pointer) > len(path):
        return _Effect.NONE
    return _Effect.STATES if states else _Effect.NONE if operation.get("op") == "test" else _Effect.CLOUDS


def _effect_by_index(
    operation: Mapping[str, Any], pointer: Sequence[str], built: Any, path: Segments, depth: int
) -> _Effect:
    """Return the effect of an operation on a field of the entry that had an index then."""
    field_names, below = tuple(pointer[depth + 1 :]), tuple(map(str, path[depth + 1 :]))
    if field_names[0] in MERGE_KEYS.get(str(path[depth - 1]), ()):
        return _Effect.CLOUDS
    if operation.get("op") == "test" or field_names != below[: len(field_names)]:
        return _Effect.NONE
    if operation.get("op") not in STATING:
        return _Effect.CLOUDS
    stated = value_at(operation.get("value"), path[len(pointer) :])
    if not agrees(stated, value_at(built, path)):
        return _Effect.NONE
    return _Effect.STATES_BY_INDEX if pointer[depth] == str(path[depth]) else _Effect.CLOUDS


def _moves(pointer: Sequence[str], path: Segments) -> bool:
    """Return whether an operation may give the entries of a list on a path other places."""
    last = len(pointer) - 1
    return last < len(path) and isinstance(path[last], int) and tuple(pointer[:last]) == path[:last]


@dataclass(frozen=True, slots=True)
class _Step:
    """A place on the way down a layer, and how much of the path led there."""

    node: Any
    way: Segments
    depth: int = 0
    replaces: bool = False


def _follow(layer: Layer, step: _Step, built: Mapping[str, Any], path: Segments) -> Stated | None:
    """Go down the path of a built field in what a layer states, from a place on."""
    node, way, replaces = step.node, step.way, step.replaces
    merges = _merges_lists(built)
    for depth in range(step.depth, len(path)):
        segment: str | int | None = path[depth]
        if isinstance(segment, int):
            keys = MERGE_KEYS.get(str(path[depth - 1]), ())
            whole = not (keys and merges) or _has_directive(node)
            segment = entry_of(node, value_at(built, path[:depth]), segment, keys)
        else:
            whole = isinstance(node, dict) and _DIRECTIVE in node
            segment = segment if isinstance(node, dict) and segment in node else None
        replaces = replaces or (layer.is_patch and whole)
        if segment is None:
            return Stated(layer, way, _NOTHING, replaces) if replaces else None
        node, way = node[segment], (*way, segment)
        if node is None and layer.is_patch:
            return Stated(layer, way, _NOTHING, replaces=True)
    return Stated(layer, way, node, replaces)


def _merges_lists(built: Mapping[str, Any]) -> bool:
    """Return whether patches merge lists of this kind: those of custom resources are replaced."""
    group = str(built.get("apiVersion")).rpartition("/")[0]
    return is_of_kubernetes(group)


def _has_directive(node: Any) -> bool:
    return isinstance(node, list) and any(_is_directive(entry) for entry in node)


def _is_directive(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get(_DIRECTIVE) == "replace"


def entry_of(node: Any, built: Any, index: int, keys: tuple[str, ...]) -> int | None:
    """Return which entry of a list became an entry of the built one; None if that is not certain."""
    if not isinstance(node, list) or not isinstance(built, list):
        return None
    wanted = identity(built[index], keys)
    if wanted is not None and sum(identity(entry, keys) == wanted for entry in built) == 1:
        found = [number for number, entry in enumerate(node) if identity(entry, keys) == wanted]
        return found[0] if len(found) == 1 else None
    return index if len(node) == len(built) and _covers(node[index], built[index]) else None


def identity(entry: Any, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the values that an entry of a list is merged by; None where it lacks one of them."""
    values = [entry.get(key) for key in keys] if isinstance(entry, dict) else []
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if texts and len(texts) == len(keys) else None


def _covers(stated: Any, built: Any) -> bool:
    """Return whether all that is stated was built; there may be more, such as labels."""
    if isinstance(stated, dict) and isinstance(built, dict):
        return all(name in built and _covers(value, built[name]) for name, value in stated.items())
    if isinstance(stated, list) and isinstance(built, list):
        return len(stated) == len(built) and all(map(_covers, stated, built))
    return type(stated) is type(built) and bool(stated == built)


def agrees(stated: Any, built: Any) -> bool:
    """Return whether a value may be what was built: texts and numbers must be equal."""
    if isinstance(stated, dict | list):
        return type(stated) is type(built)
    return type(stated) is type(built) and bool(stated == built)
