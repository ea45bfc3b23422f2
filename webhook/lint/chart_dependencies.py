"""The dependencies of a chart, as far as they are in its repository.

A dependency is taken from the repository if a chart there has its name and a version that fits, whatever
address it has. Of one that is not there, helm decides by the chart's values whether it is needed at all.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from policies.manifests.skipped import SkipReason
from webhook.lint.chart_files import ARCHIVE, chart_mapping, check_chart, names_in
from webhook.lint.discovery import CHART, find
from webhook.lint.external_tools import run_tool
from webhook.lint.files import GIT, is_file, is_within, repository_root
from webhook.lint.tool_limits import ToolError

#: Where charts of the first version list their dependencies.
_REQUIREMENTS: Final = "requirements.yaml"
#: The folder with the charts that a chart is made of, and the one with its templates.
_CHARTS: Final = "charts"
_TEMPLATES: Final = "templates"
#: Charts that are linked into one; charts that share dependencies link them again and again.
MAX_LINKED: Final = 100
#: What the version of an archive of a chart starts with.
_VERSION: Final = re.compile(r"-(?=v?\d)")
#: How a dependency is written that lies in the same repository.
_LOCAL: Final = "file://"
#: The template of a chart that stands for one which is not there, and the only version of such charts.
_STAND_IN: Final = "evenkeel-not-here.yaml"
_ANY_VERSION: Final = "0.0.0"
_NUMBER: Final = re.compile(rb"^number: (\d+)", re.MULTILINE)
#: What helm says where a chart itself rejects its values.
_REJECTED: Final = "execution error at "
#: A chart that shows whether a version fits: helm's own reading of ranges is the one that counts.
_FITS: Final = "fits: {{ semverCompare .Values.range .Values.version }}"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another chart that a chart is made of."""

    name: str  #: Its name.
    version: str = ""  #: The versions that fit.
    repository: str = ""  #: Where it comes from.
    #: Whether the chart's values may switch it off.
    may_be_off: bool = field(default=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        source = f"from {self.repository}" if self.repository else ""
        return " ".join(filter(None, (self.name, self.version, source)))


@dataclass(frozen=True, slots=True)
class Complete:
    """A chart with all that it is made of."""

    folder: str  #: Where it can be rendered.
    #: Folders in it that stand for others, and those.
    linked: Mapping[str, str] = field(default_factory=dict)
    #: Dependencies that are not there, each with a chart in its place that shows that it is needed.
    absent: tuple[Dependency, ...] = ()

    def check(self, rendered: Iterable[tuple[bytes, bytes]]) -> None:
        """Make sure that nothing is needed which is not there.

        Args:
            rendered: The sources and contents that helm has printed.

        Raises:
            ToolError: It is.
        """
        numbers = {
            int(found[1])
            for source, content in rendered
            if source.endswith(_STAND_IN.encode()) and (found := _NUMBER.search(content))
        }
        if needed := [str(self.absent[number]) for number in sorted(numbers)]:
            raise _not_here(needed)

    def explained(self, error: ToolError) -> ToolError:
        """Return helm's error, or that a dependency is not there if this may be why.

        A chart may use the templates and the default values of a dependency that is off.
        """
        may_be_why = error.reason is SkipReason.TOOL_FAILED and _REJECTED not in str(error)
        return _not_here(map(str, self.absent)) if self.absent and may_be_why else error


def _not_here(needed: Iterable[str]) -> ToolError:
    text = "dependencies missing"
    return ToolError(text, SkipReason.DOWNLOAD_NEEDED, tuple(dict.fromkeys(needed)))


def dependencies(folder: Path) -> list[Dependency]:
    """Return the dependencies that a chart declares; none if it cannot be read, which helm reports better."""
    listed = [chart_mapping(folder / file).get("dependencies") for file in (CHART, _REQUIREMENTS)]
    entries = [entry for each in listed if isinstance(each, list) for entry in each]
    return [
        Dependency(
            *(str(entry.get(name) or "") for name in ("name", "version", "repository")),
            may_be_off=bool(entry.get("condition") or entry.get("tags")),
        )
        for entry in entries
        if isinstance(entry, dict)
    ]


@dataclass(slots=True)
class ChartLibrary:
    """The charts of repositories, by their names; they are looked for when the first is needed."""

    program: str  #: The path of helm.
    _charts: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)
    _fitting: dict[tuple[str, str], bool] = field(default_factory=dict)

    def find(self, dependency: Dependency, user: Path) -> Path | None:
        """Return the folder of the chart that is meant; of several the one that is nearest.

        Args:
            dependency: What is needed.
            user: The chart that needs it.
        """
        root = repository_root(user)
        if not (root / GIT).exists():
            return None
        if root not in self._charts:
            self._charts[root] = {}
            for folder in find([str(root)]).charts:
                name = str(chart_mapping(Path(folder, CHART)).get("name"))
                self._charts[root].setdefault(name, []).append(Path(folder))
        here = Path(os.path.normpath(user.absolute()))
        known = (folder for folder in self._charts[root].get(dependency.name, []) if folder != here)
        nearest = sorted(known, key=lambda folder: (-len(os.path.commonpath((folder, here))), str(folder)))
        return next((folder for folder in nearest if self._fits(dependency, folder)), None)

    def _fits(self, dependency: Dependency, folder: Path) -> bool:
        key = dependency.version, str(chart_mapping(folder / CHART).get("version"))
        if key not in self._fitting:
            self._fitting[key] = not dependency.version or self._compare(*key)
        return self._fitting[key]

    def _compare(self, versions: str, version: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="evenkeel-chart-") as temporary:
            _write_chart(Path(temporary, "fits"), "fits", _FITS)
            command = [self.program, "template", "--values=-", "--", "release", str(Path(temporary, "fits"))]
            try:
                values = json.dumps({"range": versions, "version": version})
                return b"fits: true" in run_tool(command, stdin=values.encode())
            except ToolError:
                # One of the two is none.
                return False


def _write_chart(folder: Path, name: str, template: str, file: str = "a.yaml") -> None:
    (folder / _TEMPLATES).mkdir(parents=True)
    about = {"apiVersion": "v2", "name": name, "version": _ANY_VERSION}
    (folder / CHART).write_text(json.dumps(about))
    (folder / _TEMPLATES / file).write_text(template)


@contextmanager
def complete_chart(folder: str, library: ChartLibrary) -> Iterator[Complete]:
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
        target = Path(temporary, "chart")
        linker = _Linker(library)
        try:
            linker.link(Path(folder), target, Path(), ())
        except OSError as error:
            raise ToolError(f"its dependencies cannot be linked: {error.strerror}") from error
        yield Complete(str(target), linker.linked, tuple(linker.absent))


@dataclass(slots=True)
class _Linker:
    """Makes a copy of a chart with all that it is made of."""

    library: ChartLibrary  #: Where dependencies are looked for.
    #: The dependencies' places in the copy, and their folders.
    linked: dict[str, str] = field(default_factory=dict)
    absent: list[Dependency] = field(default_factory=list)  #: Those that are nowhere.

    def link(self, source: Path, target: Path, place: Path, outer: tuple[Path, ...]) -> None:
        """Make a folder with links to all that a chart holds, and to the dependencies that it does not hold.

        Args:
            source: The chart.
            target: The new folder.
            place: The new folder, as seen from the outermost one.
            outer: The charts that this one is a dependency of.
        """
        if source.resolve() in outer:
            raise ToolError(f"chart {source.resolve().name} depends on itself")
        if len(self.linked) > MAX_LINKED:
            raise ToolError(f"it has more than {MAX_LINKED} dependencies in the repository")
        found = {each: self._found(source, each) for each in _missing(source)}
        absent = [each for each, folder in found.items() if folder is None]
        if not all(each.may_be_off for each in absent):
            raise _not_here(map(str, absent))
        target.mkdir()
        (target / _CHARTS).mkdir()
        made = {_CHARTS, *(str(Path(_CHARTS, each.name)) for each in found)}
        held = (str(Path(_CHARTS, name)) for name in names_in(source / _CHARTS))
        for name in (*names_in(source), *held):
            # A chart may be a whole repository; what Git keeps for itself is no file of it.
            if name not in made and name != GIT:
                (target / name).symlink_to((source / name).absolute())
        for dependency, local in found.items():
            inner = target / _CHARTS / dependency.name
            if local is None:
                _write_chart(inner, dependency.name, f"number: {len(self.absent)}\n", _STAND_IN)
                self.absent.append(dependency)
                continue
            check_chart(local)
            below = place / _CHARTS / dependency.name
            self.linked[below.as_posix()] = os.path.relpath(local)
            self.link(local, inner, below, (*outer, source.resolve()))
        if absent:
            _take_any_version(target, {each.name for each in absent})

    def _found(self, source: Path, dependency: Dependency) -> Path | None:
        if not re.fullmatch(r"[\w.-]+", dependency.name) or dependency.name in {".", ".."}:
            raise ToolError(f"dependency {dependency.name!r}: is not the name of a chart")
        if dependency.repository.startswith(_LOCAL):
            return _local(source, dependency)
        return self.library.find(dependency, source)


def _take_any_version(chart: Path, names: set[str]) -> None:
    """Have a chart require some dependencies in the version that a chart in their place has."""
    for file in (chart / CHART, chart / _REQUIREMENTS):
        about = chart_mapping(file)
        listed = about.get("dependencies")
        if isinstance(listed, list):
            entries = [_any_version(entry, names) for entry in listed]
            file.unlink()
            file.write_text(json.dumps({**about, "dependencies": entries}, default=str))


def _any_version(entry: Any, names: set[str]) -> Any:
    is_meant = isinstance(entry, dict) and entry.get("name") in names
    return {**entry, "version": _ANY_VERSION} if is_meant else entry


def _missing(folder: Path) -> list[Dependency]:
    """Return the dependencies that a chart does not hold; one may be used more than once, by an alias."""
    needed = dependencies(folder)
    held = set(_held(folder / _CHARTS)) if needed else set[str]()
    by_name: dict[str, Dependency] = {}
    for each in needed:
        if each.name not in held and (each.name not in by_name or not each.may_be_off):
            by_name[each.name] = each
    return list(by_name.values())


def _held(charts: Path) -> Iterator[str]:
    """Yield the names that the charts of a folder may have: an archive's name ends with its version."""
    for entry in names_in(charts):
        if entry.endswith(ARCHIVE):
            yield from (entry[: match.start()] for match in _VERSION.finditer(entry))
        elif is_file(charts / entry / CHART):
            yield str(chart_mapping(charts / entry / CHART).get("name"))


def _local(folder: Path, dependency: Dependency) -> Path:
    """Return the folder of a dependency of the same repository."""
    local = Path(os.path.normpath(folder / dependency.repository.removeprefix(_LOCAL)))
    if not is_within(local, folder):
        raise ToolError(f"dependency {dependency}: is outside of the repository")
    if not is_file(local / CHART):
        raise ToolError(f"dependency {dependency}: no {CHART}")
    return local
