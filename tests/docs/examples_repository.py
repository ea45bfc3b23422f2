"""The examples of the guide as the Git repository of somebody who tries them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from docs.generator.terminal import EXAMPLES


def examples_repository(folder: Path) -> Path:
    """Copy the examples into a new Git repository that has a branch ``main`` here and at its origin."""
    shutil.copytree(EXAMPLES, folder)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        [*who, "commit", "-qm", "x"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder
