"""The texts that are fixed as they change, and the objects that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from policies.lint.workload_loader import ManifestWorkload
from policies.manifests.documents import Document, ManifestObject, load, objects
from policies.manifests.edits import Edit, apply_edits
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.kustomize_layers import Inline, Layer, TextKey, value_at
from policies.manifests.origins import BuiltObject
from policies.manifests.rewrite import RewriteRefusal


@dataclass(slots=True)
class Workspace:
    """Texts and objects, as they are after what was fixed so far.

    Attributes:
        files: The files that are applied as they are, with their contents.
        built: The objects that kustomize built.
        read: Returns the content of a file that these were built from.
        changed: The files that changed, with their new contents.
        problems: What is wrong with files that cannot be read.
    """

    files: Mapping[str, bytes]
    built: list[ManifestObject]
    read: Callable[[str], bytes]
    changed: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
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
