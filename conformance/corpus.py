"""The corpus of conformance cases: of this installation, or in a folder or file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson

from conformance.case import FORMAT_VERSION, ConformanceCase
from policies.manifests.errors import DocumentError
from policies.manifests.fields import ErrorList, FieldPath

#: The package of the corpus.
_PACKAGE: Final = "conformance"
#: The file of a corpus that says what it has.
MANIFEST: Final = "corpus.json"
#: Bytes of one case; the largest has 400 KB.
_MOST_CASE_BYTES: Final = 16 * 2**20
#: Problems of a corpus that are reported.
_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Files of cases."""

    version: str  #: The version of the corpus; empty for cases in a file of their own.
    place: str  #: Where it is.
    files: tuple[Traversable, ...]  #: The files, in order.

    @property
    def title(self) -> str:
        """How reports call it."""
        return f"corpus {self.version}" if self.version else self.place

    def cases(self) -> Iterator[tuple[bytes, ConformanceCase]]:
        """Yield each case with its line.

        Raises:
            DocumentError: A file is not what it should be; every problem is ``file:line: field: problem``.
        """
        problems: list[str] = []
        seen: set[str] = set()
        for file in self.files:
            for number, line in _lines(file):
                found = ErrorList()
                case = ConformanceCase.parse(line, found)
                problems += (f"{file}:{number}: {error}" for error in found.errors)
                if len(problems) >= _MOST_PROBLEMS:
                    raise DocumentError(problems[:_MOST_PROBLEMS])
                if case is None:
                    continue
                if case.id in seen:
                    problems.append(f"{file}:{number}: id: Duplicate value: {orjson.dumps(case.id).decode()}")
                seen.add(case.id)
                if not problems:
                    yield line, case
        if problems:
            raise DocumentError(problems)


def open_corpus(path: str = "") -> Corpus:
    """Return a corpus.

    Args:
        path: A folder with a ``corpus.json``, or a file of cases; empty for the corpus of this installation.

    Raises:
        OSError: It cannot be read.
        DocumentError: It is not what it should be.
    """
    place: Traversable = Path(path) if path else files(_PACKAGE)
    if path and not place.is_dir():
        return Corpus(version="", place=path, files=(place,))
    version, names = _read_manifest(place / MANIFEST)
    return Corpus(version=version, place=str(place), files=tuple(place / name for name in names))


def _read_manifest(manifest: Traversable) -> tuple[str, list[str]]:
    """Return the version of a corpus and the names of its files."""
    try:
        raw = orjson.loads(manifest.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DocumentError([f"{manifest}: is not JSON: {error}"]) from error
    found = ErrorList()
    fields = found.mapping(raw, FieldPath())
    version = found.text(fields.get("version"), FieldPath(("version",)))
    names = found.items(fields.get("files"), FieldPath(("files",)))
    form = found.integer(fields.get("formatVersion"), FieldPath(("formatVersion",)))
    problems = [str(error) for error in found.errors]
    if form != FORMAT_VERSION:
        problems.append(f"formatVersion: Unsupported value: {form}: this program reads {FORMAT_VERSION}")
    problems += (
        f"files[{position}]: must be the name of a file beside {MANIFEST}"
        for position, name in enumerate(names)
        if not isinstance(name, str) or not name or Path(name).name != name
    )
    if problems:
        raise DocumentError(f"{manifest}: {problem}" for problem in problems)
    return version, names


def _lines(file: Traversable) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, gzip or not, with their numbers, but empty ones.

    Raises:
        OSError: It cannot be read.
        DocumentError: It cannot be unpacked, or a line is too long.
    """
    with ExitStack() as stack:
        stream: Any = stack.enter_context(file.open("rb"))
        if file.name.endswith(".gz"):
            stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
        number = 0
        try:
            while line := cast("BinaryIO", stream).readline(_MOST_CASE_BYTES + 1):
                number += 1
                if len(line) > _MOST_CASE_BYTES:
                    text = f"{file}:{number}: is longer than {_MOST_CASE_BYTES >> 20} MiB"
                    raise DocumentError([text])
                if line.strip():
                    yield number, line
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DocumentError([f"{file}: cannot be unpacked: {error}"]) from error
