"""From the text of a file to documents that remember the line of every field. Opens no files itself.

YAML is read as kubectl reads it (``syntax/scalars.py`` has the differences to Python's reading), JSON as a
stream of values. Of a key that stands twice in a mapping the last value counts, as for kubectl; the document
remembers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policies.manifests import json_stream, yaml_stream
from policies.manifests.encoding import decoded
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldError, FieldPath
from policies.manifests.findings import Location
from policies.manifests.lines import MAX_PROBLEMS, LineMap

_BOM = "\ufeff"
#: A byte order mark where a later document starts: files that were put one behind the other have it.
_INNER_BOM = re.compile(f"^(---[ \\t]*(?:#[^\\n]*)?\n){_BOM}", re.MULTILINE)
#: How JSON starts and YAML in braces seldom does; decides whose error is told.
_LIKE_JSON = re.compile(r'\s*(\{\s*"|\[\s*["{[])')


class _Read(NamedTuple):
    """A value, what finds the lines of its fields, and whether a key stands twice somewhere."""

    value: object
    find_lines: Callable[[], LineMap]
    repeats: bool


class RepeatedKey(NamedTuple):
    """A key that stands twice in a mapping.

    Attributes:
        path: The key, from the root of its document.
        line: The line of the value that counts, the last one; 0 where lines are nobody's.
        earlier: The line of the value before it; 0 where lines are nobody's.
    """

    path: FieldPath
    line: int
    earlier: int


@dataclass(slots=True, eq=False)
class Document:
    """One document of a file.

    Attributes:
        value: The JSON value: mappings have string keys only. Aliases share their value; do not change it.
        file: The name that messages use.
        index: Which document of the file it is, from 0; documents without content count too.
        repeated: The keys that stand twice in a mapping, in the order of their lines; 100 at most.
    """

    value: Any
    file: str
    index: int
    _find_lines: Callable[[], LineMap] = field(repr=False)
    _lines: LineMap | None = field(default=None, repr=False)
    repeated: tuple[RepeatedKey, ...] = ()

    def without_lines(self) -> Document:
        """Return the document as one whose lines are nobody's, for a text that a tool made."""
        repeated = tuple(RepeatedKey(key.path, 0, 0) for key in self.repeated)
        return Document(self.value, self.file, self.index, lambda: LineMap(None, 0), repeated=repeated)

    def line_of(self, path: FieldPath) -> int:
        """Return the line, from 1, of a field or of its nearest ancestor that exists."""
        if self._lines is None:
            self._lines = self._find_lines()
        return self._lines.line_of(path.segments)

    def location(self, path: FieldPath) -> Location:
        """Return the place of a field or of its nearest ancestor that exists."""
        return Location(self.file, self.line_of(path))

    def problems(self, errors: Iterable[FieldError]) -> list[str]:
        """Return errors of the document as ``file:line: field: problem``, in the order of the lines."""
        ordered = sorted(errors, key=lambda error: self.line_of(error.path))
        return [f"{self.location(error.path)}: {error}" for error in ordered]


@dataclass(frozen=True, slots=True, eq=False)
class ManifestObject:
    """One Kubernetes object: a document, or an item of a document that is a List.

    Attributes:
        value: The object, with its ``apiVersion`` and ``kind``.
        path: Where it stands in the document; empty for a document of its own.
        document: The document.
    """

    value: dict[str, Any]
    path: FieldPath
    document: Document

    def location(self, path: FieldPath) -> Location:
        """Return the place of one of the object's fields; ``path`` starts at the object."""
        return self.document.location(self.path + path)


def load(source: str | bytes, file: str, *, lines_before: int = 0) -> list[Document]:
    r"""Read every document of a YAML or JSON text; documents without content are left out.

    Args:
        source: The text, or its bytes in UTF-8 or UTF-16.
        file: The name that messages use.
        lines_before: How many lines of the file stand before the text, for a part of a stream of YAML.

    Raises:
        DocumentError: The text cannot be read; every line is ``file:line: problem``.

    >>> document, = load("spec:\n  replicas: 1", "web.yaml")
    >>> document.value, document.line_of(FieldPath().child("spec", "replicas"))
    ({'spec': {'replicas': 1}}, 2)
    """
    text = source if isinstance(source, str) else decoded(source, file)
    text = text.removeprefix(_BOM)
    if _BOM in text:
        text = _INNER_BOM.sub(r"\1", text)
    like_json = not lines_before and text.lstrip()[:1] in {"{", "["}
    readers = _json_documents(text, file) if like_json else _yaml_documents(text, file, lines_before)
    return [
        Document(value, file, index, find_lines, repeated=_repeated(find_lines()) if repeats else ())
        for index, (value, find_lines, repeats) in enumerate(readers)
        if value is not None
    ]


def load_strictly(source: str | bytes, file: str) -> list[Document]:
    """Read every document of a text in which a key must not stand twice, such as Evenkeel's own settings.

    Raises:
        DocumentError: The text cannot be read, or a key stands twice.
    """
    documents = load(source, file)
    problems = [
        f"{file}:{key.line}: {key.path}: duplicate key, before on line {key.earlier}"
        for document in documents
        for key in document.repeated
    ]
    if problems:
        raise DocumentError(problems)
    return documents


def _repeated(lines: LineMap) -> tuple[RepeatedKey, ...]:
    found = [
        RepeatedKey(FieldPath(way), repeat.line, repeat.earlier) for way, repeat in lines.located_repeats()
    ]
    return tuple(sorted(found, key=lambda key: key.line)[:MAX_PROBLEMS])


def objects(document: Document) -> Iterator[ManifestObject]:
    """Yield the Kubernetes objects of a document: its own, or the items of a List, however nested.

    The items of a typed list (``PodList``) may leave out apiVersion and kind; they are filled in. What is
    no object is left out.
    """
    yield from _flattened(document.value, FieldPath(), document)


def _flattened(value: object, path: FieldPath, document: Document) -> Iterator[ManifestObject]:
    if not isinstance(value, dict):
        return
    kind, items = value.get("kind"), value.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        yield ManifestObject(value, path, document)
        return
    item_kind = kind.removesuffix("List")
    for position, item in enumerate(items):
        if item_kind and isinstance(item, dict) and "kind" not in item:
            item = {"apiVersion": value.get("apiVersion"), "kind": item_kind, **item}  # noqa: PLW2901
        yield from _flattened(item, path.child("items").index(position), document)


def _yaml_documents(text: str, file: str, lines_before: int = 0) -> Iterator[_Read]:
    for lines in yaml_stream.read(text, file, lines_before=lines_before):
        yield _Read(lines.root, lambda lines=lines: lines, bool(lines.repeats))  # type: ignore[misc]  # inferred


def _json_documents(text: str, file: str) -> list[_Read]:
    """Read JSON; what starts like JSON and is none may be YAML in braces."""
    try:
        return [
            _Read(document.value, document.lines, document.repeats)
            for document in json_stream.read(text, file)
        ]
    except json_stream.NoJsonError as no_json:
        try:
            return list(_yaml_documents(text, file))
        except DocumentError as no_yaml:
            if file.endswith(".json") or _LIKE_JSON.match(text):
                raise DocumentError([f"{file}:{no_json.line}: {no_json.problem}"]) from no_json
            raise no_yaml from no_json
