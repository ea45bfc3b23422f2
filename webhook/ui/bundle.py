"""The built files of the page, as they are in the package."""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Mapping
from importlib import resources
from pathlib import PurePosixPath
from typing import Final, NamedTuple

#: The folder of the built files.
FOLDER: Final = "built"
#: The files that every page has.
INDEX, SCRIPT, STYLE = "index.html", "app.js", "app.css"
#: Media types, whatever the machine's own tables say: nosniff takes them at their word.
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class BuiltFile(NamedTuple):
    """One file.

    Attributes:
        content: Its bytes.
        packed: The same with gzip.
        media_type: Its type.
    """

    content: bytes
    packed: bytes
    media_type: str


def built_files() -> Mapping[str, BuiltFile]:
    """Return the built files by name; there are no folders."""
    folder = resources.files(__package__).joinpath(FOLDER)
    return {
        entry.name: _built(entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()
    }


def _built(name: str, content: bytes) -> BuiltFile:
    media_type = _TYPES.get(PurePosixPath(name).suffix) or mimetypes.guess_type(name)[0]
    return BuiltFile(content, gzip.compress(content, mtime=0), media_type or "application/octet-stream")
