"""The texts that a command reads, with the names that messages use. Opens files; parses nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath, shown
from policies.manifests.findings import Finding, Location, Severity
from webhook.lint.discovery import STDIN
from webhook.lint.files import read_file, read_limited

#: The rule that a file breaks which cannot be read.
UNREADABLE: Final = "unreadable"


@dataclass(frozen=True, slots=True)
class Text:
    """One text with manifests.

    Attributes:
        file: The name that messages use.
        content: Its bytes.
        named: Whether it was given by name, so that finding nothing in it is worth a word.
        rendered: Whether a tool made it: then its lines are nobody's.
        first_line: How many lines of the file stand before it, for a part of a file.
        namespace: Where objects go that name no namespace; empty if that is not known.
        path: What the file is opened by, which may hold what a message must not; empty for what was made.
        built: Returns an object of it with what kustomize built it from; None if kustomize did not.
    """

    file: str
    content: bytes
    named: bool = False
    rendered: bool = False
    first_line: int = 0
    namespace: str = ""
    path: str = ""
    built: Callable[[ManifestObject], ManifestObject] | None = None


def shown_file(name: str) -> str:
    """Return a file's name as messages use it: on one line."""
    if name == STDIN:
        return "<stdin>"
    return name if name.isprintable() else shown(name)


def read_text(name: str, *, named: bool) -> Text:
    """Read a file, or standard input for ``-``.

    Args:
        name: The file.
        named: Whether it was given by name, so that it may also be a pipe.

    Raises:
        DocumentError: It cannot be opened, or is too large.
    """
    try:
        content = read_limited(sys.stdin.buffer) if name == STDIN else read_file(name, regular=not named)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DocumentError([f"{shown_file(name)}: {reason}"]) from error
    return Text(shown_file(name), content, named=named, path=name)


def unreadable(file: str, problem: str) -> Finding:
    """Return a problem that starts with its file and perhaps a line as a finding."""
    rest = problem.removeprefix(f"{file}:")
    line, separator, message = rest.partition(": ")
    at_line = bool(separator) and line.isdecimal()
    location = Location(file, int(line) if at_line else 0)
    return Finding(Severity.ERROR, location, FieldPath(), (message if at_line else rest).strip(), UNREADABLE)
