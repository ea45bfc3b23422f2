"""Read files that may be anything: pipes that nobody writes to, devices, files without an end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

#: Bytes of a file that are read. Arbitrary; a dump of all that a large cluster holds is a third of it.
MAX_FILE: Final = 2**28
#: Bytes that are read at once. Arbitrary; nearly all files are smaller.
_PART: Final = 2**16


class FileError(OSError):
    """There is something else than a file that can be read."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.strerror = problem


def read_file(path: str | Path, *, regular: bool = True, follow: bool = True) -> bytes:
    """Return what a file holds.

    Args:
        path: The file.
        regular: Whether it must be a regular file; a user may also name a pipe.
        follow: Whether it may be a link.

    Raises:
        OSError: It cannot be opened, or is too large.
        ValueError: No file can have the name.
    """
    # Whoever opens a named pipe waits for a writer, but with O_NONBLOCK.
    flags = os.O_RDONLY | (os.O_NONBLOCK if regular else 0) | (0 if follow else os.O_NOFOLLOW)

    def opener(name: str, _flags: int) -> int:
        return os.open(name, flags)

    with open(path, "rb", buffering=0, opener=opener) as file:  # Path.open takes no opener
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise FileError("Is a directory")
        if regular and not stat.S_ISREG(mode):
            raise FileError("not a regular file")
        return read_limited(file)


def read_limited(file: BinaryIO) -> bytes:
    """Return what is left of an open file.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    parts, length = [], 0
    # The size that a file says is none of a device or of a file of /proc.
    while part := file.read(_PART):
        parts.append(part)
        length += len(part)
        if length > MAX_FILE:
            raise FileError(f"larger than {MAX_FILE // 2**20:,} MiB")
    return b"".join(parts)
