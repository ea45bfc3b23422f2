"""Which files state what of the objects that kustomize builds; files are read when a finding needs them.

The files are gone through in kustomize's order: what a kustomization lists, its components, its patches, and
last the prefix and the suffix of the names. Values are not merged: ``policies.manifests.origins`` compares
what each file states with what was built.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from policies.manifests.documents import Document, ManifestObject, decoded, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.file_name import shown_file
from policies.manifests.kustomize_layers import STATING, Inline, Layer
from policies.manifests.origins import BuiltObject, Origin
from webhook.lint.files import absolute, read_file
from webhook.lint.kustomization_fields import is_target
from webhook.lint.kustomizations import Kustomization, kustomization_in

#: The fields that list patches, in the order in which kustomize applies them.
_PATCHES: Final = ("patchesStrategicMerge", "patches", "patchesJson6902")
#: How the line ends that starts a literal block: ``patch: |-``.
_BLOCK: Final = re.compile(r"(^|[\s:-])\|[-+0-9]*\s*(#.*)?$")
_BREAK: Final = re.compile(r"\r\n|\r|\n")


@dataclass(slots=True)
class FieldOrigins:
    """The files that kustomizations are built from."""

    #: The kustomizations that were found, by their folders.
    by_folder: Mapping[Path, Kustomization] = field(default_factory=dict)
    #: The files that were read, by the names that messages use; None for what cannot be read.
    contents: dict[str, bytes | None] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)  #: What these are opened by.
    #: How many kustomizations that are built use a file.
    builds: Counter[Path] = field(default_factory=Counter)
    _documents: dict[str, list[Document]] = field(default_factory=dict)
    _found: dict[tuple[str, str], dict[str, list[_Candidate]]] = field(default_factory=dict)

    def count(self, made_from: Iterable[Kustomization]) -> None:
        """Take in what one more kustomization is made from."""
        for each in made_from:
            self.builds.update({absolute(each.file), *each.resources, *each.parts})

    def content(self, file: str) -> bytes:
        """Return the content of a file, by the name that messages use; empty if it cannot be read."""
        shown = shown_file(file)
        if shown not in self.contents:
            self.paths[shown] = file
            try:
                self.contents[shown] = read_file(file)
            except (OSError, ValueError):
                self.contents[shown] = None
        return self.contents[shown] or b""

    def source(self, file: str) -> bytes:
        """Return the content of a file that something is built from; empty for another."""
        return self.content(file) if absolute(file) in self.builds else b""

    def documents(self, file: str) -> list[Document]:
        """Return the documents of a file; none if it cannot be read."""
        if file not in self._documents:
            try:
                self._documents[file] = load(self.content(file), shown_file(file))
            except DocumentError:
                self._documents[file] = []
        return self._documents[file]

    def built(self, root: Kustomization, manifest: ManifestObject) -> BuiltObject:
        """Return an object that a kustomization built, with what it was built from."""
        origin = Origin(
            build=shown_file(root.file),
            value=manifest.value,
            find_layers=partial(self._layers, root, manifest.value),
            count_builds=lambda file: self.builds[absolute(self.paths.get(file, file))],
        )
        return BuiltObject(manifest.value, manifest.path, manifest.document, origin)

    def _layers(self, root: Kustomization, built: Mapping[str, Any]) -> Sequence[Layer] | None:
        key = root.file, str(built.get("kind"))
        if key not in self._found:
            by_name = self._found[key] = {}
            for each in _Walk(self, key[1]).objects_of(root, []):
                by_name.setdefault(each.name, []).append(each)
        name, namespace = _names(built)
        fitting = [
            each
            for each in self._found[key].get(name, ())
            if not (each.namespace and namespace) or each.namespace == namespace
        ]
        return fitting[0].layers if len(fitting) == 1 else None


@dataclass(slots=True)
class _Candidate:
    """An object on its way through kustomizations."""

    name: str  #: Its name so far.
    namespace: str  #: Its namespace so far, empty where none is said.
    value: Mapping[str, Any]  #: What its resource states.
    layers: list[Layer]  #: The texts that state parts of it.
    names: set[str]  #: Every name that it had.


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through kustomizations after objects of one kind."""

    sources: FieldOrigins
    kind: str

    def objects_of(self, each: Kustomization, given: list[_Candidate], depth: int = 0) -> list[_Candidate]:
        """Return the objects that a kustomization makes; a component changes those that it is given."""
        # Deeper is only what lists itself, which kustomize refuses to build.
        if each.document is None or depth > _MAX_DEPTH:
            return given
        value, found = each.document.value, list(given)
        for entry in _texts(value, "resources", "bases"):
            found += self._listed(each, entry, depth)
        for entry in _texts(value, "components"):
            component = self._kustomization(each, entry)
            found = self.objects_of(component, found, depth + 1) if component else found
        by_name: dict[str, list[_Candidate]] = {}
        for candidate in found:
            for name in candidate.names:
                by_name.setdefault(name, []).append(candidate)
        for target, layer in self._patches(each):
            for candidate in self._patched(target, layer, found, by_name):
                candidate.layers.append(layer)
                _rename_by(candidate, layer.value)
        for candidate in found:
            _rename(candidate, value)
        return found

    def _patched(
        self,
        target: Mapping[str, Any],
        layer: Layer,
        found: list[_Candidate],
        by_name: Mapping[str, list[_Candidate]],
    ) -> Iterable[_Candidate]:
        """Return the objects that a patch is for, by its target or by the object that it is a part of."""
        if target:
            return [
                candidate
                for candidate in found
                if is_target(target, self.kind, candidate.names, candidate.value)
            ]
        value = layer.value if isinstance(layer.value, dict) else {}
        return by_name.get(_names(value)[0], ()) if value.get("kind") == self.kind else ()

    def _listed(self, each: Kustomization, entry: str, depth: int) -> list[_Candidate]:
        file = _beside(each.file, entry)
        if Path(file).is_dir():
            listed = self._kustomization(each, entry)
            return self.objects_of(listed, [], depth + 1) if listed else []
        # Most files hold no object of the kind: they need not be understood.
        if self.kind.encode() not in self.sources.content(file):
            return []
        every = (entry for document in self.sources.documents(file) for entry in objects(document))
        return [_candidate(found) for found in every if found.value.get("kind") == self.kind]

    def _kustomization(self, each: Kustomization, entry: str) -> Kustomization | None:
        folder = absolute(each.folder / entry)
        return self.sources.by_folder.get(folder) or kustomization_in(
            Path(_beside(each.file, entry)), beside=each.folder
        )

    def _patches(self, each: Kustomization) -> Iterator[tuple[Mapping[str, Any], Layer]]:
        """Yield the patches of a kustomization with their targets, in the order in which they are applied."""
        assert each.document is not None  # noqa: S101  # its caller has looked
        for name in _PATCHES:
            entries = each.document.value.get(name)
            for number, entry in enumerate(entries if isinstance(entries, list) else ()):
                path, text = FieldPath((name, number)), entry
                target: Any = None
                if isinstance(entry, dict):
                    target = entry.get("target")
                    field_name = "patch" if isinstance(entry.get("patch"), str) else "path"
                    path, text = path.child(field_name), entry.get(field_name)
                if not isinstance(text, str):
                    continue
                is_inline = path.segments[-1] == "patch" or "\n" in text
                layers = self._inline(each, path, text) if is_inline else self._of_file(each, text)
                for layer in layers:
                    yield target if isinstance(target, dict) else {}, layer

    def _of_file(self, each: Kustomization, entry: str) -> Iterator[Layer]:
        for document in self.sources.documents(_beside(each.file, entry)):
            yield Layer(document, FieldPath(), is_patch=True)

    def _inline(self, each: Kustomization, path: FieldPath, text: str) -> Iterator[Layer]:
        assert each.document is not None  # noqa: S101  # its caller has looked
        line = each.document.line_of(path)
        inline = Inline(each.document, path, self._is_block(each, line, text))
        try:
            documents = load(text, shown_file(each.file), lines_before=line)
        except DocumentError:
            return
        for document in documents:
            if not inline.is_block:
                document = document.at_line(line)  # noqa: PLW2901
            yield Layer(document, FieldPath(), is_patch=True, inline=inline)

    def _is_block(self, each: Kustomization, line: int, text: str) -> bool:
        """Return whether a text is a literal block, so that each of its lines is one of the file."""
        try:
            lines = _BREAK.split(decoded(self.sources.content(each.file), each.file))
        except DocumentError:
            return False
        inner = text.rstrip("\n").split("\n")
        outer = lines[line : line + len(inner)]
        return bool(_BLOCK.search(lines[line - 1])) and list(map(str.strip, inner)) == list(
            map(str.strip, outer)
        )


#: Kustomizations within kustomizations that are gone through; people use three or four.
_MAX_DEPTH: Final = 30


def _beside(file: str, entry: str) -> str:
    """Return the path of an entry that a file lists, as messages name it."""
    return os.path.normpath(Path(file).parent / entry)


def _texts(value: Mapping[str, Any], *names: str) -> Iterator[str]:
    for name in names:
        entries = value.get(name)
        yield from (entry for entry in entries if isinstance(entry, str)) if isinstance(entries, list) else ()


def _names(value: Mapping[str, Any]) -> tuple[str, str]:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return str(metadata.get("name") or ""), str(metadata.get("namespace") or "")


def _candidate(manifest: ManifestObject) -> _Candidate:
    name, namespace = _names(manifest.value)
    layers = [Layer(manifest.document, manifest.path)]
    return _Candidate(name, namespace, manifest.value, layers, {name})


def _rename_by(candidate: _Candidate, patch: Any) -> None:
    """Give an object the name and the namespace that the operations of a JSON Patch write."""
    written: dict[Any, Any] = {}
    for operation in patch if isinstance(patch, list) else ():
        if isinstance(operation, dict) and operation.get("op") in STATING:
            written[operation.get("path")] = operation.get("value")
    candidate.name = str(written.get("/metadata/name") or candidate.name)
    candidate.names.add(candidate.name)
    candidate.namespace = str(written.get("/metadata/namespace") or candidate.namespace)


def _rename(candidate: _Candidate, kustomization: Mapping[str, Any]) -> None:
    """Give an object the name and the namespace that a kustomization gives it."""
    prefix, suffix, namespace = (
        kustomization.get(name) for name in ("namePrefix", "nameSuffix", "namespace")
    )
    candidate.name = f"{prefix or ''}{candidate.name}{suffix or ''}"
    candidate.names.add(candidate.name)
    candidate.namespace = str(namespace or candidate.namespace)
