"""From texts to Kubernetes objects. What is no manifest is skipped, what is broken is reported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice
from typing import Final

from policies.config.own_kinds import own_kind_errors
from policies.manifests.documents import Document, ManifestObject, list_errors, load, objects
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, member
from policies.manifests.file_name import STDIN
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from webhook.lint.files import UNREADABLE, Text, unreadable

#: How encrypted files start, and what encrypts them.
_STARTS: Final = (
    (b"\0GITCRYPT\0", "git-crypt"),
    (b"$ANSIBLE_VAULT;", "Ansible Vault"),
    (b"age-encryption.org/v1", "age"),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", "age"),
    (b"-----BEGIN PGP MESSAGE-----", "OpenPGP"),
    (b"Salted__", "OpenSSL"),
    (b"U2FsdGVkX1", "OpenSSL"),
)


def encrypted_with(content: bytes) -> str:
    r"""Return the tool that a whole text is encrypted with, empty if it is not.

    >>> encrypted_with(b"$ANSIBLE_VAULT;1.1;AES256\n6130"), encrypted_with(b"kind: Pod")
    ('Ansible Vault', '')
    """
    start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    for mark, tool in _STARTS:
        if start.startswith(mark):
            return tool
    return ""


def is_sops(value: object) -> bool:
    """Return whether SOPS has encrypted a document: names stay readable, and a field of its own says how.

    >>> is_sops({"kind": "Secret", "sops": {"mac": "ENC[AES256_GCM,data:x]", "version": "3.9"}})
    True
    """
    sops = value.get("sops") if isinstance(value, dict) else None
    return isinstance(sops, dict) and "mac" in sops


#: Bytes of a stream of documents that are read at once; a progress bar moves at each.
PIECE: Final = 2**19
#: Where a document of a stream starts; nothing else may start a line so.
_DOCUMENT_START: Final = re.compile(rb"^---(?=[\s])", re.MULTILINE)
#: What templates have in brackets.
_BRACKETS: Final = ((b"{{", b"}}"), (b"{%", b"%}"))
#: What ``sed``, ``printf`` and ``str.format`` fill in; no two of these repetitions meet the same character.
_PLACEHOLDER: Final = re.compile(
    rb"@[A-Za-z][\w.-]*@|%[A-Z][A-Z_]+%|%\([A-Za-z_]+\)s|%[sdvq]\b|\{[A-Za-z_][\w.-]*(?:\[[\w.-]+\])?\}"
)
#: Digits of the number of a line, and one more: far beyond any file.
_LINE_DIGITS: Final = 10


@dataclass(slots=True)
class Parsed:
    """The objects of one text."""

    objects: list[ManifestObject] = field(default_factory=list)  #: Its Kubernetes objects.
    skipped: list[Skipped] = field(default_factory=list)  #: What was passed over and why.
    problems: list[Finding] = field(default_factory=list)  #: Why it cannot be read.


def parse(text: Text) -> Parsed:
    """Read the objects of a text; one of a folder may hold none without a word."""
    if tool := encrypted_with(text.content):
        return Parsed(skipped=[_skipped(text, SkipReason.ENCRYPTED, f"encrypted with {tool}")])
    if not text.named and not text.first_line and not _may_hold_objects(text.content):
        return Parsed()
    try:
        documents = load(text.content, text.file, lines_before=text.first_line)
    except DocumentError as error:
        return _without_yaml(text, error)
    if text.rendered:
        documents = [document.at_line(0) for document in documents]
    readable = [document for document in documents if not is_sops(document.value)]
    skipped = [_encrypted(text, document) for document in documents if is_sops(document.value)]
    entries = [entry for document in readable for entry in objects(document)]
    found = list(filter(_is_object, entries))
    problems = [*_without_items(readable), *_untyped(entries), *_of_no_own_kind(entries)]
    if not found and not problems and not skipped and text.named and not text.first_line:
        if text.path == STDIN and not text.content.strip():
            # Most likely what should have written to the pipe has failed.
            return Parsed(skipped=[_skipped(text, SkipReason.EMPTY, "empty")])
        return Parsed(skipped=[_skipped(text, SkipReason.NO_OBJECTS, "no Kubernetes object in it")])
    if text.built:
        found = [text.built(entry) for entry in found]
    placed = [_placed(entry, text.namespace) for entry in found] if text.namespace else found
    return Parsed(placed, skipped, problems)


def _without_yaml(text: Text, error: DocumentError) -> Parsed:
    """Return a text that is no YAML: a template is skipped, anything else is a problem."""
    if text.rendered:
        problems = [unreadable(text.file, problem) for problem in error.problems]
        return Parsed(problems=list(map(_without_line, problems)))
    if is_template(text.content):
        # In the same words for all: a repository may have hundreds, which are reported in one line.
        why = "a template by its {{ }}, and no YAML"
        return Parsed(skipped=[_skipped(text, SkipReason.TEMPLATE, why)])
    first = error.problems[0].removeprefix(f"{text.file}:").partition(":")[0]
    if mark := _placeholder(text, first):
        why = f"a template by its {mark}, and no YAML in line {first}"
        return Parsed(skipped=[_skipped(text, SkipReason.TEMPLATE, why)])
    return Parsed(problems=[unreadable(text.file, problem) for problem in error.problems])


def _skipped(text: Text, reason: SkipReason, why: str) -> Skipped:
    kind = SourceKind.STDIN if text.path == STDIN else SourceKind.FILE
    return Skipped(location=Location(text.file), kind=kind, reason=reason, message=why, named=text.named)


def _encrypted(text: Text, document: Document) -> Skipped:
    """Return a document that is encrypted: who it is can be read, what it says cannot."""
    kind, metadata = document.value.get("kind"), document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return replace(
        _skipped(text, SkipReason.ENCRYPTED, "encrypted with SOPS"),
        location=document.location(FieldPath()),
        title=f"{kind} {name}" if isinstance(kind, str) and isinstance(name, str) else "",
    )


def _placed(entry: ManifestObject, namespace: str) -> ManifestObject:
    """Return an object in the namespace that it is applied to, if it names none itself."""
    metadata = entry.value.get("metadata")
    if not isinstance(metadata, dict) or "namespace" in metadata:
        return entry
    return replace(entry, value={**entry.value, "metadata": {**metadata, "namespace": namespace}})


def is_template(content: bytes) -> bool:
    """Return whether a text has something in a template's brackets."""
    for opening, closing in _BRACKETS:
        start = content.find(opening)
        if start >= 0 and content.find(closing, start + len(opening)) >= 0:
            return True
    return False


def _placeholder(text: Text, line: str) -> str:
    """Return the placeholder that a program fills in, where a text is no YAML for it; empty for none.

    Args:
        text: The text.
        line: The number of the line of the error, if it has one.
    """
    number = int(line) - text.first_line if line.isdecimal() and len(line) < _LINE_DIGITS else 0
    before, written = [b"", b"", *islice(BytesIO(text.content), max(number - 2, 0), max(number, 0))][-2:]
    # A placeholder alone in its line is a value that ends there: the error is in the next.
    found = _PLACEHOLDER.search(written.partition(b" #")[0]) or _PLACEHOLDER.fullmatch(before.strip())
    return found[0].decode() if found else ""


def pieces(text: Text, *, size: int | None = None) -> Iterator[Text]:
    """Yield a text in parts that can be read alone: a long stream of YAML is cut between documents.

    Args:
        text: The text.
        size: Bytes that a part should have; 1 for a part a document, None for long ones.
    """
    content, size = text.content, PIECE if size is None else size
    if len(content) <= size or b"\0" in content or content.lstrip()[:1] in {b"{", b"["}:
        yield text
        return
    # A directive comes before the first document of a stream and holds for what is after it.
    if content.startswith(b"%") or b"\n%" in content:
        yield text
        return
    start, line = 0, text.first_line
    while start < len(content):
        cut = _DOCUMENT_START.search(content, start + size)
        end = cut.start() if cut else len(content)
        part = content[start:end]
        yield replace(text, content=part, first_line=line)
        line += part.count(b"\n")
        start = end


def _may_hold_objects(content: bytes) -> bool:
    """Return whether a text may have a field that every object has; one in UTF-16 hides it."""
    return b"kind" in content or b"apiVersion" in content or b"\0" in content


def _without_line(problem: Finding) -> Finding:
    """Return a problem of what a tool made: its line is none of the file that it was made from."""
    where = f"line {problem.location.line} of " if problem.location.line else ""
    message = f"{where}what it renders to: {problem.message}"
    return replace(problem, location=Location(problem.location.file), message=message)


def _is_object(entry: ManifestObject) -> bool:
    value = entry.value
    return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)


def _untyped(entries: list[ManifestObject]) -> Iterator[Finding]:
    """Yield the errors of workloads that lack either apiVersion or kind: kubectl refuses them.

    Only a template with a spec is taken for one of pods.
    """
    for entry in entries:
        value = entry.value
        missing = [name for name in ("apiVersion", "kind") if not isinstance(value.get(name), str)]
        if len(missing) != 1:
            continue
        template = member(member(value, "spec"), "template")
        if isinstance(template.get("spec"), dict):
            path = FieldPath((missing[0],))
            at = entry.location(path)
            yield Finding(
                Severity.ERROR, at, path, "Required value: nothing of this object is checked", UNREADABLE
            )


def _without_items(documents: list[Document]) -> Iterator[Finding]:
    """Yield the errors of Lists whose objects cannot be read."""
    for document in documents:
        for error in list_errors(document, UNREADABLE):
            at = document.location(error.path)
            yield Finding(Severity.ERROR, at, error.path, error.problem, UNREADABLE)


def _of_no_own_kind(entries: list[ManifestObject]) -> Iterator[Finding]:
    """Yield the errors of documents of Evenkeel's own that are of no kind which it knows."""
    for entry in entries:
        for error in own_kind_errors(entry.value, UNREADABLE):
            yield Finding(Severity.ERROR, entry.location(error.path), error.path, error.problem, UNREADABLE)
