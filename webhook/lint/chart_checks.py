"""What a chart must not hold, or helm would read other files than those of its repository, or download."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from policies.manifests.skipped import SkipReason
from webhook.lint.external_tools import ToolError
from webhook.lint.files import read_file
from webhook.lint.repository import GIT, is_within

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
                raise ToolError(f"{_told(path, real)} is not a regular file", SkipReason.NOT_A_FILE)
            elif entry.name == _SCHEMA or entry.name.endswith(ARCHIVE):
                _check_schemas(path, _told(Path(entry.path), real))


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
        text = f"link {_told(link, chart)} leads out of the repository"
        raise ToolError(text, SkipReason.OUTSIDE_REPOSITORY)
    return real


def _told(path: Path, chart: Path) -> str:
    return os.path.relpath(path, chart)


def _check_schemas(path: Path, told: str) -> None:
    try:
        content = read_file(path)
        schemas = list(_in_archive(content, MAX_ARCHIVE)) if path.name.endswith(ARCHIVE) else [content]
        references = tuple(dict.fromkeys(text for schema in schemas for text in _references(schema)))
    except (OSError, tarfile.TarError, EOFError, zlib.error, ValueError, RecursionError) as error:
        # What we cannot read, helm might.
        raise ToolError(f"{told} cannot be read: {error}", SkipReason.UNSUPPORTED) from error
    if references:
        raise ToolError(f"{told} refers to other schemas", SkipReason.DOWNLOAD_NEEDED, references)


def _in_archive(content: bytes, left: int) -> Iterator[bytes]:
    """Yield the schemas of an archive, and of the archives in it.

    Args:
        content: The archive.
        left: Bytes that it may hold.
    """
    with tarfile.open(fileobj=io.BytesIO(content), mode="r|gz") as archive:
        for member in archive:
            left -= member.size
            if left < 0:
                raise ValueError(f"holds more than {MAX_ARCHIVE // 2**20} MiB")
            name = member.name.replace("\\", "/")
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and name.endswith(f"/{_SCHEMA}"):
                yield file.read()
            elif file is not None and name.endswith(ARCHIVE):
                yield from _in_archive(file.read(), left)


def _references(schema: bytes) -> Iterator[str]:
    """Yield what a schema refers to besides itself."""
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
