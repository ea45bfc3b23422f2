"""The contents of a chart's own files, and the limits on them: nothing may lead elsewhere.

Helm would read other files than those of the repository, or download some.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from policies.manifests.documents import load
from policies.manifests.errors import DocumentError
from policies.manifests.skipped import SkipReason
from webhook.lint.discovery import CHART
from webhook.lint.files import GIT, is_within, read_file
from webhook.lint.tool_limits import ToolError

#: The schema of a chart's values, which may refer to others.
_SCHEMA: Final = "values.schema.json"
#: How an archive of a chart ends.
ARCHIVE: Final = ".tgz"
#: Bytes that an archive may hold, with the archives in it. Helm reads no more, either.
MAX_ARCHIVE: Final = 100 * 2**20
#: Fields of a schema that refer to others, and the one that says what a schema is.
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_DIALECT: Final = "$schema"
#: How the dialects start that helm knows without a look at them.
_KNOWN_DIALECTS: Final = ("http://json-schema.org/", "https://json-schema.org/")


def check_chart(folder: Path) -> None:
    """Make sure that helm may render a chart: that all it opens is of the repository.

    Args:
        folder: The chart.

    Raises:
        ToolError: It would open something else.
    """
    real = Path(os.path.realpath(folder))
    # Helm goes through links to folders; each is looked at once.
    seen = {str(real)}
    waiting = [real]
    while waiting:
        for entry in _entries(waiting.pop()):
            path = Path(entry.path)
            if entry.is_symlink():
                path = _target(path, real)
            mode = path.lstat().st_mode if path.exists() else stat.S_IFREG
            if stat.S_ISDIR(mode):
                if str(path) not in seen:
                    seen.add(str(path))
                    waiting.append(path)
            elif not stat.S_ISREG(mode):
                raise ToolError(f"{os.path.relpath(path, real)} is not a regular file", SkipReason.NOT_A_FILE)
            elif entry.name == _SCHEMA or entry.name.endswith(ARCHIVE):
                _check_schemas(path, os.path.relpath(entry.path, real))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            # What Git keeps for itself is not rendered.
            return sorted((entry for entry in scan if entry.name != GIT), key=lambda entry: entry.name)
    except OSError:
        return []


def _target(link: Path, chart: Path) -> Path:
    """Return where a link of a chart leads, links followed."""
    real = Path(os.path.realpath(link))
    if not real.is_relative_to(chart) and not is_within(real, chart):
        text = f"link {os.path.relpath(link, chart)} leads out of the repository"
        raise ToolError(text, SkipReason.OUTSIDE_REPOSITORY)
    return real


def _check_schemas(path: Path, shown: str) -> None:
    try:
        content = read_file(path)
        schemas = list(_in_archive(content, _Budget())) if path.name.endswith(ARCHIVE) else [content]
        references = tuple(dict.fromkeys(text for schema in schemas for text in _references(schema)))
    except (OSError, tarfile.TarError, EOFError, zlib.error, ValueError, RecursionError) as error:
        # What we cannot read, helm might.
        raise ToolError(f"{shown} cannot be read: {error}", SkipReason.UNSUPPORTED) from error
    if references:
        raise ToolError(f"{shown} refers to other schemas", SkipReason.DOWNLOAD_NEEDED, references)


class _Unpacked:
    """The contents of a compressed archive, as long as that is not too much.

    ``tarfile`` itself misreads the extra field that helm writes into the head of an archive.
    """

    def __init__(self, content: bytes, budget: _Budget) -> None:
        self._file, self._budget = gzip.GzipFile(fileobj=io.BytesIO(content)), budget

    def read(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            ValueError: That would be too much.
        """
        part = self._file.read(size)
        self._budget.take(len(part))
        return part


@dataclass(slots=True)
class _Budget:
    """Bytes that an archive may still hold, with the archives in it."""

    left: int = MAX_ARCHIVE

    def take(self, size: int) -> None:
        """Take bytes from what is left.

        Raises:
            ValueError: There are none left.
        """
        self.left -= size
        if self.left < 0:
            raise ValueError(f"holds more than {MAX_ARCHIVE // 2**20} MiB")


def _in_archive(content: bytes, budget: _Budget) -> Iterator[bytes]:
    """Yield the schemas of an archive, and of the archives in it."""
    unpacked = cast(BinaryIO, _Unpacked(content, budget))  # of which a stream needs no more
    with tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for member in archive:
            name = member.name.replace("\\", "/")
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and name.endswith(f"/{_SCHEMA}"):
                yield file.read()
            elif file is not None and name.endswith(ARCHIVE):
                yield from _in_archive(file.read(), budget)


def _references(schema: bytes) -> Iterator[str]:
    """Yield the references of a schema to other files or addresses."""
    waiting: list[Any] = [json.loads(schema)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            for key, value in node.items():
                if isinstance(value, str) and _is_elsewhere(key, value):
                    yield value


def _is_elsewhere(key: str, value: str) -> bool:
    if key == _DIALECT:
        return not value.startswith(_KNOWN_DIALECTS)
    return key in _REFERENCES and not value.startswith("#")


def is_library(folder: str | Path) -> bool:
    """Return whether a chart only lends templates to others, and cannot be rendered."""
    return chart_mapping(Path(folder, CHART)).get("type") == "library"


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if it cannot be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def chart_mapping(file: Path) -> dict[str, Any]:
    """Return the mapping that a file of a chart holds, an empty one if there is none that can be read."""
    try:
        documents = load(read_file(file), str(file))
    except (OSError, ValueError, DocumentError):
        return {}
    value = documents[0].value if documents else None
    return value if isinstance(value, dict) else {}
