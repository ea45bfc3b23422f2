"""The files that a kustomization has kustomize open: its fields, exactly as they must be written.

Kustomize reads fields whatever their case, and opens what entries of some of them name: files, folders, and
addresses. What is built is only what is understood here; any other field might open more. A field of
``patches`` opens nothing and decides which objects are changed: ``target``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policies.manifests.documents import Document, load
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    VALUE_INVALID,
    ErrorKind,
    FieldError,
    FieldPath,
    invalid_value,
    unknown_field,
    unsupported_value,
    wrong_type,
)

#: Fields that list other kustomizations and whole manifests.
_RESOURCES: Final = ("resources", "bases", "components")
#: Fields that list files with what is no manifest.
_FILES: Final = ("configurations", "crds")
#: Fields that list files with objects that steer kustomize, or such objects themselves.
_PLUGINS: Final = ("generators", "transformers", "validators")
#: Fields that list patches, by their files or themselves.
_TEXTS: Final = ("patchesStrategicMerge",)
_PATCH: Final = frozenset({"path", "patch", "target", "options"})
_GENERATOR: Final = frozenset(
    {"name", "namespace", "behavior", "files", "envs", "env", "literals", "options", "type"}
)
#: Fields that list objects, and what these may have.
_ENTRIES: Final[Mapping[str, frozenset[str]]] = {
    "patches": _PATCH,
    "patchesJson6902": _PATCH,
    "replacements": frozenset({"path", "source", "targets"}),
    "configMapGenerator": _GENERATOR,
    "secretGenerator": _GENERATOR,
}
#: Fields of charts, which kustomize has helm download.
_CHARTS: Final = ("helmCharts", "helmChartInflationGenerator")
#: Where a chart is downloaded from, by kustomize's names for it; without one it is in chartHome.
_REPOSITORIES: Final = ("repo", "chartRepoUrl")
_NOT_INFLATED: Final = (
    "kustomize renders charts of chartHome with --enable-helm alone, which is not given here"
)
#: Fields that open nothing.
_PLAIN: Final = frozenset(
    {
        "apiVersion", "kind", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels",
        "commonAnnotations", "images", "replicas", "vars", "sortOptions", "generatorOptions", "buildMetadata",
        "helmGlobals", "openapi",
    }
)  # fmt: skip
_KNOWN: Final = _PLAIN | {*_RESOURCES, *_FILES, *_PLUGINS, *_TEXTS, *_ENTRIES, *_CHARTS}
_KINDS: Final = (None, "Kustomization", "Component")
#: What kustomize rewrites in the text before it reads it, wherever it is.
_REWRITTEN: Final = b"imageTags:"
#: Breaks of lines for some readers of YAML, and not for others.
_BREAKS: Final = ("\x85", "\u2028", "\u2029")
#: Fields of objects that steer kustomize whose texts are opened, in small letters.
_OPENED: Final = frozenset({"path", "paths", "file", "files", "env", "envs", "targetfilepath"})
#: The version of such objects that are part of kustomize, and the one that has helm render a chart.
_BUILTIN: Final = "builtin"
_INFLATION: Final = "HelmChartInflationGenerator"
#: One requirement of a selector with the comma behind it; what was matched is never given back, so that many
#: blanks cost no more than reading them.
_REQUIREMENT: Final = re.compile(
    r"\s*+(?P<absent>!)?(?P<key>[\w./-]++)\s*+"
    r"(?:(?P<set>in|notin)\s*+\((?P<values>[^()]*+)\)|(?P<sign>==?|!=)\s*+(?P<value>[\w.-]*+))?\s*+(?:,|$)"
)
#: Characters of a target's expression, and repetitions in it, up to which it is matched: Python's expressions
#: come back to earlier places where Go's do not, and they come from untrusted files; people write ``web-``
#: with one ``.*``.
MAX_PATTERN: Final = 200
MAX_REPETITIONS: Final = 2
#: A repetition, and a repeated group.
_REPEATED: Final = re.compile(r"[*+{]")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")


@dataclass(slots=True)
class Listed:
    """The entries of a kustomization, as they are written."""

    resources: list[str] = field(default_factory=list)  #: Files and folders, or addresses, with manifests.
    parts: list[str] = field(default_factory=list)  #: Files with patches and the like.
    plugins: list[str] = field(default_factory=list)  #: Those of them whose objects steer kustomize.
    sources: list[str] = field(default_factory=list)  #: Files that objects are made of.
    #: Objects that steer kustomize and are in the kustomization itself.
    inline: list[str] = field(default_factory=list)
    #: Charts, each by its name, its version, and where it comes from.
    charts: list[str] = field(default_factory=list)
    errors: list[FieldError] = field(default_factory=list)  #: Why it must not be built.

    def every(self) -> Iterator[str]:
        """Yield every name that kustomize would open."""
        yield from (*self.resources, *self.parts, *self.sources)


def listed_by(document: Document) -> Listed:
    """Return the entries of a kustomization."""
    value, listed = document.value, Listed()
    if not isinstance(value, dict):
        listed.errors.append(wrong_type(FieldPath(), "an object", value))
        return listed
    listed.errors += _unknown(value, _KNOWN, FieldPath())
    listed.errors += (_invalid(key.path, "duplicate key") for key in document.repeated)
    if value.get("kind") not in _KINDS:
        kinds = [str(kind) for kind in _KINDS if kind]
        path = FieldPath(("kind",))
        listed.errors.append(unsupported_value(path, value["kind"], kinds, VALUE_INVALID))
    for name in (*_RESOURCES, *_FILES, *_PLUGINS, *_TEXTS):
        _take_texts(name, value.get(name), listed)
    for name in _ENTRIES:
        _take_entries(name, value.get(name), listed)
    _take_openapi(value.get("openapi"), listed)
    for name in _CHARTS:
        path = FieldPath((name,))
        for position, chart in enumerate(_list(value.get(name), path, listed)):
            if problem := _local_problem(chart):
                listed.errors.append(_invalid(path.index(position), problem))
            else:
                listed.charts.append(_chart_words(chart))
    return listed


def _local_problem(chart: object) -> str:
    """Return why a chart that is there is not rendered all the same; empty for one that is downloaded."""
    if isinstance(chart, dict) and not any(map(chart.get, _REPOSITORIES)):
        return f"{_chart_words(chart)}: {_NOT_INFLATED}"
    return ""


def _chart_words(chart: object) -> str:
    """Return how a chart is named in messages: its name, its version, and where it comes from."""
    fields = chart if isinstance(chart, dict) else {}
    names = ("name", "chartName", "version", "chartVersion")
    words = [str(fields[name]) for name in names if fields.get(name)]
    words += [f"from {fields[name]}" for name in _REPOSITORIES if fields.get(name)]
    return " ".join(words) or "a chart"


def text_errors(content: bytes) -> Iterator[FieldError]:
    """Yield why a text may mean something else to kustomize than to us."""
    if _REWRITTEN in content:
        yield _invalid(FieldPath(), "imageTags is not read here, use images")
    text = content.decode(errors="replace")
    if "\0" in text or any(mark in text for mark in _BREAKS):
        yield _invalid(FieldPath(), "must be UTF-8 without rare line breaks")


def plugin_names(content: str | bytes, file: str) -> tuple[list[str], list[str]]:
    """Return the files that objects which steer kustomize open, and the charts that they have helm download.

    Raises:
        DocumentError: They cannot be read, are not part of kustomize, or render a chart that is there.
    """
    opened: list[str] = []
    charts: list[str] = []
    for document in load(content, file):
        value = document.value
        if not isinstance(value, dict) or value.get("apiVersion") != _BUILTIN or document.repeated:
            raise DocumentError([f"{document.location(FieldPath())}: not a built-in plugin of kustomize"])
        if value.get("kind") == _INFLATION:
            if problem := _local_problem(value):
                raise DocumentError([f"{document.location(FieldPath())}: {problem}"])
            charts.append(_chart_words(value))
        opened += _opened(value)
    return opened, charts


def _opened(value: object) -> Iterator[str]:
    """Yield every text below a field that may be opened."""
    waiting: list[tuple[object, bool]] = [(value, False)]
    while waiting:
        node, is_opened = waiting.pop()
        if isinstance(node, dict):
            waiting += ((inner, key.casefold() in _OPENED) for key, inner in node.items())
        elif isinstance(node, list):
            waiting += ((inner, is_opened) for inner in node)
        elif isinstance(node, str) and is_opened:
            yield node


def _take_texts(name: str, value: object, listed: Listed) -> None:
    for number, entry in enumerate(_list(value, FieldPath((name,)), listed)):
        path = FieldPath((name, number))
        if not isinstance(entry, str):
            listed.errors.append(wrong_type(path, "a string", entry))
        elif name in (*_TEXTS, *_PLUGINS) and "\n" in entry:
            _take_inline(name, entry, path, listed)
        else:
            _take_name(entry, path, listed.resources if name in _RESOURCES else listed.parts, listed)
            if name in _PLUGINS:
                listed.plugins.append(entry)


def _take_inline(name: str, text: str, path: FieldPath, listed: Listed) -> None:
    """Take in an object that is where a file might be named: only an object is surely none."""
    try:
        documents = load(text, "")
    except DocumentError:
        documents = []
    if not documents or not all(isinstance(document.value, dict) for document in documents):
        listed.errors.append(_invalid(path, "must be a file or an object"))
    elif name in _PLUGINS:
        listed.inline.append(text)


def _take_entries(name: str, value: object, listed: Listed) -> None:
    for number, entry in enumerate(_list(value, FieldPath((name,)), listed)):
        path = FieldPath((name, number))
        if isinstance(entry, str) and name == "patches":
            # Before there were targets, the list was one of files.
            _take_texts("patchesStrategicMerge", [entry], listed)
        elif not isinstance(entry, dict):
            listed.errors.append(wrong_type(path, "an object", entry))
        else:
            listed.errors += _unknown(entry, _ENTRIES[name], path)
            if "path" in entry:
                _take_name(entry["path"], path.child("path"), listed.parts, listed)
            for key in ("files", "envs"):
                names = _list(entry.get(key), path.child(key), listed)
                for position, each in enumerate(names):
                    _take_name(each, path.child(key).index(position), listed.sources, listed)
            if entry.get("env"):
                _take_name(entry["env"], path.child("env"), listed.sources, listed)


def _take_openapi(value: object, listed: Listed) -> None:
    path = FieldPath(("openapi",))
    if isinstance(value, dict):
        listed.errors += _unknown(value, frozenset({"path", "version"}), path)
        if "path" in value:
            _take_name(value["path"], path.child("path"), listed.sources, listed)
    elif value is not None:
        listed.errors.append(wrong_type(path, "an object", value))


def _take_name(name: object, path: FieldPath, into: list[str], listed: Listed) -> None:
    if not isinstance(name, str):
        listed.errors.append(wrong_type(path, "a string", name))
    elif not name.isprintable():
        listed.errors.append(invalid_value(path, name, "must be printable", VALUE_INVALID))
    elif name:
        into.append(name)


def _list(value: object, path: FieldPath, listed: Listed) -> list[Any]:
    if isinstance(value, list):
        return value
    if value is not None:
        listed.errors.append(wrong_type(path, "a list", value))
    return []


def _unknown(value: Mapping[str, Any], known: frozenset[str], path: FieldPath) -> Iterator[FieldError]:
    for name in value:
        if name not in known:
            yield unknown_field(path, name, sorted(known))


def _invalid(path: FieldPath, problem: str) -> FieldError:
    return FieldError(path, problem, ErrorKind.INVALID, VALUE_INVALID)


def is_target(target: Mapping[str, Any], kind: str, names: Iterable[str], value: Mapping[str, Any]) -> bool:
    """Return whether a target means an object.

    Args:
        target: The target.
        kind: The object's kind.
        names: Its names, with prefix and suffix and without.
        value: What its resource states.
    """
    if not _fits(target.get("kind"), [kind]) or not _fits(target.get("name"), names):
        return False
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return _selects(target.get("labelSelector"), metadata.get("labels")) and _selects(
        target.get("annotationSelector"), metadata.get("annotations")
    )


def _fits(pattern: Any, names: Iterable[str]) -> bool:
    """Return whether a target's regular expression, which must match a whole name, matches one of them.

    Of one that could take long it is not known: what its patch states is then at no line.
    """
    if not pattern:
        return True
    text = str(pattern)
    if (
        len(text) > MAX_PATTERN
        or _REPEATED_GROUP.search(text)
        or len(_REPEATED.findall(text)) > MAX_REPETITIONS
    ):
        return False
    try:
        compiled = re.compile(text)
    except re.error:
        return False
    return any(compiled.fullmatch(name) for name in names)


def _selects(selector: Any, labels: Any) -> bool:
    """Return whether a selector as kubectl takes it holds, such as ``app=web,tier in (a, b),!old``."""
    if not isinstance(selector, str) or not selector.strip():
        return True
    labels = labels if isinstance(labels, dict) else {}
    end = 0
    while end < len(selector):
        requirement = _REQUIREMENT.match(selector, end)
        # Kustomize refuses what is none, and then builds nothing.
        if requirement is None or not _holds(requirement, labels):
            return False
        end = requirement.end()
    return True


def _holds(requirement: re.Match[str], labels: Mapping[str, Any]) -> bool:
    key, sign = requirement["key"], requirement["set"] or requirement["sign"]
    if sign is None:
        return (key in labels) is not bool(requirement["absent"])
    text = requirement["values"] if requirement["set"] else requirement["value"]
    wanted = {value.strip() for value in text.split(",")}
    return (labels.get(key) in wanted) is (sign in {"in", "=", "=="})
