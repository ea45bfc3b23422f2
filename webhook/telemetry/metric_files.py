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
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.registry import Collector

from webhook.atomic_write import atomic_write
from webhook.telemetry.logs import LOGGER

#: Bytes of a new file. prometheus-client's own; a worker of ours needs some 20 kB in one of them.
_FIRST_BYTES: Final = 1 << 16
#: The value and the time of an entry, and a number of bytes: native, as the collector reads them.
_VALUE: Final = struct.Struct("dd")
_LENGTH: Final = struct.Struct("i")
#: What the number of used bytes takes, with its padding.
_HEADER: Final = 8
#: The file of a process, in the folder that all workers share.
_FILE: Final = "skew-{}.prom"


class MetricFile:
    """Values by key, in a file that other processes read: what ``MmapedDict`` of prometheus-client writes.

    The file begins with the number of bytes that are used. An entry has the length of its key, the key up to
    a multiple of 8 bytes, the value and its time.
    """

    def __init__(self, filename: str) -> None:
        self._name = filename
        self._positions: dict[str, int] = {}
        try:
            _take_room(filename)
            self._file: BinaryIO = Path(filename).open("r+b")  # noqa: SIM115  # until it is closed
            # A process of the same number may have been there before.
            read = MmapedDict.read_all_values_from_file(filename)  # type: ignore[no-untyped-call]
            self._positions = {key: position for key, _, _, position in read}
        except OSError as error:
            _report(filename, error)
            # An empty file, or one that is not allocated, would be read as a broken one.
            with suppress(OSError):
                Path(filename).unlink(missing_ok=True)
            self._file = _in_memory(_FIRST_BYTES)
        self._map = mmap.mmap(self._file.fileno(), 0)
        (used,) = _LENGTH.unpack_from(self._map)
        self._use(used or _HEADER)

    def read_value(self, key: str) -> tuple[float, float]:
        """Return a value and its time, of a new key 0."""
        value, timestamp = _VALUE.unpack_from(self._map, self._position(key))
        return value, timestamp

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        """Set a value."""
        position = self._position(key)
        # By an assignment: ``pack_into`` writes zeros first, which others would read.
        self._map[position : position + _VALUE.size] = _VALUE.pack(value, timestamp)

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        self._file.close()

    def _position(self, key: str) -> int:
        """Return where the value of a key is; a new key is added, after making room for it."""
        found = self._positions.get(key)
        if found is not None:
            return found
        encoded = key.encode()
        padded = encoded + b" " * (8 - (len(encoded) + _LENGTH.size) % 8)
        entry = _LENGTH.pack(len(encoded)) + padded + _VALUE.pack(0.0, 0.0)
        end = self._used + len(entry)
        if end > len(self._map):
            self._grow(end)
        self._map[self._used : end] = entry
        self._use(end)
        self._positions[key] = position = end - _VALUE.size
        return position

    def _use(self, used: int) -> None:
        self._used = used
        self._map[: _LENGTH.size] = _LENGTH.pack(used)

    def _grow(self, needed: int) -> None:
        size = len(self._map)
        while size < needed:
            size *= 2
        try:
            os.posix_fallocate(self._file.fileno(), 0, size)
        except OSError as error:
            _report(self._name, error)
            # The file keeps what it has.
            memory = _in_memory(size)
            memory.write(self._map[: self._used])
            memory.flush()
            self._file.close()
            self._file = memory
        self._map.close()
        self._map = mmap.mmap(self._file.fileno(), size)


def _in_memory(size: int) -> BinaryIO:
    """Return a file of a size that has no place in a file system."""
    memory = os.fdopen(os.memfd_create("metrics"), "r+b")
    memory.truncate(size)
    return memory


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
