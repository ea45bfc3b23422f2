"""Arrays that grow: the columns of the index."""

from __future__ import annotations

from copy import copy
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Entries of a new column; most namespaces have fewer pods.
FIRST_CAPACITY: Final = 16
#: Where int64 wraps around.
_WRAP: Final = 2**63


class Column:
    """A one-dimensional array with room at its end.

    ``data`` is replaced when it grows, so it must not be kept across events.
    """

    __slots__ = ("_fill", "data", "size")

    def __init__(self, dtype: DTypeLike, fill: int = 0) -> None:
        self.data: NDArray[Any] = np.full(FIRST_CAPACITY, fill, dtype)
        self.size = 0
        self._fill = fill

    def append(self, value: int) -> int:
        """Add an entry; return its position."""
        position = self.size
        if position == len(self.data):
            grown = np.full(2 * position, self._fill, self.data.dtype)
            grown[:position] = self.data
            self.data = grown
        self.data[position] = value
        self.size = position + 1
        return position

    def view(self) -> NDArray[Any]:
        """Return the entries; valid until the next event."""
        return self.data[: self.size]

    def copy(self) -> Column:
        """Return a column of its own with the same entries."""
        fork = copy(self)
        fork.data = self.data.copy()
        return fork


class Table:
    """Rows of a column each, added as they are needed, all with the same number of entries."""

    data: NDArray[np.int64]  #: Shape ``(rows, capacity)``, int64; replaced when it grows.
    __slots__ = ("_cells", "_rows", "data")

    def __init__(self) -> None:
        self._set(np.zeros((4, FIRST_CAPACITY), np.int64))
        self._rows: dict[str, int] = {}

    def __getstate__(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        return self.data, self._rows

    def __setstate__(self, state: tuple[NDArray[np.int64], dict[str, int]]) -> None:
        data, self._rows = state
        self._set(data)

    def find(self, name: str) -> NDArray[np.int64] | None:
        """Return a row, or None if nothing was ever written to one of that name."""
        row = self._rows.get(name)
        return None if row is None else self.data[row]

    def add(self, name: str, column: int, amount: int) -> None:
        """Add an amount to one entry; past int64 it wraps around, as the scheduler's own sums do."""
        row = self._rows.get(name)
        if row is None:
            row = self._new_row(name)
        total = self._cells[row, column] + amount
        if not -_WRAP <= total < _WRAP:
            total = (total + _WRAP) % (2 * _WRAP) - _WRAP
        self._cells[row, column] = total

    def clear(self, column: int) -> None:
        """Make every row zero at one entry."""
        self.data[:, column] = 0

    def copy(self) -> Table:
        """Return a table of its own with the same amounts."""
        fork = Table()
        fork._set(self.data.copy())
        fork._rows = dict(self._rows)
        return fork

    def reserve(self, size: int) -> None:
        """Make room for a number of entries a row."""
        rows, capacity = self.data.shape
        if size > capacity:
            grown = np.zeros((rows, max(size, 2 * capacity)), np.int64)
            grown[:, :capacity] = self.data
            self._set(grown)

    def _new_row(self, name: str) -> int:
        row = self._rows[name] = len(self._rows)
        rows, capacity = self.data.shape
        if row == rows:
            grown = np.zeros((2 * rows, capacity), np.int64)
            grown[:rows] = self.data
            self._set(grown)
        return row

    def _set(self, data: NDArray[np.int64]) -> None:
        self.data = data
        # Reads and writes one entry in a third of the time.
        self._cells = memoryview(data)  # type: ignore[arg-type]
