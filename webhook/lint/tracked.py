"""Which files of a repository Git tracks: what is in its index is of the repository, whatever it ignores."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from webhook.late_imports import late_imports
from webhook.lint.files import GIT
from webhook.lint.tool_error import ToolError

with late_imports():
    from webhook.lint import git_revision

#: The file of a repository that lists what Git tracks; a new repository has none yet.
_INDEX = "index"


@dataclass(slots=True)
class TrackedFiles:
    """The files that Git tracks in a repository, of those whose names end in some way; read when needed.

    Attributes:
        root: The repository's root, an absolute path; a folder that is no repository tracks nothing.
        endings: How the names end.
        problem: Why it is not known what is tracked.
    """

    root: Path
    endings: tuple[str, ...]
    problem: ToolError | None = None
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
