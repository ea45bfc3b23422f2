"""Arrays that grow: the columns of the index, and the distinct label sets of one namespace's pods.

Pods that a controller makes share their labels, so a selector is matched with a few sets instead of every
pod, by posting lists of keys and values.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from policies.model.labels import LabelSelector, Operator, RequiredLabel, Requirement

#: Entries of a new column; most namespaces have fewer pods.
FIRST_CAPACITY: Final = 16
#: Where int64 wraps around.
_WRAP: Final = 2**63
#: Unused sets, of a few bytes each, that are kept before those in use are renumbered.
KEPT_UNUSED = 256


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
        # By hand: a fork of a cluster copies hundreds, and the copy module is several times as slow.
        fork = Column.__new__(Column)
        fork.data, fork.size, fork._fill = self.data.copy(), self.size, self._fill  # noqa: SLF001  # of its own class
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


class LabelSets:
    """Numbers label sets; set 0 is that of pods that are never counted and is in no posting list."""

    __slots__ = ("_numbers", "_postings", "_sets", "_used", "unused")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self._sets: list[frozenset[tuple[str, str]]] = [frozenset()]
        self._used = [0]
        #: The sets with each label, and with each key, of any value.
        self._postings: dict[RequiredLabel, array[int]] = {}
        #: Sets that no pod has any more.
        self.unused = 0

    def copy(self) -> LabelSets:
        """Return sets of their own with the same numbers."""
        fork = LabelSets()
        fork._numbers, fork._sets, fork._used = dict(self._numbers), list(self._sets), list(self._used)
        fork._postings = {label: numbers[:] for label, numbers in self._postings.items()}
        fork.unused = self.unused
        return fork

    def take(self, labels: Mapping[str, str]) -> int:
        """Return the number of a pod's label set, for one more pod."""
        pairs = frozenset(labels.items())
        number = self._numbers.get(pairs)
        if number is None:
            number = self._add(pairs)
        elif not self._used[number]:
            self.unused -= 1
        self._used[number] += 1
        return number

    def release(self, number: int) -> None:
        """Take back a number that ``take`` gave."""
        self._used[number] -= 1
        if not self._used[number]:
            self.unused += 1

    def labels(self, number: int) -> frozenset[tuple[str, str]]:
        """Return the labels of a number."""
        return self._sets[number]

    @property
    def wasteful(self) -> bool:
        """Whether most sets are unused, and worth being renumbered."""
        return self.unused > KEPT_UNUSED and 2 * self.unused > len(self._sets)

    def renumber(self) -> NDArray[np.int32]:
        """Forget unused sets; return the new number of every old one, shape ``(l,)``."""
        sets, used = self._sets, self._used
        self._clear()
        new = np.zeros(len(sets), np.int32)
        for number in range(1, len(sets)):
            if used[number]:
                new[number] = self._add(sets[number])
                self._used[-1] = used[number]
        return new

    def __len__(self) -> int:
        """Return how many sets there are, with those that no pod has any more."""
        return len(self._sets)

    def lack(self, labels: Iterable[RequiredLabel]) -> bool:
        """Return whether no set has any of some labels."""
        return self._postings.keys().isdisjoint(labels)

    def select(self, selector: LabelSelector) -> NDArray[np.bool_]:
        """Return which sets a selector selects, shape ``(l,)``; an empty selector selects all but set 0."""
        masks = [self._having((self._postings.get(pair),)) for pair in selector.match_labels]
        masks += map(self._satisfying, selector.match_expressions)
        selected = masks[0] if masks else np.ones(len(self._sets), np.bool_)
        for mask in masks[1:]:
            selected &= mask
        selected[0] = False
        return selected

    def _satisfying(self, requirement: Requirement) -> NDArray[np.bool_]:
        key = requirement.key
        match requirement.operator:
            case Operator.IN:
                return self._having(self._postings.get((key, value)) for value in requirement.values)
            case Operator.NOT_IN:
                return ~self._having(self._postings.get((key, value)) for value in requirement.values)
            case Operator.EXISTS:
                return self._having((self._postings.get((key, None)),))
            case Operator.DOES_NOT_EXIST:
                return ~self._having((self._postings.get((key, None)),))

    def _having(self, postings: Iterable[array[int] | None]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._sets), np.bool_)
        for posting in postings:
            if posting is not None:
                mask[np.array(posting)] = True
        return mask

    def _add(self, pairs: frozenset[tuple[str, str]]) -> int:
        number = self._numbers[pairs] = len(self._sets)
        self._sets.append(pairs)
        self._used.append(0)
        for pair in pairs:
            self._postings.setdefault(pair, array("i")).append(number)
            self._postings.setdefault((pair[0], None), array("i")).append(number)
        return number
