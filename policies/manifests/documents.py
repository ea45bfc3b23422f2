"""From the text of a file to documents that know the line of every field. Opens no files itself.

YAML is read as kubectl reads it (``scalars.py`` has the differences to Python's reading), JSON as a
stream of values. Of a duplicate key in a mapping the last value counts, as for kubectl; the document
remembers it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from policies.manifests import json_values, yaml_values
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldError, FieldPath, required_value, wrong_type
from policies.manifests.findings import Location
from policies.manifests.json_values import JsonValue
from policies.manifests.node_builder import json_nodes, yaml_nodes
from policies.manifests.nodes import EventLines, NodeKind, Repeat, TextNode
from policies.manifests.yaml_values import MAX_PROBLEMS, YamlValue

#: Byte order marks, the longer first: UTF-32 starts as UTF-16 does.
_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: The first bytes of UTF-16 text without a mark: every manifest starts with ASCII.
_BARE_UTF16 = {(True, False): "utf-16-be", (False, True): "utf-16-le"}
BOM = "\ufeff"
#: The kind that holds objects of any kind.
LIST = "List"
#: A byte order mark where a later document starts: files that were put one behind the other have it.
_INNER_BOM = re.compile(f"^(---[ \\t]*(?:#[^\\n]*)?\n){BOM}", re.MULTILINE)
#: How JSON starts and YAML in braces seldom does; decides whose error is reported.
_LIKE_JSON = re.compile(r'\s*(\{\s*"|\[\s*["{[])')


#: Characters up to which two values of one key are compared: what people write there is a few lines.
_COMPARED = 10_000
#: Characters of a value that messages show: a name or a number.
_SHOWN = 60


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The part of a text that holds one document."""

    text: str | bytes  #: The whole text; of an item of a large List its bytes, since few are looked at.
    start: int  #: Where the part starts, in characters.
    end: int | None  #: Where it ends; None for JSON, which shows its end.
    line: int  #: The line where it starts.
    lines: EventLines | None = None  #: The lines of its fields, if the reader kept them.

    @property
    def decoded(self) -> str:
        """The whole text."""
        return self.text if isinstance(self.text, str) else self.text.decode()


_ROOT = FieldPath()
#: Documents whose places are kept for the next look: most are looked at a few times, one after the other.
_KEPT = 16


@lru_cache(maxsize=_KEPT)
def _nodes_of(part: _Part) -> TextNode:
    """Return the places of the values of a part, in the whole text."""
    if part.end is None:
        return json_nodes(part.decoded, part.start, part.line)
    return yaml_nodes(part.decoded, part.start, part.end, part.line)


class RepeatedKey(NamedTuple):
    """A duplicate key of a mapping."""

    path: FieldPath  #: The key, from the root of its document.
    line: int  #: The line of the value that counts, the last one; 0 where there are no lines.
    earlier: int  #: The line of the value before it; 0 where there are no lines.
    same: bool = False  #: Whether both values are written alike; False for very long ones, too.
    text: str = ""  #: The value before it as it is written; empty for what is no short scalar.


@dataclass(slots=True, eq=False)
class Document:
    """One document of a file."""

    #: The JSON value: mappings have string keys only. Aliases share their value; do not change it.
    value: Any
    file: str  #: The name that messages use.
    index: int  #: Which document of the file it is, from 0; documents without content count too.
    line: int = 0  #: The line of all fields of a document that has no text of its own; 0 for none.
    repeated: tuple[RepeatedKey, ...] = ()  #: The duplicate keys, in the order of their lines; 100 at most.
    _part: _Part | None = field(default=None, repr=False)

    def at_line(self, line: int) -> Document:
        """Return the document with all fields on one line; 0 for none, where a tool made the text."""
        repeated = tuple(key._replace(line=line, earlier=line) for key in self.repeated)
        return Document(self.value, self.file, self.index, line, repeated)

    @property
    def is_json(self) -> bool:
        """Whether its text is JSON, and not YAML in braces."""
        return self._part is not None and self._part.end is None

    @property
    def nodes(self) -> TextNode:
        """The places of its values in its text."""
        if self._part is None:
            return TextNode(NodeKind.SCALAR, 0, 0, self.line)
        return _nodes_of(self._part)

    def line_of(self, path: FieldPath) -> int:
        """Return the line, from 1, of a field or of its nearest ancestor that exists."""
        lines = self._part.lines if self._part else None
        return (lines or self.nodes).line_of(path.segments)

    def location(self, path: FieldPath) -> Location:
        """Return the place of a field or of its nearest ancestor that exists."""
        return Location(self.file, self.line_of(path))

    def problems(self, errors: Iterable[FieldError]) -> list[str]:
        """Return errors of the document as ``file:line: field: problem``, in the order of the lines."""
        ordered = sorted(errors, key=lambda error: self.line_of(error.path))
        return [f"{self.location(error.path)}: {error}" for error in ordered]


@dataclass(frozen=True, slots=True, eq=False)
class ManifestObject:
    """One Kubernetes object: a document, or an item of a document that is a List."""

    value: dict[str, Any]  #: The object, with its ``apiVersion`` and ``kind``.
    path: FieldPath  #: Where it is in the document; empty for a document of its own.
    document: Document  #: The document.

    def location(self, path: FieldPath) -> Location:
        """Return the place of one of the object's fields; ``path`` starts at the object."""
        return self.document.location(self.path + path)

    def problems(self, errors: Iterable[FieldError]) -> list[str]:
        """Return errors of the object as ``file:line: field: problem``, in the order of the lines."""
        return self.document.problems(replace(error, path=self.path + error.path) for error in errors)


def load(source: str | bytes, file: str, *, lines_before: int = 0) -> list[Document]:
    r"""Read every document of a YAML or JSON text; documents without content are left out.

    Args:
        source: The text, or its bytes in UTF-8 or UTF-16.
        file: The name that messages use.
        lines_before: How many lines of the file are before the text, for a part of a stream of YAML.

    Raises:
        DocumentError: The text cannot be read; every line is ``file:line: problem``.

    >>> document, = load("spec:\n  replicas: 1", "web.yaml")
    >>> document.value, document.line_of(FieldPath().child("spec", "replicas"))
    ({'spec': {'replicas': 1}}, 2)
    """
    text = source if isinstance(source, str) else decoded(source, file)
    text = text.removeprefix(BOM)
    if BOM in text:
        text = _INNER_BOM.sub(r"\1", text)
    like_json = not lines_before and text.lstrip()[:1] in {"{", "["}
    documents = _json_documents(text, file) if like_json else _yaml_documents(text, file, lines_before)
    return [document for document in documents if document.value is not None]


def load_item(source: bytes, file: str, *, lines_before: int) -> Document:
    """Read a part of a file that is one JSON value, ``lines_before`` lines into it.

    It is read as the API server writes it: of a duplicate key nothing is known.

    Raises:
        DocumentError: It is none.
    """
    try:
        value = orjson.loads(source)
    except orjson.JSONDecodeError:
        # It knows no lines, and takes less.
        return _only(decoded(source, file, lines_before=lines_before), file, lines_before)
    return Document(value, file, 0, _part=_Part(source, 0, None, lines_before + 1))


def _only(text: str, file: str, lines_before: int) -> Document:
    try:
        found, *more = json_values.read(text, file, lines_before=lines_before)
    except json_values.NoJsonError as error:
        raise DocumentError([f"{file}:{error.line}: {error.problem}"]) from error
    if more:
        raise DocumentError([f"{file}:{more[0].line}: is not JSON: something behind the end of the value"])
    return _document(found, file, 0, _Part(text, 0, None, lines_before + 1))


def load_strictly(source: str | bytes, file: str) -> list[Document]:
    """Read every document of a text in which no key may be duplicate, such as Evenkeel's own settings.

    Raises:
        DocumentError: The text cannot be read, or a key is duplicate.
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


def objects(document: Document) -> Iterator[ManifestObject]:
    """Yield the Kubernetes objects of a document: its own, or the items of a List, however nested.

    The items of a typed list (``PodList``) may leave out apiVersion and kind; they are filled in. What is
    no object is left out, see ``list_errors``.
    """
    yield from _flattened(document.value, _ROOT, document)


def list_errors(document: Document, rule: str) -> list[FieldError]:
    """Return why objects that a List should hold are not found in it: they would be missing without a word.

    Args:
        document: The document.
        rule: The rule that a List without ``items`` breaks.
    """
    if not isinstance(document.value, dict) or document.value.get("kind") != LIST:
        return []
    found = ErrorList()
    waiting: list[tuple[object, FieldPath]] = [(document.value, FieldPath())]
    while waiting and not found.full:
        value, path = waiting.pop()
        if not isinstance(value, dict) or value.get("kind") != LIST:
            continue
        if "items" not in value:
            found.add(required_value(path.child("items"), "", rule))
        for position, item in enumerate(found.items(value.get("items"), path.child("items"))):
            at = path.child("items").index(position)
            if isinstance(item, dict):
                waiting.append((item, at))
            else:
                found.add(wrong_type(at, "an object", item))
    return found.errors


def objects_or_itself(document: Document) -> list[ManifestObject]:
    """Return the objects of a document: the items of a List, else what it is, object or not."""
    value = document.value
    items = value.get("items") if isinstance(value, dict) else None
    if isinstance(items, list):
        return list(objects(document))
    return [ManifestObject(value, FieldPath(), document)]


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


def _yaml_documents(text: str, file: str, lines_before: int = 0) -> Iterator[Document]:
    for index, found in enumerate(yaml_values.read(text, file, lines_before=lines_before)):
        part = _Part(text, found.start, found.end, found.line, found.lines)
        yield _document(found, file, index, part)


def _json_documents(text: str, file: str) -> list[Document]:
    """Read JSON; what starts like JSON and is none may be YAML in braces."""
    try:
        return [
            _document(found, file, index, _Part(text, found.start, None, found.line))
            for index, found in enumerate(json_values.read(text, file))
        ]
    except json_values.NoJsonError as no_json:
        try:
            return list(_yaml_documents(text, file))
        except DocumentError as no_yaml:
            if file.endswith(".json") or _LIKE_JSON.match(text):
                raise DocumentError([f"{file}:{no_json.line}: {no_json.problem}"]) from no_json
            raise no_yaml from no_json


def _document(found: YamlValue | JsonValue, file: str, index: int, part: _Part) -> Document:
    document = Document(found.value, file, index, _part=part)
    if found.repeats:
        keys = sorted(document.nodes.repeated(), key=lambda key: key.last.line)[:MAX_PROBLEMS]
        document.repeated = tuple(_repeated_key(key, part.decoded) for key in keys)
    return document


def _repeated_key(key: Repeat, text: str) -> RepeatedKey:
    values = (key.earlier.value, key.last.value)
    same = max(value.end - value.start for value in values) <= _COMPARED
    if same:
        earlier, last = (text[value.start : value.end] for value in values)
        same = earlier == last
    before = key.earlier.value
    is_short = before.kind is NodeKind.SCALAR and before.end - before.start <= _SHOWN
    written = text[before.start : before.end] if is_short else ""
    return RepeatedKey(FieldPath(key.way), key.last.line, key.earlier.line, same, written)


def decoded(source: bytes, file: str, *, lines_before: int = 0) -> str:
    """Return the text of a file, byte order mark included if it has one.

    Raises:
        DocumentError: It is no text.
    """
    encoding = next((name for mark, name in _ENCODINGS if source.startswith(mark)), None)
    if encoding is None:
        zeros = (source[:1] == b"\0", source[1:2] == b"\0")
        encoding = _BARE_UTF16.get(zeros, "utf-8")
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        line = lines_before + source.count(b"\n", 0, error.start) + 1
        found = source[error.start : error.start + 1].hex()
        text = f"is not text: the byte 0x{found} is not valid {error.encoding.upper()}"
        raise DocumentError([f"{file}:{line}: {text}"]) from error


def is_of_kubernetes(group: str) -> bool:
    """Return whether a group is Kubernetes' own, so that its kinds are those that the API server validates.

    >>> [is_of_kubernetes(group) for group in ("", "apps", "networking.k8s.io", "serving.knative.dev")]
    [True, True, True, False]
    """
    return "." not in group or group.endswith(".k8s.io")
