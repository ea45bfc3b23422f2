"""Files of one process with its metrics: those of prometheus-client, and series that come and go beside them.

prometheus-client maps sparse files into memory. A write to such a page of a full file system ends the process
(SIGBUS), in the middle of a review. So the blocks are allocated first; where there is no room, memory takes
the file's place. Its values are seen by no other process: metrics may be lost, reviews may not.

prometheus-client cannot remove a series from the files that workers share. So the process that exports such
series writes them as text into a file of its own, and any worker appends it to a scrape.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.registry import Collector

from webhook.atomic_write import atomic_write
from webhook.telemetry.logs import LOGGER

#: Bytes of a new file. prometheus-client's own; a worker of ours needs some 20 kB in one of them.
_FIRST_BYTES: Final = 1 << 16
#: Bytes of an entry besides its key, at most: the key's length and padding, a value and its time.
_ENTRY_BYTES: Final = 4 + 8 + 16
#: The file of a process, in the folder that all workers share.
_FILE: Final = "skew-{}.prom"


class MetricFile(MmapedDict):
    """Values by key, in a file that other processes read."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:  # noqa: FBT001, FBT002  # as its base
        try:
            _take_room(filename)
        except OSError as error:
            _report(filename, error)
            # An empty file, or one that is not allocated, would be read as a broken one.
            with suppress(OSError):
                Path(filename).unlink(missing_ok=True)
            memory = os.memfd_create("metrics")
            super().__init__(f"/proc/self/fd/{memory}", read_mode)  # type: ignore[no-untyped-call]
            os.close(memory)
        else:
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        """Add a key, after making room for it."""
        needed = self._used + len(key.encode()) + _ENTRY_BYTES
        if needed > self._capacity:
            self._grow(needed)
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _grow(self, needed: int) -> None:
        while self._capacity < needed:
            self._capacity *= 2
        try:
            os.posix_fallocate(self._f.fileno(), 0, self._capacity)
        except OSError as error:
            _report(self._fname, error)
            self._move_to_memory()
        self._m = mmap.mmap(self._f.fileno(), self._capacity)

    def _move_to_memory(self) -> None:
        """Go on in memory; the file keeps what it has."""
        memory = os.fdopen(os.memfd_create("metrics"), "r+b")
        memory.write(self._m[: self._used])
        memory.truncate(self._capacity)
        self._f.close()
        self._f = memory


def _take_room(filename: str) -> None:
    """Allocate a file's blocks; a new one gets its name after that, since readers take it for broken before.

    Raises:
        OSError: There is no room for them.
    """
    # The collector reads files that end in .db.
    made = filename if Path(filename).exists() else f"{filename}.new"
    descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, max(_FIRST_BYTES, os.fstat(descriptor).st_size))
        Path(made).rename(filename)
    except OSError:
        if made != filename:
            Path(made).unlink()
        raise
    finally:
        os.close(descriptor)


def _report(filename: str, error: OSError) -> None:
    LOGGER.warning(
        "metrics_kept_in_memory", extra={"fields": {"file": filename, "error": str(error.strerror)}}
    )


class _Families(Collector):
    """Hands out metrics that exist already."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        return self._families


@dataclass(slots=True)
class SkewSeries:
    """The text of the series, where every worker of this replica finds it."""

    folder: Path | None  #: The folder that workers share; None for a process by itself.
    _text: bytes = field(default=b"", init=False)

    def publish(self, families: list[Metric]) -> None:
        """Replace what this process exports.

        Raises:
            OSError: There is no space for it; what was exported before stays.
        """
        registry = CollectorRegistry()
        registry.register(_Families(families))
        text = generate_latest(registry)
        if self.folder is None:
            self._text = text
            return
        with atomic_write(str(self._file(self.folder, os.getpid()))) as file:
            file.write(text)

    def withdraw(self, process: int | None = None) -> None:
        """Export nothing more of a process, this one by default; one that exported nothing is no error."""
        self._text = b""
        if self.folder is not None:
            with suppress(OSError):
                self._file(self.folder, os.getpid() if process is None else process).unlink(missing_ok=True)

    def text(self) -> bytes:
        """Return the text that the exporting worker has written, empty if none exports."""
        if self.folder is None:
            return self._text
        with suppress(OSError):
            # One at most: two sets of the same names would make the whole scrape invalid.
            files = sorted(self.folder.glob(_FILE.format("*")), key=lambda file: file.stat().st_mtime)
            return files[-1].read_bytes() if files else b""
        return b""

    @staticmethod
    def _file(folder: Path, process: int) -> Path:
        return folder / _FILE.format(process)
