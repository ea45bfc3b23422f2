"""The pods of one namespace as integer columns."""

from __future__ import annotations

from collections.abc import Iterable, KeysView
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.scheduler.columns import Column
from policies.scheduler.label_sets import LabelSets

#: The node slot of pods that are on no node, and of slots without a pod.
NOWHERE: Final = 0
#: The label set of slots without a pod.
NO_LABELS: Final = 0


class PodTable:
    """Where each pod of a namespace is, what it is labeled and what it takes.

    Every pod keeps its slot until it is removed.
    """

    __slots__ = ("_free", "_holding", "_label_set", "_node", "_slots", "_terminating", "label_sets")

    def __init__(self) -> None:
        self.label_sets = LabelSets()
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._node = Column(np.int32)
        self._label_set = Column(np.int32)
        self._holding = Column(np.int32)
        self._terminating = Column(np.bool_)

    def copy(self) -> PodTable:
        """Return a table of its own with the same pods, for the same slots of nodes."""
        twin = PodTable()
        twin.label_sets = self.label_sets.copy()
        twin._slots, twin._free = dict(self._slots), list(self._free)
        twin._node, twin._label_set = self._node.copy(), self._label_set.copy()
        twin._holding, twin._terminating = self._holding.copy(), self._terminating.copy()
        return twin

    def __len__(self) -> int:
        return len(self._slots)

    def names(self) -> KeysView[str]:
        """Return the names of the pods; they change with the table."""
        return self._slots.keys()

    def take(self, name: str) -> tuple[int, int]:
        """Remove a pod; return the node slot it was on and the number of its holding, both 0 if unknown."""
        slot = self._slots.pop(name, None)
        if slot is None:
            return NOWHERE, 0
        node, holding = int(self._node.data[slot]), int(self._holding.data[slot])
        self.label_sets.release(int(self._label_set.data[slot]))
        if self.label_sets.wasteful:
            self._renumber()
        self._node.data[slot] = NOWHERE
        self._label_set.data[slot] = NO_LABELS
        self._free.append(slot)
        return node, holding

    def put(self, name: str, *, node: int, holding: int, labels: dict[str, str], terminating: bool) -> None:
        """Add a pod that is not in the table."""
        label_set = self.label_sets.take(labels)
        if self._free:
            slot = self._free.pop()
            self._node.data[slot] = node
            self._label_set.data[slot] = label_set
            self._holding.data[slot] = holding
            self._terminating.data[slot] = terminating
        else:
            slot = self._node.append(node)
            self._label_set.append(label_set)
            self._holding.append(holding)
            self._terminating.append(terminating)
        self._slots[name] = slot

    def count_by_node(self, selector: LabelSelector, *, slots: int) -> NDArray[np.int64]:
        """Count the selected pods on every node slot, shape ``(s,)``, but none that is being deleted.

        A terminating pod will be gone before the next one starts (kubernetes/kubernetes#87621), though it
        still holds what it has.
        """
        nodes = self._node.view()[self._selected(selector)]
        return np.bincount(nodes, minlength=slots)

    def count_all_by_node(self, selectors: Iterable[LabelSelector], *, slots: int) -> NDArray[np.int64]:
        """Count the pods that every one of some selectors selects, terminating ones too, shape ``(s,)``."""
        selected = np.logical_and.reduce([self.label_sets.select(selector) for selector in selectors])
        return np.bincount(self._node.view()[selected[self._label_set.view()]], minlength=slots)

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

    def selected(self, selector: LabelSelector) -> list[tuple[str, int, frozenset[tuple[str, str]]]]:
        """Return name, node slot and labels of the selected pods that are not being deleted."""
        selected, labels = self._selected(selector), self._label_set.data
        return [
            (name, int(self._node.data[slot]), self.label_sets.labels(int(labels[slot])))
            for name, slot in self._slots.items()
            if selected[slot]
        ]

    def terminating(self) -> list[tuple[int, int]]:
        """Return the node slot and the number of the holding of each pod that is being deleted."""
        held = self._terminating.view() & (self._node.view() != NOWHERE)
        return list(zip(self._node.view()[held].tolist(), self._holding.view()[held].tolist(), strict=True))

    def _selected(self, selector: LabelSelector) -> NDArray[np.bool_]:
        selected: NDArray[np.bool_] = self.label_sets.select(selector)[self._label_set.view()]
        selected &= ~self._terminating.view()
        return selected

    def _renumber(self) -> None:
        new = self.label_sets.renumber()
        view = self._label_set.view()
        view[:] = new[view]
