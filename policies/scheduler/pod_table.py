"""The pods of one namespace as integer columns."""

from __future__ import annotations

from collections.abc import KeysView
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.scheduler.columns import Column
from policies.scheduler.label_sets import LabelSets

#: The node slot of pods that are on no node, and of slots without a pod.
NOWHERE: Final = 0
#: The label set of pods that are not counted: a terminating pod will be gone before the next one starts
#: (kubernetes/kubernetes#87621), though it still takes resources.
UNCOUNTED: Final = 0


class PodTable:
    """Where each pod of a namespace is, what it is labeled and what it takes.

    Every pod keeps its slot until it is removed.
    """

    __slots__ = ("_free", "_label_set", "_node", "_requests", "_slots", "label_sets")

    def __init__(self) -> None:
        self.label_sets = LabelSets()
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._node = Column(np.int32)
        self._label_set = Column(np.int32)
        self._requests = Column(np.int32)

    def copy(self) -> PodTable:
        """Return a table of its own with the same pods, for the same slots of nodes."""
        twin = PodTable()
        twin.label_sets = self.label_sets.copy()
        twin._slots, twin._free = dict(self._slots), list(self._free)
        twin._node, twin._label_set = self._node.copy(), self._label_set.copy()
        twin._requests = self._requests.copy()
        return twin

    def __len__(self) -> int:
        return len(self._slots)

    def names(self) -> KeysView[str]:
        """Return the names of the pods; they change with the table."""
        return self._slots.keys()

    def take(self, name: str) -> tuple[int, int]:
        """Remove a pod; return the node slot it was on and the number of its requests, both 0 if unknown."""
        slot = self._slots.pop(name, None)
        if slot is None:
            return NOWHERE, 0
        node, requests = int(self._node.data[slot]), int(self._requests.data[slot])
        label_set = int(self._label_set.data[slot])
        if label_set != UNCOUNTED:
            self.label_sets.release(label_set)
            if self.label_sets.wasteful:
                self._renumber()
        self._node.data[slot] = NOWHERE
        self._label_set.data[slot] = UNCOUNTED
        self._free.append(slot)
        return node, requests

    def put(self, name: str, *, node: int, requests: int, labels: dict[str, str] | None) -> None:
        """Add a pod that is not in the table; without labels it is not counted."""
        label_set = UNCOUNTED if labels is None else self.label_sets.take(labels)
        if self._free:
            slot = self._free.pop()
            self._node.data[slot] = node
            self._label_set.data[slot] = label_set
            self._requests.data[slot] = requests
        else:
            slot = self._node.append(node)
            self._label_set.append(label_set)
            self._requests.append(requests)
        self._slots[name] = slot

    def count_by_node(self, selector: LabelSelector, *, slots: int) -> NDArray[np.int64]:
        """Count the selected pods on every node slot, shape ``(s,)``."""
        selected = self.label_sets.select(selector)
        nodes = self._node.view()[selected[self._label_set.view()]]
        return np.bincount(nodes, minlength=slots)

    def names_of(self, selector: LabelSelector) -> list[str]:
        """Return the names of the selected pods."""
        selected = self.label_sets.select(selector)[self._label_set.view()]
        return [name for name, slot in self._slots.items() if selected[slot]]

    def terminating(self) -> list[tuple[int, int]]:
        """Return the node slot and the number of the requests of each pod that is being deleted."""
        held = (self._label_set.view() == UNCOUNTED) & (self._node.view() != NOWHERE)
        return list(zip(self._node.view()[held].tolist(), self._requests.view()[held].tolist(), strict=True))

    def _renumber(self) -> None:
        new = self.label_sets.renumber()
        view = self._label_set.view()
        view[:] = new[view]
