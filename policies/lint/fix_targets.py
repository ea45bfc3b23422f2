"""In which text a problem is mended: that of its object, or one that kustomize built the object from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, TypeAlias

from policies.config.exemptions import opts_out, read_exemptions
from policies.config.workload_loader import Declared
from policies.lint.built_objects import title_of
from policies.lint.fix_edits import Fix
from policies.lint.merge_builds import common_message
from policies.manifests.edits import Edit
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Location
from policies.manifests.kustomize_layers import Layer, TextKey, value_at
from policies.manifests.origins import BuiltObject, Origin, Placed, translated
from policies.manifests.rewrite import RewriteRefusal


@dataclass(frozen=True, slots=True)
class Fixable:
    """A problem of one object that edits of the object would mend.

    Attributes:
        entry: The object.
        rule: The rule that found it, or ``inject``.
        path: The field, in the object.
        message: What is wrong.
        edits: What would mend it.
    """

    entry: Declared
    rule: str
    path: FieldPath
    message: str
    edits: tuple[Edit, ...]


#: What stands for a rule's id where a workload gets default constraints.
INJECTION: Final = "inject"
#: What several builds may want of one text: its rule, and the field that is edited there.
_Wish: TypeAlias = tuple[str, TextKey, int, FieldPath]
_Refused: TypeAlias = list[tuple[Fix, RewriteRefusal]]
#: A layer, however many objects it is one of.
_Place: TypeAlias = tuple[TextKey, int, FieldPath]
#: Why what was built is left alone.
_NOWHERE = "no single source file has this value: fix it by hand"


def fixes_of(
    found: Iterable[Fixable], declared: list[Declared], refused: _Refused, *, today: date | None
) -> Iterator[Fix]:
    """Yield what is mended in which text; what several builds have of one line is mended once.

    Args:
        found: What there is to mend.
        declared: Every workload.
        refused: Takes what cannot be mended in what it was built from.
        today: The day by which the expiry of exemptions is judged.
    """
    wishes: dict[_Wish, list[tuple[Fixable, Placed]]] = {}
    for each in found:
        manifest = each.entry.manifest
        if not isinstance(manifest, BuiltObject):
            yield _in_file(each)
        elif placed := manifest.origin.placed(each.edits):
            first = placed.edits[0].path
            key = each.rule, placed.layer.text, placed.layer.document.index, first
            wishes.setdefault(key, []).append((each, placed))
        else:
            refused.append((_at_origin(each, manifest.origin), RewriteRefusal(0, _NOWHERE)))
    users = _users(declared) if wishes else {}
    for group in wishes.values():
        repair, problem = _together(group, users, today)
        if problem:
            refused.append((repair, RewriteRefusal(0, problem)))
        else:
            yield repair


def _in_file(each: Fixable) -> Fix:
    manifest, index = each.entry.manifest, each.entry.manifest.document.index
    return Fix(
        location=manifest.location(each.path),
        title=each.entry.workload.title,
        path=each.path,
        rule=each.rule,
        message=each.message,
        text=TextKey(manifest.document.file),
        edits=tuple((index, Edit(manifest.path + edit.path, edit.old, edit.new)) for edit in each.edits),
        objects=((each.entry, each.edits),),
    )


def _at_origin(each: Fixable, origin: Origin, placed: Placed | None = None) -> Fix:
    written = origin.written(each.path)
    layer = placed.layer if placed else None
    return Fix(
        location=written.location
        if written
        else layer.document.location(layer.path)
        if layer
        else Location(origin.build),
        title=(title_of(written.layer) if written else "") or each.entry.workload.title,
        path=written.path if written else each.path,
        rule=each.rule,
        message=each.message,
        text=layer.text if layer else TextKey(origin.build),
        edits=tuple((layer.document.index, edit) for edit in placed.edits) if layer and placed else (),
        objects=((each.entry, each.edits),),
    )


def _together(
    group: list[tuple[Fixable, Placed]], users: Mapping[_Place, list[Declared]], today: date | None
) -> tuple[Fix, str]:
    """Return the one repair of what builds have in common, and why it must not be made; empty if it may."""
    first, placed = group[0]
    repair = replace(
        _at_origin(first, _origin(first.entry), placed),
        message=common_message([each.message for each, _ in group]),
        objects=tuple({id(each.entry): (each.entry, each.edits) for each, _ in group}.values()),
    )
    if any(other.edits != placed.edits for _, other in group):
        return repair, f"{_builds(each.entry for each, _ in group)} need different values here"
    own = {id(each.entry) for each, _ in group}
    others = [entry for entry in users[_place(placed.layer)] if id(entry) not in own]
    exempt = [entry for entry in others if _is_exempt(entry, first.rule, today)]
    if exempt:
        return repair, f"{_builds(exempt)} is built from the same text and exempt from the rule"
    moved = ((entry, _moved(first, placed, entry)) for entry in others)
    changed = tuple((entry, edits) for entry, edits in moved if edits)
    return replace(repair, objects=(*repair.objects, *changed)), ""


def _origin(entry: Declared) -> Origin:
    assert isinstance(entry.manifest, BuiltObject)  # noqa: S101  # its callers have looked
    return entry.manifest.origin


def _builds(entries: Iterable[Declared]) -> str:
    return ", ".join(sorted({_origin(entry).build for entry in entries}))


def _place(layer: Layer) -> _Place:
    return layer.text, layer.document.index, layer.path


def _users(declared: Iterable[Declared]) -> dict[_Place, list[Declared]]:
    """Return which objects were built from each text."""
    users: dict[_Place, list[Declared]] = {}
    for entry in declared:
        if isinstance(entry.manifest, BuiltObject):
            for place in dict.fromkeys(map(_place, entry.manifest.origin.layers)):
                users.setdefault(place, []).append(entry)
    return users


def _is_exempt(entry: Declared, rule: str, today: date | None) -> bool:
    annotations = entry.subject.annotations, entry.subject.pod.annotations
    if rule == INJECTION:
        return any(map(opts_out, annotations))
    return rule in read_exemptions(*annotations, today=today).reasons


def _moved(each: Fixable, placed: Placed, entry: Declared) -> tuple[Edit, ...]:
    """Return what edits of one object's text make of another object; nothing if that does not change."""
    origin, edits = _origin(entry), []
    for edit in each.edits:
        path = translated(edit.path, each.entry.manifest.value, origin.value)
        written = path and origin.written(path)
        if path is None or not written or written.layer.text != placed.layer.text:
            return ()
        edits.append(Edit(path, value_at(origin.value, path.segments), edit.new))
    return tuple(edits)
