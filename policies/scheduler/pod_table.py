"""The pods of one namespace as integer columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, KeysView
from functools import reduce
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.pod_volumes import NO_VOLUMES, PodVolumes
from policies.model.workload import OWNER_KEY
from policies.scheduler.columns import Column, LabelSets

#: The node slot of pods that are on no node, and of slots without a pod.
NOWHERE: Final = 0
#: The label set of slots without a pod.
NO_LABELS: Final = 0
#: Selectors whose pods are followed: each takes a look at every pod that comes or goes.
MOST_FOLLOWED: Final = 16


_Int32 = TypeVar("_Int32")
_Bool = TypeVar("_Bool")
_Int64 = TypeVar("_Int64")


class PodFields(NamedTuple, Generic[_Int32, _Bool, _Int64]):
    """The columns of a pod table: the values of one pod, or of all of them."""

    node: _Int32  #: The slot of its node.
    label_set: _Int32  #: The number of its labels.
    holding: _Int32  #: The number of what it holds of its node.
    terminating: _Bool  #: Whether it is being deleted.
    priority: _Int32  #: Its priority.
    started: _Int64  #: When it started, in seconds since 1970.
    number: _Int64  #: A number that rises with every pod that came to the cluster.


#: One pod.
PodRow: TypeAlias = PodFields[int, bool, int]
#: The pods of all slots: arrays of shape ``(p,)``.
PodRows: TypeAlias = PodFields[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64]]
#: The type of each column.
_TYPES: Final = tuple(
    {_Int32: np.int32, _Bool: np.bool_, _Int64: np.int64}[kind] for kind in get_type_hints(PodFields).values()
)


class TakenPod(NamedTuple):
    """A removed pod: the slot of its node, the number of its holding, its priority, and its volumes."""

    node: int
    holding: int
    priority: int
    volumes: PodVolumes


class Followed:
    """The pods of a selector that come and go.

    Attributes:
        table: The pods of the namespace.
        changes: The node slot of each pod that came or went since it is followed, and 1 or -1.
        current: Whether it is still followed.
    """

    __slots__ = ("_selected", "_selector", "changes", "current", "table")

    def __init__(self, table: PodTable, selector: LabelSelector) -> None:
        self.table, self._selector = table, selector
        self.changes: list[tuple[int, int]] = []
        self.current = True
        self._selected = table.label_sets.select(selector)

    def note(self, label_set: int, slot: int, amount: int) -> None:
        """Note that a pod came, or went."""
        if label_set >= len(self._selected):
            self._selected = self.table.label_sets.select(self._selector)
        if self._selected[label_set]:
            self.changes.append((slot, amount))


class PodTable:
    """Where each pod of a namespace is, what it is labeled and what it takes.

    Every pod keeps its slot until it is removed.

    Attributes:
        label_sets: The labels of the pods.
        volumes: What pods have of volumes, by their names; of most it is nothing.
        preempted: The names of the pods that the scheduler is evicting for others.
    """

    __slots__ = ("_columns", "_followed", "_free", "_holding", "_label_set", "_node", "_slots",
                 "_terminating", "label_sets", "preempted", "volumes")  # fmt: skip

    def __init__(self, columns: Iterable[Column] = ()) -> None:
        self.label_sets = LabelSets()
        self.volumes: dict[str, PodVolumes] = {}
        self.preempted: set[str] = set()
        self._followed: dict[LabelSelector, Followed] = {}
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._columns = PodFields(*(tuple(columns) or map(Column, _TYPES)))
        self._node, self._label_set, self._holding, self._terminating, *_ = self._columns

    def copy(self) -> PodTable:
        """Return a table of its own with the same pods, for the same slots of nodes."""
        fork = PodTable(map(Column.copy, self._columns))
        fork.label_sets = self.label_sets.copy()
        fork.volumes, fork.preempted = dict(self.volumes), set(self.preempted)
        fork._slots, fork._free = dict(self._slots), list(self._free)
        return fork

    def __len__(self) -> int:
        return len(self._slots)

    def names(self) -> KeysView[str]:
        """Return the names of the pods; they change with the table."""
        return self._slots.keys()

    def take(self, name: str) -> TakenPod | None:
        """Remove a pod; return what it had of its node, or None if it is unknown."""
        slot = self._slots.pop(name, None)
        if slot is None:
            return None
        self.preempted.discard(name)
        node, holding = int(self._node.data[slot]), int(self._holding.data[slot])
        label_set = int(self._label_set.data[slot])
        if self._followed and not self._terminating.data[slot]:
            self._note(label_set, node, -1)
        self.label_sets.release(label_set)
        if self.label_sets.wasteful:
            self._renumber()
        self._node.data[slot] = NOWHERE
        self._label_set.data[slot] = NO_LABELS
        self._free.append(slot)
        return TakenPod(
            node, holding, int(self._columns.priority.data[slot]), self.volumes.pop(name, NO_VOLUMES)
        )

    def put(self, name: str, labels: dict[str, str], row: PodRow) -> None:
        """Add a pod that is not in the table; the number of its labels is given here."""
        if self._free:
            slot = self._free.pop()
            for column, value in zip(self._columns, row, strict=True):
                column.data[slot] = value
        else:
            for column, value in zip(self._columns, row, strict=True):
                slot = column.append(value)
        label_set = self.label_sets.take(labels)
        self._label_set.data[slot] = label_set
        if self._followed and not row.terminating:
            self._note(label_set, row.node, 1)
        self._slots[name] = slot

    def find(self, name: str) -> PodRow | None:
        """Return a pod; None if it is unknown."""
        slot = self._slots.get(name)
        return None if slot is None else PodFields(*(column.data[slot].item() for column in self._columns))

    def node_of(self, name: str) -> int | None:
        """Return the slot of the node of a pod; None for one that is unknown, or is being deleted."""
        slot = self._slots.get(name)
        return None if slot is None or self._terminating.data[slot] else self._node.data[slot]

    def update(self, name: str, before: PodRow, row: PodRow) -> None:
        """Change what changes of a known pod with time."""
        if self._followed and before.terminating != row.terminating:
            self._note(row.label_set, row.node, -1 if row.terminating else 1)
        slot = self._slots[name]
        for column, value in zip(self._columns, row, strict=True):
            column.data[slot] = value

    def rows(self, slots: NDArray[np.intp] | slice = slice(None)) -> PodRows:
        """Return the columns, those of slots without a pod as well; valid until the next event."""
        return PodFields(*(column.view()[slots] for column in self._columns))

    def rows_on(self, node: int) -> list[tuple[str, PodRow]]:
        """Return the pods on a node slot, with their names."""
        slots = frozenset(np.flatnonzero(self._node.view() == node).tolist())
        return [
            (name, PodFields(*(column.data[slot].item() for column in self._columns)))
            for slot, name in self.names_of_slots(slots).items()
        ]

    def names_of_slots(self, slots: Collection[int]) -> dict[int, str]:
        """Return the names of the pods of some slots."""
        return {slot: name for name, slot in self._slots.items() if slot in slots}

    def count_by_node(self, selector: LabelSelector, *, slots: int) -> NDArray[np.int64]:
        """Count the selected pods on every node slot, shape ``(s,)``, but none that is being deleted.

        A terminating pod will be gone before the next one starts (kubernetes/kubernetes#87621), though it
        still holds what it has.
        """
        sets = self.label_sets.select(selector)
        if not sets.any():
            return np.zeros(slots, np.intp)  # As of what is new.
        return np.bincount(self._node.view()[self._of_sets(sets)], minlength=slots)

    def nodes_of_all(self, selectors: Iterable[LabelSelector]) -> NDArray[np.int32]:
        """Return the node slot of each pod that every selector selects, terminating ones too."""
        first, *others = map(self.label_sets.select, selectors)
        selected = reduce(np.logical_and, others, first)
        nodes: NDArray[np.int32] = self._node.view()[selected[self._label_set.view()]]
        return nodes

    def names_of(self, selector: LabelSelector) -> list[str]:
        """Return the names of the selected pods that are not being deleted."""
        selected = self._selected(selector)
        return [name for name, slot in self._slots.items() if selected[slot]]

    def names_on(self, nodes: NDArray[np.bool_]) -> list[tuple[str, int, bool]]:
        """Return each pod on some node slots, with its slot and whether it is being deleted.

        Args:
            nodes: The slots, shape ``(s,)``; none of them is ``NOWHERE``.
        """
        chosen = nodes[self._node.view()]
        if not chosen.any():
            return []
        node, terminating = self._node.view().tolist(), self._terminating.view().tolist()
        return [(name, node[slot], terminating[slot]) for name, slot in self._slots.items() if chosen[slot]]

    def holdings_of(self, selector: LabelSelector) -> list[int]:
        """Return the numbers of what the selected pods hold that are not being deleted, each once."""
        # A free slot keeps the number that its last pod had.
        selected = self._selected(selector) & (self._node.view() != NOWHERE)
        numbers = np.unique(self._holding.view()[selected])
        return [int(number) for number in numbers]

    def selected(self, selector: LabelSelector) -> list[tuple[str, int, frozenset[tuple[str, str]]]]:
        """Return name, node slot and labels of the selected pods that are not being deleted."""
        selected, sets = self._selected(selector), self._label_set.data
        labels = self.label_sets.labels
        return [
            (
                name,
                int(self._node.data[slot]),
                frozenset(p for p in labels(int(sets[slot])) if p[0] != OWNER_KEY),
            )
            for name, slot in self._slots.items()
            if selected[slot]
        ]

    def terminating(self) -> list[tuple[int, int, PodVolumes]]:
        """Return the node slot, the holding's number and the volumes of each pod that is being deleted."""
        held = self._terminating.view() & (self._node.view() != NOWHERE)
        slots = np.flatnonzero(held).tolist()
        names = self.names_of_slots(frozenset(slots)) if self.volumes else {}
        node, holding = self._node.data, self._holding.data
        return [
            (int(node[slot]), int(holding[slot]), self.volumes.get(names.get(slot, ""), NO_VOLUMES))
            for slot in slots
        ]

    def _selected(self, selector: LabelSelector) -> NDArray[np.bool_]:
        return self._of_sets(self.label_sets.select(selector))

    def _of_sets(self, sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which pods have some sets of labels and are not being deleted."""
        selected: NDArray[np.bool_] = sets[self._label_set.view()]
        selected &= ~self._terminating.view()
        return selected

    def follow(self, selector: LabelSelector) -> Followed:
        """Follow the pods of a selector that are not being deleted, until many others are followed."""
        found = self._followed.pop(selector, None)
        if found is None:
            found = Followed(self, selector)
            if len(self._followed) >= MOST_FOLLOWED:
                self._followed.pop(next(iter(self._followed))).current = False
        self._followed[selector] = found
        return found

    def _note(self, label_set: int, slot: int, amount: int) -> None:
        for followed in self._followed.values():
            followed.note(label_set, slot, amount)

    def _renumber(self) -> None:
        for followed in self._followed.values():
            followed.current = False
        self._followed.clear()
        new = self.label_sets.renumber()
        view = self._label_set.view()
        view[:] = new[view]
