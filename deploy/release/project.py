"""What pyproject.toml says of the project: the one place of its repository, version and license."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

VERSION: Final[str] = PROJECT["version"]
#: The address of the repository, of which everything that is published is told.
HOMEPAGE: Final[str] = PROJECT["urls"]["Repository"]
#: Its owner and name, as GitHub and its registry of images write them.
SLUG: Final = HOMEPAGE.removeprefix("https://github.com/")


def newest_ref(changelog: str) -> str:
    """Return what people name to get the sources: the newest release's tag, or the branch before the first.

    >>> newest_ref("## Unreleased"), newest_ref("## 0.2.0, of 2027" + chr(10) + "## 0.1.0, of 2026")
    ('main', 'v0.2.0')
    """
    found = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    return f"v{found[1]}" if found else "main"


REF: Final = newest_ref((ROOT / "CHANGELOG.md").read_text("utf-8"))
