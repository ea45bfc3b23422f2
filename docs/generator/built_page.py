"""Check that the built files of the page are those of its sources.

``python -m docs.generator.built_page``

Without Node the digest of the sources is compared, which each build writes down. With Node and the packages
that ``make ui`` installs the page is built anew, too, and compared byte for byte.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

UI: Final = Path(__file__).parents[2] / "webhook" / "ui"
#: What decides what is built, besides ``src``; ``build.mjs`` has the same list.
FILES: Final = ("build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json")
#: The built file that holds the digest.
DIGEST: Final = "sources.sha256"
#: Seconds that a build may take; it takes one.
_TIMEOUT_S: Final = 120


def main() -> int:
    """Check the built files; returns the exit code."""
    if not is_current(UI):
        sys.stderr.write(f"{UI / 'built'}: stale; run `make ui` and commit the result\n")
        return 1
    return _build_anew(UI / "page")


def is_current(folder: Path) -> bool:
    """Return whether the digest that was built is that of the sources of a folder."""
    built = folder / "built" / DIGEST
    return built.is_file() and built.read_text("ascii") == digest(folder / "page")


def digest(page: Path) -> str:
    """Return the digest of the sources of a page, with its line end."""
    whole = hashlib.sha256()
    for name in sorted(_sources(page)):
        content = hashlib.sha256((page / name).read_bytes()).hexdigest()
        whole.update(f"{content}  {name}\n".encode())
    return f"{whole.hexdigest()}\n"


def _sources(page: Path) -> Iterator[str]:
    yield from FILES
    for path in (page / "src").rglob("*"):
        if path.is_file():
            yield path.relative_to(page).as_posix()


def _build_anew(page: Path) -> int:
    node = shutil.which("node")
    if node is None or not (page / "node_modules" / "esbuild").is_dir():
        sys.stdout.write(
            "The page is not built anew, only its digest is compared: `make ui` installs what it needs\n"
        )
        return 0
    command = [node, "build.mjs", "--check"]
    return subprocess.run(command, cwd=page, check=False, timeout=_TIMEOUT_S).returncode


if __name__ == "__main__":
    sys.exit(main())
