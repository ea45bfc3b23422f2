"""The nodes of the cluster as columns over slots, and dense views of them in the order of their names.

Source of the images: ``addNodeImageStates`` and ``removeNodeImageStates``,
``pkg/scheduler/backend/cache/cache.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, KeysView
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from policies.model.node import Node
from policies.model.resources import Requests
from policies.model.taints import Taint
from policies.scheduler.columns import Column, Table

Mapped = TypeVar("Mapped")

#: The value number of nodes that lack a label.
MISSING: Final = -1
#: The resource that counts pods.
PODS: Final = "pods"
#: Values of a label beyond twice the slots after which its column is rebuilt: few enough to scan at once.
KEPT_VALUES: Final = 1024
#: Binds and unbinds after which what was derived is computed anew as a whole.
MOST_CHANGES: Final = 10_000


class ImageState(NamedTuple):
    """An image of the cluster."""

    size: int  #: Bytes, as the first of its nodes has it; others may have another.
    slots: set[int]  #: The node slots that have it.


class ImageTable:
    """The images of the nodes, by name."""

    __slots__ = ("_images",)

    def __init__(self) -> None:
        self._images: dict[str, ImageState] = {}

    def copy(self) -> ImageTable:
        """Return a table of its own."""
        fork = ImageTable()
        fork._images = {
            name: ImageState(state.size, set(state.slots)) for name, state in self._images.items()
        }
        return fork

    def find(self, name: str) -> ImageState | None:
        """Return an image, or None if no node has it."""
        return self._images.get(name)

    def replace(self, slot: int, old: Iterable[tuple[str, int]], new: Iterable[tuple[str, int]]) -> None:
        """Put the images of a node in the place of those that it had."""
        for name, _ in old:
            state = self._images.get(name)
            if state is not None:
                state.slots.discard(slot)
                if not state.slots:
                    del self._images[name]
        for name, size in new:
            self._images.setdefault(name, ImageState(size, set())).slots.add(slot)


class LabelColumn:
    """One label of every node slot, as numbers of its values."""

    __slots__ = ("column", "numbers", "texts")

    def __init__(self) -> None:
        self.column = Column(np.int32, MISSING)
        self.numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def number(self, value: str | None) -> int:
        """Return the number of a value, given on first sight."""
        if value is None:
            return MISSING
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.texts)
            self.texts.append(value)
        return number

    def copy(self) -> LabelColumn:
        """Return a column of its own with the same values."""
        fork = LabelColumn()
        fork.column, fork.numbers, fork.texts = self.column.copy(), dict(self.numbers), list(self.texts)
        return fork


class Derived:
    """Values computed from the nodes; a table gets a new object as soon as a node changes.

    Attributes:
        kept: What follows from the nodes alone, by what it is.
        of_requests: What follows from them for a request, by what it is and the request.
        changes: The slots on which pods came or went since then, with what one that came requests; None for
            one that went.
    """

    __slots__ = ("changes", "kept", "of_requests")

    def __init__(self) -> None:
        self.kept: dict[Hashable, Any] = {}
        self.of_requests: dict[Hashable, Any] = {}
        self.changes: list[tuple[int, Requests | None]] = []


class NodeTable:
    """The nodes by slot. A name keeps its slot while the node, or a pod bound to it, exists.

    Attributes:
        used: What the pods on each slot request, by resource; ``pods`` counts them.
        allocatable: What each node offers, by resource.
        images: Which slots have which images.
        derived: What was found out of the nodes as they are.
    """

    def __init__(self) -> None:
        self.used = Table()
        self.allocatable = Table()
        self.images = ImageTable()
        self._slots: dict[str, int] = {}
        # Slot 0 is nowhere.
        self._slot_names = [""]
        self._nodes: list[Node | None] = [None]
        self._free: list[int] = []
        self._pods: list[int] = [0]
        self._cordoned = Column(np.bool_)
        self._taints = Column(np.int32)
        self._taint_numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self._labels: dict[str, LabelColumn] = {}
        self._carriers: dict[str, int] = {}
        self._order: NDArray[np.intp] | None = None
        self._listed: tuple[Node, ...] | None = None
        self._names: tuple[str, ...] = ()
        self.derived = Derived()
        self._positions: dict[str, int] = {}
        self._cordoned.append(0)
        self._taints.append(0)

    def copy(self) -> NodeTable:
        """Return a table of its own with the same nodes, for the same slots."""
        fork = NodeTable()
        fork.used, fork.allocatable = self.used.copy(), self.allocatable.copy()
        fork.images = self.images.copy()
        fork._cordoned, fork._taints = self._cordoned.copy(), self._taints.copy()
        fork._slots, fork._slot_names = dict(self._slots), list(self._slot_names)
        fork._nodes, fork._free, fork._pods = list(self._nodes), list(self._free), list(self._pods)
        fork._taint_numbers, fork._carriers = dict(self._taint_numbers), dict(self._carriers)
        fork._labels = {key: label.copy() for key, label in self._labels.items()}
        # What is left out is computed when it is needed.
        return fork

    @property
    def slots(self) -> int:
        """How many slots there are, free ones included."""
        return len(self._nodes)

    def listed(self) -> tuple[Node, ...]:
        """Return the nodes, by name; the same tuple until one changes."""
        if self._listed is None:
            nodes = (node for node in self._nodes if node is not None)
            self._listed = tuple(sorted(nodes, key=lambda node: node.name))
        return self._listed

    def find(self, name: str) -> Node | None:
        """Return the node of a name, or None if there is none."""
        slot = self._slots.get(name)
        return None if slot is None else self._nodes[slot]

    def slots_of(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return which slots belong to some names, shape ``(s,)``; a name without a slot has no pods."""
        chosen = np.zeros(self.slots, np.bool_)
        chosen[[self._slots[name] for name in names if name in self._slots]] = True
        return chosen

    def put(self, node: Node) -> None:
        """Add a node, or replace the one of its name."""
        slot = self._slots.get(node.name)
        if slot is None:
            slot = self._new_slot(node.name)
        old = self._nodes[slot]
        if old == node:
            return  # Most events of a node are heartbeats.
        if old is None:
            self._order = None
        self._describe(slot, node, old)

    def remove(self, name: str) -> None:
        """Remove a node; pods that are bound to it stay bound to its name."""
        slot = self._slots.get(name)
        if slot is None or self._nodes[slot] is None:
            return
        self._order = None
        self._describe(slot, None, self._nodes[slot])
        self._free_if_unused(slot)

    def bind(self, name: str, requests: Requests) -> int:
        """Take a pod's requests from the node of a name, known or not; return its slot."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._new_slot(name)
        self._pods[slot] += 1
        self._note(slot, requests)
        used = self.used
        used.add(PODS, slot, 1)
        for resource, amount in requests:
            used.add(resource, slot, amount)
        return slot

    def unbind(self, slot: int, requests: Requests) -> None:
        """Give back what ``bind`` took."""
        self._pods[slot] -= 1
        self._note(slot, None)
        used = self.used
        used.add(PODS, slot, -1)
        for resource, amount in requests:
            used.add(resource, slot, -amount)
        self._free_if_unused(slot)

    def order(self) -> NDArray[np.intp]:
        """Return the slots of the nodes by their names, shape ``(n,)``."""
        if self._order is None:
            known = sorted((node.name, slot) for slot, node in enumerate(self._nodes) if node is not None)
            self._names = tuple(name for name, _ in known)
            self._positions = {name: position for position, name in enumerate(self._names)}
            self._order = np.array([slot for _, slot in known], np.intp)
        return self._order

    def names(self) -> tuple[str, ...]:
        """Return the names of the nodes, sorted; the same tuple until a node comes or goes."""
        self.order()
        return self._names

    def positions(self) -> dict[str, int]:
        """Return the position of each node among the sorted names; do not change it."""
        self.order()
        return self._positions

    def label(self, key: str) -> LabelColumn | None:
        """Return the column of a label over the slots, or None if no node carries it."""
        found = self._labels.get(key)
        if found is None and key in self._carriers:
            found = self._labels[key] = LabelColumn()
            for node in self._nodes:
                found.column.append(found.number(None if node is None else node.labels.get(key)))
        return found

    def name_of(self, slot: int) -> str:
        """Return the name of the node of a slot, known or not."""
        return self._slot_names[slot]

    def name_if_there(self, slot: int) -> str | None:
        """Return the name of the node of a slot; None for one that is not known."""
        node = self._nodes[slot]
        return None if node is None else node.name

    def label_keys(self) -> KeysView[str]:
        """Return the keys of the labels that nodes carry; they change with the table."""
        return self._carriers.keys()

    def cordoned(self) -> NDArray[np.bool_]:
        """Return which slots are unschedulable, shape ``(s,)``."""
        return self._cordoned.view()

    def taints(self) -> NDArray[np.int32]:
        """Return the number of each slot's list of taints, shape ``(s,)``: its position in ``map_taints``."""
        return self._taints.view()

    def map_taints(self, function: Callable[[tuple[Taint, ...]], Mapped]) -> list[Mapped]:
        """Return a function's value for each distinct list of taints, by its number."""
        return [function(taints) for taints in self._taint_numbers]

    def _note(self, slot: int, requests: Requests | None) -> None:
        """Note that a pod comes to a slot, or with None that one goes."""
        changes = self.derived.changes
        changes.append((slot, requests))
        if len(changes) > MOST_CHANGES:
            self.derived = Derived()

    def _describe(self, slot: int, node: Node | None, old: Node | None) -> None:
        self._nodes[slot] = node
        self._listed = None
        self.derived = Derived()
        self._cordoned.data[slot] = node is not None and node.unschedulable
        taints = () if node is None else node.taints
        self._taints.data[slot] = self._taint_numbers.setdefault(taints, len(self._taint_numbers))
        self.allocatable.clear(slot)
        if node is not None:
            for resource, amount in node.allocatable.items():
                self.allocatable.add(resource, slot, amount)
        self.images.replace(slot, () if old is None else old.images, () if node is None else node.images)
        self._relabel(slot, {} if node is None else node.labels, {} if old is None else old.labels)

    def _relabel(self, slot: int, labels: dict[str, str], old: dict[str, str]) -> None:
        for key in old.keys() - labels.keys():
            self._carriers[key] -= 1
            if not self._carriers[key]:
                del self._carriers[key]
        for key in labels.keys() - old.keys():
            self._carriers[key] = self._carriers.get(key, 0) + 1
        for key, label in list(self._labels.items()):
            label.column.data[slot] = label.number(labels.get(key))
            if key not in self._carriers or len(label.texts) > 2 * self.slots + KEPT_VALUES:
                del self._labels[key]

    def _free_if_unused(self, slot: int) -> None:
        if not self._pods[slot] and self._nodes[slot] is None:
            del self._slots[self._slot_names[slot]]
            self._free.append(slot)

    def _new_slot(self, name: str) -> int:
        if self._free:
            slot = self._free.pop()
            self._slot_names[slot] = name
        else:
            slot = len(self._nodes)
            self._slot_names.append(name)
            self._nodes.append(None)
            self._pods.append(0)
            self._cordoned.append(0)
            self._taints.append(0)
            for label in self._labels.values():
                label.column.append(MISSING)
            self.used.reserve(slot + 1)
            self.allocatable.reserve(slot + 1)
        self._slots[name] = slot
        return slot
