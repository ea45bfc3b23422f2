"""The folder of one server: keys and metrics, for nobody else to read, gone when the server is.

One that is killed (SIGKILL, a lost node, no memory left) cannot clean up, so the next one does: a living
server and its workers hold a lock on their folder, and what nobody holds is left over. In a pod the folder
for temporary files outlives its containers.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

#: How the folders of servers begin; nothing else may.
_PREFIX: Final = "evenkeel-serve-"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a folder that nobody else can read and that ends with this process.

    Raises:
        OSError: It cannot be made.
    """
    _remove_left_over()
    folder, lock = _make()
    owner = os.getpid()
    try:
        yield folder
    finally:
        # A worker is a fork of this process and leaves through here too.
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _make() -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # One that starts at the same moment may take it for left over until it is locked.
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_left_over() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # Another user's, or one that another server removes at the same moment.
        with suppress(OSError):
            _remove_if_left_over(folder)


def _remove_if_left_over(folder: Path) -> None:
    """Remove a folder of ours unless somebody holds it.

    Raises:
        OSError: It is held, cannot be opened, or is gone.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid != os.getuid():
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
