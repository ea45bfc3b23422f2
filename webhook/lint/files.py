"""Read and write files of a repository that may be anything: pipes, devices, links out of it."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import FieldPath
from policies.manifests.file_name import STDIN, shown_file
from policies.manifests.findings import Finding, Location, Severity
from webhook.atomic_write import atomic_write

#: What is read of a folder.
SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
#: Bytes of a file that are read; a dump of all that a large cluster holds is a third of it.
MAX_FILE: Final = 2**28
#: Bytes that are read at once; nearly all files are smaller.
_PART: Final = 2**16


class FileError(OSError):
    """There is something else than a file that can be read."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.strerror = problem


class TooLargeError(FileError):
    """A file has more bytes than are read."""


def read_file(
    path: str | Path, *, regular: bool = True, follow: bool = True, most: int | None = None
) -> bytes:
    """Return the content of a file.

    Args:
        path: The file.
        regular: Whether it must be a regular file; a user may also name a pipe.
        follow: Whether it may be a link.
        most: Bytes that it may have; None for ``MAX_FILE``.

    Raises:
        OSError: It cannot be opened, or is too large.
        ValueError: No file can have the name.
    """
    # Opening a named pipe waits for a writer, but with O_NONBLOCK. Windows has neither, but translates text.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) if regular else 0
    flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    if not (follow or hasattr(os, "O_NOFOLLOW")) and Path(path).is_symlink():
        raise FileError("is a link")

    def opener(name: str, _flags: int) -> int:
        return os.open(name, flags)

    with open(path, "rb", buffering=0, opener=opener) as file:  # Path.open takes no opener
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise FileError("Is a directory")
        if regular and not stat.S_ISREG(mode):
            raise FileError("not a regular file")
        return read_limited(file, most)


def read_limited(file: BinaryIO, most: int | None = None) -> bytes:
    """Return the rest of an open file.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    parts, length, most = [], 0, MAX_FILE if most is None else most
    # The size that a file says is none of a device or of a file of /proc.
    while part := file.read(_PART):
        parts.append(part)
        length += len(part)
        if length > most:
            raise TooLargeError(f"larger than {most // 2**20:,} MiB")
    return b"".join(parts)


#: Where Git keeps what is not of the repository.
GIT: Final = ".git"


def repository_root(path: str | Path, *, without: Path | None = None) -> Path:
    """Return the root of the Git repository that a path lies in.

    Args:
        path: The path.
        without: What is returned if there is no repository; None for the working folder.
    """
    start = Path(os.path.normpath(Path(path).absolute()))
    for folder in (start, *start.parents):
        if (folder / GIT).exists():
            return folder
    return without or Path.cwd()


def is_within(path: Path, beside: str | Path) -> bool:
    """Return whether a path leads into the repository that another file lies in, links followed.

    What Git keeps for itself is not of the repository: it may hold passwords.
    """
    return is_below(path, repository_root(beside))


def is_below(path: Path, root: Path) -> bool:
    """Return whether a path leads into a folder, links followed; what Git keeps for itself is left out."""
    try:
        real, root = path.resolve(), root.resolve()
        return real.is_relative_to(root) and GIT not in real.relative_to(root).parts
    except (OSError, RuntimeError, ValueError):
        # Links that lead to each other, and names that no file can have.
        return False


def is_file(path: Path) -> bool:
    """Return whether there is a file of a name, which may be one that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_special(path: Path) -> bool:
    """Return whether there is something of a name, links followed, that is neither a file nor a folder.

    To open a named pipe is to wait until another process writes to it.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def shown_path(path: Path) -> str:
    """Return a path as people would type it here: relative below the working folder, else whole."""
    shown = os.path.relpath(path)
    return os.path.abspath(path) if shown.startswith(f"..{os.sep}..") else shown  # noqa: PTH100  # without ".."


#: Why what looks like an address cannot be read.
NO_ADDRESS: Final = "only files and folders are read, no addresses: download it first"

#: The rule that a file breaks which cannot be read.
UNREADABLE: Final = "unreadable"


@dataclass(frozen=True, slots=True)
class Text:
    """One text with manifests."""

    file: str  #: The name that messages use.
    content: bytes  #: Its bytes.
    named: bool = False  #: Whether it was given by name, so that finding nothing in it is worth a word.
    rendered: bool = False  #: Whether a tool made it: then its lines are those of no file.
    first_line: int = 0  #: How many lines of the file are before it, for a part of a file.
    namespace: str = ""  #: Where objects go that name no namespace; empty if that is not known.
    #: What the file is opened by, which may hold what a message must not; empty for what was made.
    path: str = ""
    #: Returns an object of it with what kustomize built it from; None if kustomize did not.
    built: Callable[[ManifestObject], ManifestObject] | None = None


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
        raise DocumentError([f"{shown_file(name)}: {why_unread(name, error)}"]) from error
    return Text(shown_file(name), content, named=named, path=name)


def why_unread(name: str, error: Exception) -> str:
    """Return why a file, or what is no file's name, cannot be read."""
    if "://" in name:
        return NO_ADDRESS
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def unreadable(file: str, problem: str) -> Finding:
    """Return a problem that starts with its file and perhaps a line as a finding."""
    rest = problem.removeprefix(f"{file}:")
    line, separator, message = rest.partition(": ")
    at_line = bool(separator) and line.isdecimal()
    location = Location(file, int(line) if at_line else 0)
    return Finding(Severity.ERROR, location, FieldPath(), (message if at_line else rest).strip(), UNREADABLE)


def write_back(file: str, *, old: bytes, new: bytes) -> None:
    """Put a new content in the place of the one that was read; mode and links are kept.

    Raises:
        DocumentError: The file is no longer what was read.
        OSError: It cannot be written.
    """
    # A link goes on pointing where it points.
    path = Path(file).resolve(strict=True)
    current = path.read_bytes()
    if current == new:
        return  # Two names may lead to one file.
    if current != old:
        raise DocumentError([f"{shown_file(file)}: has changed since it was read, so it is left alone"])
    if not os.access(path, os.W_OK):
        # Its folder would let us put another file in its place.
        raise PermissionError(errno.EACCES, "is read-only", str(path))
    with atomic_write(str(path)) as stream:
        stream.write(new)


def absolute(path: str | Path) -> Path:
    """Return a path from the root, without ``..`` in it; links are not followed."""
    return Path(os.path.normpath(Path(path).absolute()))
