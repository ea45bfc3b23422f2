"""The texts that are fixed as they change, and in which of them a problem is fixed.

That is the text of its object, or one that kustomize built the object from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

from policies.lint.fix_edits import Fix
from policies.lint.merge_builds import common_message
from policies.lint.workload_loader import ManifestWorkload
from policies.manifests.documents import Document, ManifestObject, load, objects
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.findings import Location, Severity
from policies.manifests.kustomize_layers import Inline, Layer, TextKey, value_at
from policies.manifests.origins import BuiltObject, Origin, Placed, title_of, translated
from policies.manifests.rewrite import RewriteRefusal


@dataclass(slots=True)
class Workspace:
    """Texts and objects, as they are after what was fixed so far."""

    files: Mapping[str, bytes]  #: The files that are applied as they are, with their contents.
    built: list[ManifestObject]  #: The objects that kustomize built.
    read: Callable[[str], bytes]  #: Returns the content of a file that these were built from.
    #: The files that changed, with their new contents.
    changed: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)  #: What is wrong with files that cannot be read.
    _documents: dict[str, list[Document]] = field(default_factory=dict)

    def manifests(self) -> Iterator[ManifestObject]:
        """Yield every object."""
        for file in self.files:
            for document in self.documents(file):
                yield from objects(document)
        yield from self.built

    def content(self, file: str) -> bytes:
        """Return the current content of a file, with the changes so far."""
        if file in self.changed:
            return self.changed[file]
        return self.files[file] if file in self.files else self.read(file)

    def documents(self, file: str) -> list[Document]:
        """Return the documents of a file; none if it cannot be read, which is then a problem."""
        if file not in self._documents:
            try:
                self._documents[file] = load(self.content(file), file)
            except DocumentError as error:
                self.problems += error.problems
                self._documents[file] = []
        return self._documents[file]

    def text(self, key: TextKey) -> tuple[bytes, list[Document], int]:
        """Return a text, its documents, and how many lines of its file are before it."""
        if not key.path.segments:
            return self.content(key.file), self.documents(key.file), 0
        holder = self._document(key)
        text = str(value_at(holder.value, key.path.segments))
        line = holder.line_of(key.path)
        return text.encode(), load(text, key.file, lines_before=line), line

    def _document(self, key: TextKey) -> Document:
        return next(document for document in self.documents(key.file) if document.index == key.index)

    def write(self, key: TextKey, content: bytes) -> RewriteRefusal | None:
        """Put a new text into the place of one; return why not if that cannot be done."""
        if not key.path.segments:
            self._put(key.file, content)
            return None
        whole = _with_block(self.content(key.file), self._document(key), key, content.decode())
        if isinstance(whole, RewriteRefusal):
            return whole
        self._put(key.file, whole)
        return None

    def _put(self, file: str, content: bytes) -> None:
        self.changed[file] = content
        del self._documents[file]

    def change(self, entries: Sequence[tuple[ManifestWorkload, tuple[Edit, ...]]]) -> None:
        """Take in what a round fixed in texts that objects were built from."""
        made: dict[int, list[Edit]] = {}
        for entry, edits in entries:
            made.setdefault(id(entry.manifest), []).extend(edits)
        self.built = [
            self._renewed(built, apply_edits(built.value, made.get(id(built), ()))) for built in self.built
        ]

    def _renewed(self, built: ManifestObject, value: dict[str, Any]) -> ManifestObject:
        if not isinstance(built, BuiltObject):
            return replace(built, value=value)
        layers = partial(self._renewed_layers, built)
        return replace(built, value=value, origin=replace(built.origin, value=value, find_layers=layers))

    def _renewed_layers(self, built: BuiltObject) -> list[Layer]:
        return [self._renewed_layer(layer) for layer in built.origin.layers]

    def _renewed_layer(self, layer: Layer) -> Layer:
        if layer.document.file not in self.changed:
            return layer
        key, index = layer.text, layer.document.index
        _, documents, _ = self.text(key)
        document = next(each for each in documents if each.index == index)
        inline = layer.inline and Inline(self._document(key), layer.inline.path, layer.inline.is_block)
        return replace(layer, document=document, inline=inline)


def _with_block(content: bytes, document: Document, key: TextKey, new: str) -> bytes | RewriteRefusal:
    """Return a file with another text in the place of a literal block."""
    old = str(value_at(document.value, key.path.segments))
    first = document.line_of(key.path)
    refusal = RewriteRefusal(first, "cannot be edited here: the patch would not be read as it was written")
    lines = content.decode().split("\n")
    count = len(old.rstrip("\n").split("\n"))
    block = lines[first : first + count]
    margin = next(
        (outer[: outer.find(inner)] for outer, inner in zip(block, old.split("\n"), strict=False) if inner),
        "",
    )
    end = "\r" if block and block[0].endswith("\r") else ""
    lines[first : first + count] = [
        f"{margin}{line}{end}" if line else end for line in new.rstrip("\n").split("\n")
    ]
    whole = "\n".join(lines).encode()
    try:
        found = load(whole, key.file)
    except DocumentError:
        return refusal
    edit = Edit(FieldPath(key.path.segments), old, new)
    wanted = apply_edits(document.value, [edit])
    others = {each.index: each.value for each in load(content, key.file)} | {document.index: wanted}
    return whole if others == {each.index: each.value for each in found} else refusal


@dataclass(frozen=True, slots=True)
class Fixable:
    """A problem of one object that edits of the object would fix."""

    workload: ManifestWorkload  #: The object.
    rule: str  #: The rule that found it, or ``inject``.
    severity: Severity  #: How bad it is.
    path: FieldPath  #: The field, in the object.
    message: str  #: What is wrong.
    edits: tuple[Edit, ...]  #: What would fix it.


#: What stands for a rule's id where a workload gets default constraints.
INJECTION: Final = "inject"
#: What several builds may want of one text: its rule, and the field that is edited there.
_Wish: TypeAlias = tuple[str, TextKey, int, FieldPath]
_IsExempt: TypeAlias = Callable[[ManifestWorkload, Fixable], bool]
_Refused: TypeAlias = list[tuple[Fix, RewriteRefusal]]
#: A layer, however many objects it is one of.
_Place: TypeAlias = tuple[TextKey, int, FieldPath]
#: Why what was built is left alone.
_NOWHERE = "no single source file has this value: fix it by hand"


def fixes_of(
    found: Iterable[Fixable], workloads: list[ManifestWorkload], refused: _Refused, is_exempt: _IsExempt
) -> Iterator[Fix]:
    """Yield the fixes, each with its text; several builds that share a line give one fix.

    Args:
        found: What there is to fix.
        workloads: Every workload.
        refused: Takes what cannot be fixed in what it was built from.
        is_exempt: Returns whether a workload is exempt from what is wrong with another.
    """
    wishes: dict[_Wish, list[tuple[Fixable, Placed]]] = {}
    for each in found:
        manifest = each.workload.manifest
        if not isinstance(manifest, BuiltObject):
            yield _in_file(each)
        elif placed := manifest.origin.placed(each.edits):
            first = placed.edits[0].path
            key = each.rule, placed.layer.text, placed.layer.document.index, first
            wishes.setdefault(key, []).append((each, placed))
        else:
            refused.append((_at_origin(each, manifest.origin), RewriteRefusal(0, _NOWHERE)))
    users = _users(workloads) if wishes else {}
    for group in wishes.values():
        repair, problem = _together(group, users, is_exempt)
        if problem:
            refused.append((repair, RewriteRefusal(0, problem)))
        else:
            yield repair


def _in_file(each: Fixable) -> Fix:
    manifest, index = each.workload.manifest, each.workload.manifest.document.index
    return Fix(
        location=manifest.location(each.path),
        title=each.workload.title,
        path=each.path,
        rule=each.rule,
        message=each.message,
        text=TextKey(manifest.document.file),
        edits=tuple((index, Edit(manifest.path + edit.path, edit.old, edit.new)) for edit in each.edits),
        objects=((each.workload, each.edits),),
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
        title=(title_of(written.layer) if written else "") or each.workload.title,
        path=written.path if written else each.path,
        rule=each.rule,
        message=each.message,
        text=layer.text if layer else TextKey(origin.build),
        edits=tuple((layer.document.index, edit) for edit in placed.edits) if layer and placed else (),
        objects=((each.workload, each.edits),),
    )


def _together(
    group: list[tuple[Fixable, Placed]], users: Mapping[_Place, list[ManifestWorkload]], is_exempt: _IsExempt
) -> tuple[Fix, str]:
    """Return the one repair of what builds have in common, and why it must not be made; empty if it may."""
    first, placed = group[0]
    repair = replace(
        _at_origin(first, _origin(first.workload), placed),
        message=common_message([each.message for each, _ in group]),
        objects=tuple({id(each.workload): (each.workload, each.edits) for each, _ in group}.values()),
    )
    if any(other.edits != placed.edits for _, other in group):
        return repair, f"{_builds(each.workload for each, _ in group)} need different values here"
    own = {id(each.workload) for each, _ in group}
    others = [entry for entry in users[_place(placed.layer)] if id(entry) not in own]
    exempt = [entry for entry in others if is_exempt(entry, first)]
    if exempt:
        return repair, f"{_builds(exempt)} is built from the same text and exempt from the rule"
    moved = ((entry, _moved(first, placed, entry)) for entry in others)
    changed = tuple((entry, edits) for entry, edits in moved if edits)
    return replace(repair, objects=(*repair.objects, *changed)), ""


def _origin(entry: ManifestWorkload) -> Origin:
    assert isinstance(entry.manifest, BuiltObject)  # noqa: S101  # its callers have looked
    return entry.manifest.origin


def _builds(entries: Iterable[ManifestWorkload]) -> str:
    return ", ".join(sorted({_origin(entry).build for entry in entries}))


def _place(layer: Layer) -> _Place:
    return layer.text, layer.document.index, layer.path


def _users(workloads: Iterable[ManifestWorkload]) -> dict[_Place, list[ManifestWorkload]]:
    """Return which objects were built from each text."""
    users: dict[_Place, list[ManifestWorkload]] = {}
    for entry in workloads:
        if isinstance(entry.manifest, BuiltObject):
            for place in dict.fromkeys(map(_place, entry.manifest.origin.layers)):
                users.setdefault(place, []).append(entry)
    return users


def _moved(each: Fixable, placed: Placed, entry: ManifestWorkload) -> tuple[Edit, ...]:
    """Return the edits of another object that edits of one's text cause; empty if it does not change."""
    origin, edits = _origin(entry), []
    for edit in each.edits:
        path = translated(edit.path, each.workload.manifest.value, origin.value)
        written = path and origin.written(path)
        if path is None or not written or written.layer.text != placed.layer.text:
            return ()
        edits.append(Edit(path, value_at(origin.value, path.segments), edit.new))
    return tuple(edits)
