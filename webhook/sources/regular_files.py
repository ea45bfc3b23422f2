"""Read files of a repository that may hold anything: no pipe that never ends, no device, no endless file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

#: Bytes of a file that are read. Arbitrary; every object of a large cluster is a third of it.
MAX_FILE: Final = 2**28
#: Bytes that are read at once, of files that say that they are empty.
_PART: Final = 2**16


class NotRegularError(OSError):
    """There is something else than a file of a bearable size."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.strerror = problem


def read_regular(path: str | Path, *, limit: int = MAX_FILE, follow: bool = True) -> bytes:
    """Return what a file holds.

    Args:
        path: The file.
        limit: Bytes that it may have.
        follow: Whether it may be a link.

    Raises:
        OSError: It cannot be opened, is no regular file, or is longer.
        ValueError: No file can have the name.
    """
    # A named pipe without a writer would keep whoever opens it.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise NotRegularError("Is a directory" if stat.S_ISDIR(state.st_mode) else "not a regular file")
        parts, length = [], 0
        # Files of /proc say that they are empty, and are not: the size alone proves nothing.
        while length <= limit and (part := os.read(descriptor, min(max(state.st_size, _PART), limit) + 1)):
            parts.append(part)
            length += len(part)
    finally:
        os.close(descriptor)
    if length > limit:
        raise NotRegularError(f"larger than {limit // 2**20:,} MiB")
    return b"".join(parts)
