"""A file that is written as a whole or not at all: a reader meanwhile finds what was there before."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

#: Mode bits of a new file, before the umask.
_MODE: Final = 0o666


@contextmanager
def atomic_write(name: str) -> Iterator[IO[bytes]]:
    """Open a file that takes its name when the block has ended without an error; it keeps that one's mode.

    What is no plain file, as ``/dev/stderr`` or a pipe, is written to as it stands.

    Raises:
        OSError: It cannot be written.
    """
    path = Path(name)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        # It would name a file that was not requested.
        raise OSError(error.errno, error.strerror, name) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_folder(name: str) -> None:
    """Make sure that a file can be in its folder, before work is done for it.

    Raises:
        OSError: There is no such folder.
    """
    folder = Path(name).parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def _mode(path: Path) -> int:
    """Return the mode of a file; of one that is new, the usual."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return _MODE & ~mask
