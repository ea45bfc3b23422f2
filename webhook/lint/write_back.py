"""Write a file back at one stroke: whoever reads it finds the old content or the new, never a part."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from policies.manifests.errors import DocumentError
from webhook.lint.texts import shown_file


def write_back(file: str, *, old: bytes, new: bytes) -> None:
    """Put a new content in the place of the one that was read; mode and links are kept.

    Raises:
        DocumentError: The file is no longer what was read.
        OSError: It cannot be written.
    """
    # A link goes on pointing where it points.
    path = Path(file).resolve(strict=True)
    current = path.read_bytes()
    if current == new:
        return  # Two names may lead to one file.
    if current != old:
        raise DocumentError([f"{shown_file(file)}: has changed since it was read, so it is left alone"])
    if not os.access(path, os.W_OK):
        # Its folder would let us put another file in its place.
        raise PermissionError(errno.EACCES, "is read-only", str(path))
    mode = path.stat().st_mode & 0o7777
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(new)
            os.fchmod(stream.fileno(), mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
