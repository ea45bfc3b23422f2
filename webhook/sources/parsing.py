"""From texts to Kubernetes objects. What is no manifest is passed over, what is broken is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from policies.errors import DocumentError
from policies.findings import Finding, Location
from policies.manifests import ManifestObject, load, objects
from webhook.sources.texts import Text, unreadable

#: Bytes of a stream of documents that are read at once. Arbitrary; a progress bar moves at each.
PIECE: Final = 2**19
#: Where a document of a stream starts; nothing else may start a line so.
_DOCUMENT_START: Final = re.compile(rb"^---(?=[\s])", re.MULTILINE)
#: What comes before the first document of a stream and holds for what is after it.
_DIRECTIVE: Final = re.compile(rb"^%", re.MULTILINE)
_TEMPLATE: Final = re.compile(rb"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


@dataclass(slots=True)
class Parsed:
    """The objects of one text.

    Attributes:
        objects: Its Kubernetes objects.
        notes: What was passed over and why, a line each.
        problems: Why it cannot be read.
    """

    objects: list[ManifestObject] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)


def parse(text: Text) -> Parsed:
    """Read the objects of a text; one of a folder may hold none without a word."""
    if not text.named and not text.first_line and not _may_hold_objects(text.content):
        return Parsed()
    try:
        documents = load(text.content, text.file, lines_before=text.first_line)
    except DocumentError as error:
        if text.rendered:
            told = [unreadable(text.file, problem) for problem in error.problems]
            return Parsed(problems=list(map(_without_line, told)))
        if _TEMPLATE.search(text.content):
            first = error.problems[0].removeprefix(f"{text.file}:").partition(":")[0]
            note = (
                f"{text.file}: skipped: a template by its {{{{ }}}}, and no YAML in line {first}; render it"
            )
            return Parsed(notes=[note])
        return Parsed(problems=[unreadable(text.file, problem) for problem in error.problems])
    if text.rendered:
        documents = [document.without_lines() for document in documents]
    found = [entry for document in documents for entry in objects(document) if _is_object(entry)]
    if not found and text.named and not text.first_line:
        return Parsed(notes=[f"{text.file}: holds no Kubernetes object"])
    return Parsed([text.built(entry) for entry in found] if text.built else found)


def pieces(text: Text) -> Iterator[Text]:
    """Yield a text in parts that can be read alone: a long stream of YAML is cut between documents."""
    content = text.content
    if len(content) <= PIECE or b"\0" in content or content.lstrip()[:1] in {b"{", b"["}:
        yield text
        return
    if _DIRECTIVE.search(content):
        yield text
        return
    start, line = 0, text.first_line
    while start < len(content):
        cut = _DOCUMENT_START.search(content, start + PIECE)
        end = cut.start() if cut else len(content)
        part = content[start:end]
        yield replace(text, content=part, first_line=line)
        line += part.count(b"\n")
        start = end


def _may_hold_objects(content: bytes) -> bool:
    """Tell whether a text may have the field that every object has; one in UTF-16 hides it."""
    return b"kind" in content or b"\0" in content


def _without_line(problem: Finding) -> Finding:
    """Return a problem of what a tool made: its line is none of the file that it was made from."""
    where = f"line {problem.location.line} of " if problem.location.line else ""
    message = f"{where}what it renders to: {problem.message}"
    return replace(problem, location=Location(problem.location.file), message=message)


def _is_object(entry: ManifestObject) -> bool:
    value = entry.value
    return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)
