"""From the text of a file to documents that remember the line of every field. Opens no files itself.

YAML is read as kubectl reads it (``syntax/scalars.py`` has the differences to Python's reading), JSON as a
stream of values. What kubectl would take but means two things at once, such as a key that stands twice,
is an error here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from policies.errors import DocumentError
from policies.fields import FieldError, FieldPath
from policies.findings import Location
from policies.syntax import json_stream, yaml_stream
from policies.syntax.encoding import decoded
from policies.syntax.lines import LineMap

_BOM = "\ufeff"
#: How JSON starts and YAML in braces seldom does; decides whose error is told.
_LIKE_JSON = re.compile(r'\s*(\{\s*"|\[\s*["{[])')


@dataclass(slots=True, eq=False)
class Document:
    """One document of a file.

    Attributes:
        value: The JSON value: mappings have string keys only. Aliases share their value; do not change it.
        file: The name that messages use.
        index: Which document of the file it is, from 0; documents without content count too.
    """

    value: Any
    file: str
    index: int
    _find_lines: Callable[[], LineMap] = field(repr=False)
    _lines: LineMap | None = field(default=None, repr=False)

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
    like_json = not lines_before and text.lstrip()[:1] in {"{", "["}
    readers = _json_documents(text, file) if like_json else _yaml_documents(text, file, lines_before)
    return [
        Document(value, file, index, find_lines)
        for index, (value, find_lines) in enumerate(readers)
        if value is not None
    ]


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


def _yaml_documents(
    text: str, file: str, lines_before: int = 0
) -> Iterator[tuple[object, Callable[[], LineMap]]]:
    for lines in yaml_stream.read(text, file, lines_before=lines_before):
        yield lines.root, lambda lines=lines: lines  # type: ignore[misc]  # mypy cannot infer the default


def _json_documents(text: str, file: str) -> list[tuple[object, Callable[[], LineMap]]]:
    """Read JSON; what starts like JSON and is none may be YAML in braces."""
    try:
        return [(document.value, document.lines) for document in json_stream.read(text, file)]
    except json_stream.NoJsonError as no_json:
        try:
            return list(_yaml_documents(text, file))
        except DocumentError as no_yaml:
            if file.endswith(".json") or _LIKE_JSON.match(text):
                raise DocumentError([f"{file}:{no_json.line}: {no_json.problem}"]) from no_json
            raise no_yaml from no_json
