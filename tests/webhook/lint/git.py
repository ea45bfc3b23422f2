"""Git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

#: Git as no configuration of this machine or of the user changes it.
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": f"{what}@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(root: Path, *arguments: str, stdin: str = "") -> str:
    """Run git in a repository; return what it prints."""
    done = subprocess.run(
        ["git", "-C", root, *arguments],
        env={**os.environ, **_ENVIRONMENT},
        check=True,
        capture_output=True,
        text=True,
        input=stdin,
    )
    return done.stdout


def make_repository(root: Path, files: Mapping[str, str]) -> Path:
    """Make a repository with one commit of some files."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    commit_all(root)
    return root


def commit_all(root: Path) -> None:
    """Commit everything as it is."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", "change")
