"""The repository, the version and the newest release in whatever people copy, from the one place of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.release.project import REF, ROOT, SLUG, VERSION

#: Owner and name, wherever they stand: in addresses, images, options of gh, and the action.
_SLUG: Final = re.compile(
    r"(github\.com/|ghcr\.io/|--repo )[\w.-]+/evenkeel(?![\w-])|[\w.-]+/evenkeel(?=/deploy/github-action)"
)
#: A revision of the action, of the hooks or of the sources.
_REF: Final = re.compile(r"(/deploy/github-action@|/evenkeel/archive/|\brev: )(?:main|v\d+\.\d+\.\d+)\b")
#: The version of an archive or of an image.
_VERSION: Final = re.compile(r"(/releases/download/v|\bevenkeel_|/evenkeel:)\d+\.\d+\.\d+\b")
#: Files besides the pages of the documentation.
_COPIED: Final = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    "conformance/README.md",
    ".github/workflows/*.yaml",
    "deploy/Dockerfile",
    "deploy/**/*.y*ml",
)


def current(text: str) -> str:
    """Return a text with the repository, the version and the newest release of this project.

    >>> current("https://github.com/a/evenkeel, rev: v9.9.9") == f"https://github.com/{SLUG}, rev: {REF}"
    True
    """
    text = _SLUG.sub(lambda found: f"{found[1] or ''}{SLUG}", text)
    text = _REF.sub(rf"\g<1>{REF}", text)
    return _VERSION.sub(rf"\g<1>{VERSION}", text)


def files() -> Mapping[Path, str]:
    """Return the content that each file of ``_COPIED`` should have, if it names the repository."""
    texts = {path: path.read_text("utf-8") for name in _COPIED for path in ROOT.glob(name)}
    return {path: current(text) for path, text in texts.items() if _SLUG.search(text)}
