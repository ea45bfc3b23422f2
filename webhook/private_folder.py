"""A folder of one process that no one else can read, gone when the process is.

A server keeps keys and metrics there, a plan the files of a revision, the page the address that its browser
is led to. A process that is killed (SIGKILL, a
lost node, no memory left) cannot clean up, so the next one does: a living process and its workers hold a
lock on their folder, and a folder without a lock is left over. In a pod the folder for temporary files
outlives its containers. Windows can lock no folder: what a killed command leaves stays there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

#: Whether a folder can be locked.
_LOCKS: Final = hasattr(os, "O_DIRECTORY")
if _LOCKS:
    import fcntl

#: How the folders of servers begin, and those of revisions; no other purpose's may.
SERVER: Final = "evenkeel-serve-"
REVISION: Final = "evenkeel-revision-"
#: How the folders begin with the address of the page, and those that Git is given.
PAGE: Final = "evenkeel-ui-"
GIT_FOLDER: Final = "evenkeel-git-"


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Give a folder that no one else can read and that ends with this process.

    Args:
        prefix: How the folders of this purpose begin; those that are left over are removed.

    Raises:
        OSError: It cannot be made.
    """
    if not _LOCKS:
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as only:
            yield Path(only)
        return
    _remove_left_over(prefix)
    folder, lock = _make(prefix)
    owner = os.getpid()
    try:
        yield folder
    finally:
        # A worker is a fork of this process and leaves through here too.
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _make(prefix: str) -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        # One that starts at the same moment may take it for left over until it is locked.
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_left_over(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        # Another user's, or one that another process removes at the same moment.
        with suppress(OSError):
            _remove_if_left_over(folder)


def _remove_if_left_over(folder: Path) -> None:
    """Remove a folder of ours unless a process holds it.

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
