"""What a chart's own files say and may hold: its dependencies, and nothing that leads elsewhere.

Helm would read other files than those of the repository, or download some.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from policies.manifests.documents import load
from policies.manifests.errors import DocumentError
from policies.manifests.skipped import SkipReason
from webhook.lint.discovery import CHART
from webhook.lint.external_tools import ToolError
from webhook.lint.files import GIT, is_file, is_within, read_file

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
    """What a compressed archive holds, as long as that is not too much.

    ``tarfile`` itself misreads the extra field that helm writes into the head of an archive.
    """

    def __init__(self, content: bytes, budget: _Budget) -> None:
        self._file, self._budget = gzip.GzipFile(fileobj=io.BytesIO(content)), budget

    def read(self, size: int) -> bytes:
        """Return what comes next.

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


#: Where charts of the first version list their dependencies.
_REQUIREMENTS: Final = "requirements.yaml"
#: The folder with the charts that a chart is made of.
_CHARTS: Final = "charts"
#: Charts that are linked into one; charts that share dependencies link them again and again.
MAX_LINKED: Final = 100
#: What the version of an archive of a chart starts with.
_VERSION: Final = re.compile(r"-(?=v?\d)")
#: How a dependency is written that lies in the same repository.
_LOCAL: Final = "file://"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another chart that a chart is made of."""

    name: str
    version: str = ""
    repository: str = ""

    def __str__(self) -> str:
        source = f"from {self.repository}" if self.repository else ""
        return " ".join(filter(None, (self.name, self.version, source)))


@dataclass(frozen=True, slots=True)
class Complete:
    """A chart with all that it is made of.

    Attributes:
        folder: Where it can be rendered.
        linked: Folders in it that stand for others, and those.
    """

    folder: str
    linked: Mapping[str, str] = field(default_factory=dict)


def is_library(folder: str | Path) -> bool:
    """Tell whether a chart only lends templates to others, and cannot be rendered."""
    return _mapping(Path(folder, CHART)).get("type") == "library"


def dependencies(folder: Path) -> list[Dependency]:
    """Return what a chart says that it is made of; none if it cannot be read, which helm reports better."""
    listed = [_mapping(Path(folder, file)).get("dependencies") for file in (CHART, _REQUIREMENTS)]
    entries = [entry for each in listed if isinstance(each, list) for entry in each]
    return [
        Dependency(*(str(entry.get(name) or "") for name in ("name", "version", "repository")))
        for entry in entries
        if isinstance(entry, dict)
    ]


@contextmanager
def complete_chart(folder: str) -> Iterator[Complete]:
    """Give a chart that has its dependencies: those that lie in the same repository are linked into a copy.

    Nothing is downloaded, and nothing is written to the chart's own folder.

    Raises:
        ToolError: A dependency is missing, or a chart holds what leads elsewhere.
    """
    check_chart(Path(folder))
    if not _missing(Path(folder)) and not Path(folder, GIT).exists():
        yield Complete(folder)
        return
    with tempfile.TemporaryDirectory(prefix="evenkeel-chart-") as temporary:
        linked: dict[str, str] = {}
        target = Path(temporary, "chart")
        try:
            _link(Path(folder), target, Path(), (), linked)
        except OSError as error:
            raise ToolError(f"its dependencies cannot be linked: {error.strerror}") from error
        yield Complete(str(target), linked)


def _link(source: Path, target: Path, place: Path, outer: tuple[Path, ...], linked: dict[str, str]) -> None:
    """Make a folder with links to all that a chart holds, and to the dependencies that it does not hold.

    Args:
        source: The chart.
        target: The new folder.
        place: The new folder, as seen from the outermost one.
        outer: The charts that this one is a dependency of.
        linked: Takes the dependencies' places and folders.
    """
    if source.resolve() in outer:
        raise ToolError(f"chart {source.resolve().name} depends on itself")
    if len(linked) > MAX_LINKED:
        raise ToolError(f"it has more than {MAX_LINKED} dependencies in the repository")
    missing = _missing(source)
    target.mkdir()
    (target / _CHARTS).mkdir()
    made = {_CHARTS, *(str(Path(_CHARTS, name)) for name in missing)}
    held = (str(Path(_CHARTS, name)) for name in _names(source / _CHARTS))
    for name in (*_names(source), *held):
        # A chart may be a whole repository; what Git keeps for itself is no file of it.
        if name not in made and name != GIT:
            (target / name).symlink_to((source / name).absolute())
    for dependency in missing.values():
        local = _local(source, dependency)
        check_chart(local)
        below = place / _CHARTS / dependency.name
        linked[below.as_posix()] = os.path.relpath(local)
        _link(local, target / _CHARTS / dependency.name, below, (*outer, source.resolve()), linked)


def _missing(folder: Path) -> dict[str, Dependency]:
    """Return the dependencies that a chart does not hold, by name; all of them lie in the same repository.

    Raises:
        ToolError: Some would have to be downloaded.
    """
    needed = dependencies(folder)
    held = set(_held(folder / _CHARTS)) if needed else set[str]()
    # One chart may be a dependency more than once, by an alias.
    missing = {dependency.name: dependency for dependency in needed if dependency.name not in held}
    remote = tuple(str(entry) for entry in missing.values() if not entry.repository.startswith(_LOCAL))
    if remote:
        text = "dependencies missing (helm dependency build downloads them)"
        raise ToolError(text, SkipReason.DOWNLOAD_NEEDED, remote)
    return missing


def _held(charts: Path) -> Iterator[str]:
    """Yield the names that the charts of a folder may have: an archive's name ends with its version."""
    for entry in _names(charts):
        if entry.endswith(ARCHIVE):
            yield from (entry[: match.start()] for match in _VERSION.finditer(entry))
        elif is_file(charts / entry / CHART):
            yield str(_mapping(charts / entry / CHART).get("name"))


def _local(folder: Path, dependency: Dependency) -> Path:
    """Return the folder of a dependency of the same repository."""
    local = Path(os.path.normpath(folder / dependency.repository.removeprefix(_LOCAL)))
    if not re.fullmatch(r"[\w.-]+", dependency.name) or dependency.name in {".", ".."}:
        raise ToolError(f"dependency {dependency.name!r}: is not the name of a chart")
    if not is_within(local, folder):
        raise ToolError(f"dependency {dependency}: is outside of the repository")
    if not is_file(local / CHART):
        raise ToolError(f"dependency {dependency}: no {CHART}")
    return local


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def _mapping(file: Path) -> dict[str, Any]:
    try:
        documents = load(read_file(file), str(file))
    except (OSError, ValueError, DocumentError):
        return {}
    value = documents[0].value if documents else None
    return value if isinstance(value, dict) else {}
