"""Edit the text of a YAML or JSON file: what is not edited stays as it is, to the last byte.

The places of values are looked up, and only they are rewritten. The result is read back: unless it holds
exactly what the edits make of the old values, the text is not touched. So an anchor that is used
elsewhere, or any layout that is not understood, ends in a refusal, never in another manifest.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from policies.manifests import collection_edits
from policies.manifests.collection_edits import LISTS, FlowWriter, json_layout_of
from policies.manifests.documents import BOM, Document, ManifestObject, load
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.emit import entry_lines, item_lines
from policies.manifests.errors import DocumentError
from policies.manifests.fields import shown
from policies.manifests.nodes import NodeKind, TextNode
from policies.manifests.splice import CannotEditError, Splicer

_Segments: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class RewriteRefusal:
    """Why a text is left alone."""

    line: int  #: The line that is in the way, from 1; 0 where it is none in particular.
    problem: str  #: Why, as the rest of a sentence.
    #: Why each document that is known to be in the way is, by its index; the others are not.
    documents: Mapping[int, RewriteRefusal] = field(default_factory=dict)


def rewrite(
    source: bytes, documents: Sequence[Document], edits: Mapping[int, Iterable[Edit]]
) -> bytes | RewriteRefusal:
    """Return a file with edits made.

    Args:
        source: The file, as the documents were loaded from it.
        documents: Its documents.
        edits: What changes, by the index of the document; paths start at the document.
    """
    try:
        whole = source.decode()
    except UnicodeDecodeError:
        return RewriteRefusal(0, "is not UTF-8, the only encoding that is written")
    if source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or "\0" in whole:
        return RewriteRefusal(0, "is not UTF-8, the only encoding that is written")
    text = whole.removeprefix(BOM)
    if BOM in text:
        return RewriteRefusal(
            text.count("\n", 0, text.index(BOM)) + 1, "a byte order mark is inside the file"
        )
    file = documents[0].file if documents else ""
    splicer = Splicer(text)
    wanted = {document.index: document.value for document in documents}
    in_the_way: dict[int, RewriteRefusal] = {}
    try:
        by_index = {document.index: document for document in documents}
        for index, changes in edits.items():
            changes = tuple(changes)  # noqa: PLW2901
            root = by_index[index].nodes
            editor = _Editor(splicer, root, changes, is_json=by_index[index].is_json)
            old, wanted[index] = wanted[index], apply_edits(wanted[index], changes)
            try:
                editor.change(_Place(root), old, wanted[index], ())
            except CannotEditError as error:
                in_the_way[index] = _refusal(text, error)
        if in_the_way:
            return _together(in_the_way)
        result = splicer.result()
    except CannotEditError as error:
        return _refusal(text, error)
    problem = _difference(result, file, wanted)
    return problem or whole[: len(whole) - len(text)].encode() + result.encode()


def rewrite_object(source: bytes, entry: ManifestObject, edits: Iterable[Edit]) -> bytes | RewriteRefusal:
    """Return a file with edits made in one of its objects.

    Args:
        source: The file, as the object was loaded from it.
        entry: The object.
        edits: What changes; paths start at the object.
    """
    moved = [Edit(entry.path + edit.path, edit.old, edit.new) for edit in edits]
    return rewrite(source, load(source, entry.document.file), {entry.document.index: moved})


def _refusal(text: str, error: CannotEditError) -> RewriteRefusal:
    return RewriteRefusal(text.count("\n", 0, error.position) + 1, error.problem)


def _together(in_the_way: Mapping[int, RewriteRefusal]) -> RewriteRefusal:
    """Return the refusal of a text that some documents are in the way of."""
    first = next(iter(in_the_way.values()))
    return RewriteRefusal(first.line, first.problem, in_the_way)


def _difference(text: str, file: str, wanted: Mapping[int, Any]) -> RewriteRefusal | None:
    """Return a refusal unless a text holds the wanted values."""
    try:
        found = {document.index: document.value for document in load(text, file)}
    except DocumentError as error:
        return RewriteRefusal(0, f"cannot be edited here: it would no longer be read ({error.problems[0]})")
    problem = "cannot be edited here: other values would change, perhaps by an anchor or a merge key"
    different = [
        index for index in {**found, **wanted} if _dumped(found.get(index)) != _dumped(wanted.get(index))
    ]
    return _together({index: RewriteRefusal(0, problem) for index in different}) if different else None


def _dumped(value: Any) -> str:
    # As text, for Python takes 1, 1.0 and True for the same.
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is: its node, the container that holds it, and which entry of it it is."""

    node: TextNode
    holder: TextNode | None = None
    number: int = 0


class _Editor:
    """Edits the text of one document."""

    def __init__(self, splicer: Splicer, root: TextNode, edits: tuple[Edit, ...], *, is_json: bool) -> None:
        self._splicer = splicer
        self._layout = collection_edits.layout_of(root, splicer)
        self._flow = FlowWriter(splicer, json_layout_of(root, splicer) if is_json else None)
        self._is_json = is_json
        self._gone = {edit.path.segments for edit in edits if edit.new is None}

    def change(self, place: _Place, old: Any, new: Any, path: _Segments) -> None:
        """Change what differs between a value and what it should become."""
        node = place.node
        if old is new:
            return
        if node.kind is NodeKind.ALIAS:
            raise CannotEditError(node.start, "the value is an alias, whose anchor others may use")
        if old and new and isinstance(old, Mapping) and isinstance(new, Mapping):
            self._change_mapping(place, old, new, path)
        elif old and new and isinstance(old, LISTS) and isinstance(new, LISTS):
            self._change_list(place, old, new, path)
        elif old != new or type(old) is not type(new):
            self._replace(place, new)

    def _change_mapping(
        self, place: _Place, old: Mapping[str, Any], new: Mapping[str, Any], path: _Segments
    ) -> None:
        node = place.node
        numbers = {entry.name: number for number, entry in enumerate(node.entries)}
        names = Counter(entry.name for entry in node.entries)
        gone = []
        for name, value in old.items():
            if new.get(name, self) is value:
                continue
            if name not in numbers:
                raise CannotEditError(node.start, f"{name} comes from a merge key (<<)")
            number = numbers[name]
            if names[name] > 1:
                raise CannotEditError(node.entries[number].start, f"duplicate key {shown(name)}")
            if name in new:
                inner = _Place(node.entries[number].value, node, number)
                self.change(inner, value, new[name], (*path, name))
            else:
                gone.append(number)
        added = [(name, value) for name, value in new.items() if name not in old]
        self._take_and_add(place, gone, added, new)

    def _change_list(self, place: _Place, old: Sequence[Any], new: Sequence[Any], path: _Segments) -> None:
        node = place.node
        gone = [number for number in range(len(old)) if (*path, number) in self._gone]
        kept = [number for number in range(len(old)) if number not in gone]
        if len(kept) > len(new):
            raise CannotEditError(node.start, "it is not clear which entries of the list stay")
        for number, value in zip(kept, new, strict=False):
            inner = _Place(node.entries[number].value, node, number)
            self.change(inner, old[number], value, (*path, number))
        added: list[tuple[str | None, Any]] = [(None, value) for value in new[len(kept) :]]
        self._take_and_add(place, gone, added, new)

    def _take_and_add(
        self, place: _Place, gone: list[int], added: Sequence[tuple[str | None, Any]], new: Any
    ) -> None:
        node = place.node
        if len(gone) == len(node.entries):
            self._replace(place, new)
            return
        if gone:
            if node.flow:
                self._flow.delete(node, gone)
            else:
                collection_edits.delete(self._splicer, node, gone)
        if not added:
            return
        if node.flow:
            self._flow.append(node, list(added))
            return
        lines = [
            line
            for name, value in added
            for line in (
                item_lines(value, self._layout) if name is None else entry_lines(name, value, self._layout)
            )
        ]
        collection_edits.append(self._splicer, node, lines)

    def _replace(self, place: _Place, new: Any) -> None:
        node, holder = place.node, place.holder
        if node.marked:
            raise CannotEditError(node.start, "the value has an anchor or a tag")
        if "{{" in self._splicer.text[node.start : node.end]:
            raise CannotEditError(node.start, "the value is a template")
        filled = bool(new) and isinstance(new, Mapping | list | tuple)
        in_brackets = self._is_json or (holder is not None and holder.flow) or (node.flow and node.entries)
        has_key = holder is not None and holder.kind is NodeKind.MAPPING
        if in_brackets:
            self._flow.replace(node, new)
        elif holder is not None and has_key and filled and not node.entries:
            entry, column = holder.entries[place.number], self._splicer.column(holder.start)
            collection_edits.put_below(self._splicer, entry, new, column=column, layout=self._layout)
        elif holder is not None and has_key and node.entries and not filled:
            collection_edits.put_beside(self._splicer, holder.entries[place.number], new, layout=self._layout)
        else:
            collection_edits.replace(self._splicer, node, new, layout=self._layout)
