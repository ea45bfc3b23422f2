"""The resources of nodes for one pod, and what was found out of the nodes, kept and followed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from policies.model.pod import Pod
from policies.model.pod_reading import EVERY_AMOUNT, in_older_release
from policies.model.resources import Requests
from policies.scheduler.columns import Table
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS, Derived

T = TypeVar("T")
S = TypeVar("S", np.int64, np.bool_)
#: Things that are kept of all nodes at once, some bytes a node each: as many as the pods of a queue have
#: different requests, labels and tolerations.
MOST_DERIVED: Final = 128
#: Requests of which something is kept that is small: half as many as pods of a zone have, mostly.
MOST_REQUESTS: Final = 4096


#: Stands for a value that is not kept.
_NOT_KEPT: Final[Any] = object()


class Identity:
    """A key that equals that of the same object alone, which it keeps; most values take longer to hash."""

    __slots__ = ("_thing",)

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __hash__(self) -> int:
        return id(self._thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._thing is other._thing


class _Followed:
    """Values computed from the resources of each node, and how many changes they include.

    Attributes:
        values: For the nodes as they are, shape ``(…, n)``; replaced, not changed.
        ahead: For the nodes with one more pod of the same requests, of the same shape.
        is_ahead: For which nodes that is known, shape ``(n,)``.
        until: How many changes are known.
    """

    __slots__ = ("ahead", "is_ahead", "until", "values")

    def __init__(self, values: NDArray[Any], ahead: NDArray[Any], until: int) -> None:
        self.values, self.ahead = values, ahead
        self.is_ahead = np.ones(values.shape[-1], np.bool_)
        self.until = until

    def advance(self, position: int) -> bool:
        """Note that such a pod came to a node; return whether its values were known."""
        known = bool(self.is_ahead[position])
        self.values[..., position] = self.ahead[..., position]
        self.is_ahead[position] = False
        return known

    def put(self, at: list[int], values: NDArray[Any]) -> None:
        """Replace what follows for some nodes as they are, and then with one more such pod."""
        self.values[..., at], self.ahead[..., at] = values[..., : len(at)], values[..., len(at) :]
        self.is_ahead[at] = True


class ResourceView:
    """The resources of nodes, for one pod. Valid under one ``ClusterIndex.reading`` only."""

    def __init__(
        self, index: ClusterIndex, pod: Pod, at: Sequence[int] | None = None, more: Requests = ()
    ) -> None:
        """Look at the nodes.

        Args:
            index: The cluster.
            pod: The pod.
            at: The positions of the only nodes that are looked at: as they are, and then each with one more
                pod. None for all nodes as they are.
            more: What that pod requests.
        """
        #: The cluster.
        self.index = index
        self._nodes = index.nodes
        self._pod = pod
        #: How the release of the pod counts amounts.
        self.reading = pod.reading.amounts
        self._resources: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self._more = ((PODS, 1), *more)
        # Taken before the slots: what does not belong together must not be kept.
        self._derived = index.nodes.derived if at is None else Derived()
        #: The slot of each node, shape ``(n,)``.
        self.slots = self._nodes.order()
        # How many more such pods each node has.
        self._times: NDArray[np.int64] | None = None
        if at is not None:
            slots = self.slots[np.array(at, np.intp)]
            self.slots = np.concatenate((slots, slots))
            self._times = (np.arange(len(self.slots)) >= len(at)).astype(np.int64)

    def derive(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a value that depends on the nodes alone, not on their pods; computed once until one changes.

        Args:
            key: What it is, and of what else it follows.
            compute: Returns it; it must not be changed.
        """
        kept = self._derived.kept
        found: T = kept.get(key, _NOT_KEPT)
        if found is _NOT_KEPT:
            if len(kept) >= MOST_DERIVED:
                kept.clear()
                self._derived.of_requests.clear()
            found = kept[key] = compute()
        return found

    def of_request(self, key: Hashable, request: object, compute: Callable[[], T]) -> T:
        """Return a value that follows from the nodes alone for a request; see ``derive``.

        Args:
            key: What it is.
            request: The request, of which equal pods share one.
            compute: Returns it; what of it is large should be derived for all that it follows from.
        """
        kept = self._derived.of_requests
        found: T | None = kept.get((key, Identity(request)))
        if found is None:
            if len(kept) >= MOST_REQUESTS:
                kept.clear()
            found = kept[key, Identity(request)] = compute()
        return found

    def by_resources(
        self, key: Hashable, compute: Callable[[ResourceView], NDArray[S]], *, lasts: bool = True
    ) -> NDArray[S]:
        """Return values that depend for each node on its own resources, shape ``(…, n)``; do not change them.

        It is computed again for nodes alone on which pods came or went, and once for all nodes with one more
        such pod, since pods that are alike come one after another.

        Args:
            key: What it is, and of what of the pod it follows.
            compute: Returns it for some nodes.
            lasts: Whether the values stay as they are when pods come and go, for every call with the key.
        """
        changes = self._derived.changes
        state = self.derive((key, self.reading, self._held), lambda: self._follow(compute))
        if state.until < len(changes):
            if lasts:
                # Results hold the values as they were.
                state.values = state.values.copy()
            if stale := self._advance(state, changes[state.until :]):
                state.put(stale, self._compute(compute, stale))
            state.until = len(changes)
        values: NDArray[S] = state.values
        return values

    @cached_property
    def _held(self) -> Requests:
        """The resources of its node that the pod will hold."""
        return self._pod.requests + self._pod.held

    def _compute(self, compute: Callable[[ResourceView], NDArray[S]], at: Sequence[int]) -> NDArray[S]:
        return compute(ResourceView(self.index, self._pod, at, self._held))

    def _follow(self, compute: Callable[[ResourceView], NDArray[S]]) -> _Followed:
        both = self._compute(compute, range(len(self.slots)))
        size = len(self.slots)
        return _Followed(both[..., :size], both[..., size:], len(self._derived.changes))

    def _advance(self, state: _Followed, changes: list[tuple[int, Requests | None]]) -> list[int]:
        """Apply changes; return the positions of the nodes for which that takes a computation."""
        positions, stale = self.positions_of_slots(), set[int]()
        for slot, requests in changes:
            position = positions.get(slot)
            # A pod without a node, or on one that is not there, changes nothing.
            if position is not None and (requests != self._held or not state.advance(position)):
                stale.add(position)
        return sorted(stale)

    def positions_of_slots(self) -> dict[int, int]:
        """Return the position of the node of each slot; do not change it."""
        return self.derive(
            "positions", lambda: {slot: position for position, slot in enumerate(self.slots.tolist())}
        )

    def resource(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each node's allocatable amount of a resource and what its pods request, both ``(n,)``.

        Do not change them.
        """
        if name not in self._resources:
            nodes, reading = self._nodes, self.reading
            allocatable = self.derive(("allocatable", name), lambda: self._row(nodes.allocatable, name))
            used = self._used(name)
            if reading != EVERY_AMOUNT:
                used = used + self._used(in_older_release(name, reading))
            self._resources[name] = allocatable, used
        return self._resources[name]

    def _used(self, name: str) -> NDArray[np.int64]:
        used = self._row(self._nodes.used, name)
        if self._times is not None:
            for resource, amount in self._more:
                if resource == name:
                    used = used + amount * self._times
        return used

    def _row(self, table: Table, name: str) -> NDArray[np.int64]:
        row = table.find(name)
        return np.zeros(len(self.slots), np.int64) if row is None else row.take(self.slots)
