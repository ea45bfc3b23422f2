"""Find what there is to read below folders, in an order that is always the same. Reads no manifest.

What Git tracks is of a repository, whatever its ``.gitignore`` files ignore.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from policies.manifests.file_name import STDIN
from webhook.lint.files import GIT, SUFFIXES, is_below, repository_root, shown_path
from webhook.lint.gitignore import Ignored, Refused, excluded_from, ignored_in
from webhook.lint.tool_limits import ToolError

#: The file of a repository that lists what Git tracks; a new repository has none yet.
_INDEX = "index"
#: The file that makes a folder a Helm chart.
CHART: Final = "Chart.yaml"
#: The files that make a folder a kustomization.
KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
#: How the names of all these end.
_WANTED: Final = tuple(sorted(SUFFIXES | KUSTOMIZATIONS))
#: Folders of a chart that hold no manifests: templates, and further charts that the outer one renders.
_OF_CHART: Final = frozenset({"templates", "charts"})


@dataclass(slots=True)
class TrackedFiles:
    """The files that Git tracks in a repository, of those whose names end in some way; read when needed."""

    root: Path  #: The repository's root, an absolute path; a folder that is no repository tracks nothing.
    endings: tuple[str, ...]  #: How the names end.
    problem: ToolError | None = None  #: Why it is not known what is tracked.
    _paths: frozenset[str] | None = field(default=None, init=False)

    def holds(self, path: Path) -> bool:
        """Return whether a file is tracked, or a folder holds one that is.

        Args:
            path: An absolute path.
        """
        if self._paths is None:
            self._paths = self._read()
        return bool(self._paths) and path.is_relative_to(self.root) and self._name(path) in self._paths

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _read(self) -> frozenset[str]:
        """Return the paths of the files, and of all folders on the way to them."""
        # A worktree has a file there, which leads to its own index.
        if not (self.root / GIT / _INDEX).exists() and not (self.root / GIT).is_file():
            return frozenset()
        from webhook.lint import git_revision

        try:
            listed = git_revision.GitRepository(self.root).tracked(self.endings)
        except ToolError as error:
            self.problem = error
            return frozenset()
        found: set[str] = set()
        for file in listed:
            path = file
            while path and path not in found:
                found.add(path)
                path = os.path.dirname(path)  # noqa: PTH120  # half the time
        return frozenset(found)


@dataclass(slots=True)
class Found:
    """The files to read."""

    files: dict[str, None] = field(default_factory=dict)  #: The files, and ``-``; without repeats.
    named: set[str] = field(default_factory=set)  #: Those of them that were given by name.
    charts: list[str] = field(default_factory=list)  #: The folders of Helm charts.
    kustomizations: list[str] = field(default_factory=list)  #: The kustomization files.
    #: The folders that were given by name, or by the file that makes them what they are.
    given: set[Path] = field(default_factory=set)
    #: Folders without any file to read, and whether they have files that the user excluded.
    empty: dict[str, bool] = field(default_factory=dict)
    outside: list[str] = field(default_factory=list)  #: Links that lead out of the repository.
    #: What has the name of a file to read and is none, such as a named pipe.
    special: list[str] = field(default_factory=list)
    #: Files with patterns of what Git ignores that have no effect, and why.
    ignore_refused: dict[str, str] = field(default_factory=dict)
    #: How many files and folders are left out of each folder for Git's sake.
    ignored: dict[str, int] = field(default_factory=dict)
    #: What may be among them though Git tracks it: repositories whose index cannot be read, and why.
    untold: dict[str, ToolError] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How much was found."""
        every = (self.files, self.charts, self.kustomizations, self.outside, self.special)
        return sum(map(len, every))


def find(paths: Iterable[str], *, exclude: tuple[Path, tuple[str, ...]] | None = None) -> Found:
    """Find the files that paths stand for.

    Hidden files and folders, and what Git ignores and does not track, are left out of folders; a path that is
    given is always meant. A link to a folder is not followed, nor is one that leads out of the repository.

    Args:
        paths: Files, folders or ``-``, in the order in which they are read; ``Chart.yaml`` and
            ``kustomization.yaml`` stand for their folders.
        exclude: Patterns as in ``.gitignore`` for what else is left out, and the folder they count from.
    """
    found, refused = Found(), Refused()
    for path in dict.fromkeys(paths):
        if path == STDIN or not _is_folder(path):
            _take_file(path, found)
            continue
        folder = Path(os.path.normpath(Path(path).absolute()))
        found.given.add(folder)
        below, root = Found(), repository_root(folder)
        excluded = excluded_from(*exclude) if exclude else Ignored()
        walk = _Walk(below, (folder, root), excluded)
        git = _InGit(ignored=ignored_in(folder, refused), tracked=TrackedFiles(root, _WANTED))
        if any(excluded.holds(parent, is_folder=True) for parent in (folder, *folder.parents)):
            walk.is_excluded = True
        else:
            walk.take(path, folder, git)
        if walk.ignored:
            found.ignored[path] = walk.ignored
        if not below.count:
            found.empty[path] = walk.is_excluded
        found.files |= below.files
        found.charts += below.charts
        found.kustomizations += below.kustomizations
        found.outside += below.outside
        found.special += below.special
        found.untold |= below.untold
    found.files = dict.fromkeys(_once(found.files))
    found.charts, found.kustomizations = _once(found.charts), _once(found.kustomizations)
    found.outside, found.special = _once(found.outside), _once(found.special)
    found.ignore_refused = {shown_path(file): why for file, why in refused.files.items()}
    return found


def _take_file(path: str, found: Found) -> None:
    """Take in a file that was given; one that makes a folder a chart or a kustomization stands for it."""
    folder, name = os.path.split(path)
    if name not in {CHART, *KUSTOMIZATIONS} or not Path(path).is_file():
        found.files[path] = None
        found.named.add(path)
        return
    found.given.add(Path(os.path.normpath(Path(folder).absolute())))
    if name == CHART:
        found.charts.append(folder or ".")
    else:
        found.kustomizations.append(path)


def _once(paths: Iterable[str]) -> list[str]:
    """Return each path as it was first reached: what is given may lie in what else is given."""
    first: dict[str, str] = {}
    for path in paths:
        key = path if path == STDIN else os.path.abspath(path)  # noqa: PTH100  # a link has its own place
        first.setdefault(key, path)
    return list(first.values())


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _InGit:
    """The files of a folder that Git leaves out."""

    ignored: Ignored  #: The patterns in force.
    tracked: TrackedFiles  #: What is tracked all the same.
    is_ignored: bool = False  #: Whether the folder itself is ignored, so that only what is tracked counts.

    def leaves_out(self, path: Path, *, is_folder: bool = False) -> bool:
        """Return whether something in the folder is left out."""
        return self._is_ignored(path, is_folder=is_folder) and not self.tracked.holds(path)

    def below(self, folder: Path) -> _InGit:
        """Return the same for a folder in this one."""
        is_ignored = self._is_ignored(folder, is_folder=True)
        return replace(self, ignored=self.ignored.below(folder), is_ignored=is_ignored)

    def _is_ignored(self, path: Path, *, is_folder: bool) -> bool:
        return self.is_ignored or bool(self.ignored.specs and self.ignored.holds(path, is_folder=is_folder))


@dataclass(slots=True)
class _Walk:
    """Goes through a folder."""

    found: Found  #: Takes the files.
    roots: tuple[Path, ...]  #: The folders that links may lead into.
    excluded: Ignored  #: What the user does not want to have read.
    ignored: int = 0  #: How many files and folders were left out because Git ignores them.
    is_excluded: bool = False  #: Whether some were left out because the user excluded them.

    def take(self, shown: str, folder: Path, git: _InGit) -> None:
        """Take in a folder.

        Args:
            shown: The folder as it was given, which is what messages use.
            folder: The same as an absolute path.
            git: What Git leaves out of it.
        """
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            # A folder that may not be read is a file that cannot be read: that is reported when it is tried.
            self.found.files[shown] = None
            return
        names = {entry.name for entry in entries}
        if GIT in names and folder != git.tracked.root:
            git = replace(git, tracked=TrackedFiles(folder, _WANTED))
        is_chart = CHART in names and not (git.is_ignored and git.leaves_out(folder / CHART))
        if is_chart:
            self.found.charts.append(shown)
        for entry in entries:
            if entry.name.startswith(".") or (is_chart and entry.name in _OF_CHART and entry.is_dir()):
                continue
            path = folder / entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (is_folder or _is_wanted(entry)) or self._is_left_out(path, git, is_folder=is_folder):
                continue
            below = _joined(shown, entry.name)
            if is_folder:
                self.take(below, path, git.below(path))
            else:
                self._take_file(entry, below)

    def _is_left_out(self, path: Path, git: _InGit, *, is_folder: bool) -> bool:
        """Return whether the user or Git leaves something out; what Git does is counted."""
        if self.excluded.specs and self.excluded.holds(path, is_folder=is_folder):
            self.is_excluded = True
            return True
        if not git.leaves_out(path, is_folder=is_folder):
            return False
        self.ignored += 1
        if git.tracked.problem is not None:
            self.found.untold[str(git.tracked.root)] = git.tracked.problem
        return True

    def _take_file(self, entry: os.DirEntry[str], shown: str) -> None:
        if entry.is_symlink() and not self._is_inside(entry.path):
            self.found.outside.append(shown)
        elif not entry.is_file():
            self.found.special.append(shown)
        elif entry.name in KUSTOMIZATIONS:
            self.found.kustomizations.append(shown)
        else:
            self.found.files[shown] = None

    def _is_inside(self, link: str) -> bool:
        return any(is_below(Path(link), root) for root in self.roots)


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    """Return whether something may be a file to read; a link that leads nowhere, or to a folder, is none."""
    if entry.name not in KUSTOMIZATIONS and os.path.splitext(entry.name)[1] not in SUFFIXES:  # noqa: PTH122  # half the time
        return False
    try:
        return entry.is_file() or (not entry.is_dir() and bool(entry.stat()))
    except OSError:
        return False


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else os.path.join(folder, name)  # noqa: PTH118  # keeps "./" and "..", as given
