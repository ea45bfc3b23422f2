"""The repository that a file lies in: paths of GitOps tools count from its root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

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
    """Tell whether a path leads into the repository that another file lies in, links followed.

    What Git keeps for itself is not of the repository: it may hold passwords.
    """
    return is_below(path, repository_root(beside))


def is_below(path: Path, root: Path) -> bool:
    """Tell whether a path leads into a folder, links followed; what Git keeps for itself is left out."""
    try:
        real, root = path.resolve(), root.resolve()
        return real.is_relative_to(root) and GIT not in real.relative_to(root).parts
    except (OSError, RuntimeError, ValueError):
        # Links that lead to each other, and names that no file can have.
        return False


def is_file(path: Path) -> bool:
    """Tell whether there is a file of a name, which may be one that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def shown_path(path: Path) -> str:
    """Return a path as people would type it here: relative below the working folder, else whole."""
    shown = os.path.relpath(path)
    return os.path.abspath(path) if shown.startswith(f"..{os.sep}..") else shown  # noqa: PTH100  # without ".."
