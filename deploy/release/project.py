"""What pyproject.toml says of the project: the one place of its repository, version and license."""

from __future__ import annotations

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
