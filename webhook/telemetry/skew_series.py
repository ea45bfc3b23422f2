"""Series that come and go, beside those that prometheus-client keeps.

prometheus-client cannot remove a series from the files that workers share. So the process that exports such
series writes them as text into a file of its own, and any worker appends it to a scrape.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from webhook.atomic_write import atomic_write

#: The file of a process, in the folder that all workers share.
_FILE: Final = "skew-{}.prom"


class _Families(Collector):
    """Hands out metrics that exist already."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        return self._families


@dataclass(slots=True)
class SkewSeries:
    """The text of the series, where every worker of this replica finds it.

    Attributes:
        folder: The folder that workers share; None for a process by itself.
    """

    folder: Path | None
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
