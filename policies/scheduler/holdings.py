"""The terms of affinity and the host ports that running pods hold, by node.

A cluster has few distinct terms, whatever the number of its pods: each is kept once, with its pods on each
node slot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from policies.model.container_needs import EVERY_ADDRESS, HostPort
from policies.model.interpod_terms import InterPodTerm, InterPodTerms

T = TypeVar("T", bound=Hashable)


class SlotCounts(Generic[T]):
    """How many times each thing is held on each node slot."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[T, dict[int, int]] = {}

    def add(self, thing: T, slot: int, amount: int) -> bool:
        """Add an amount, or take it away; return whether the thing came or went with it."""
        slots = self._counts.get(thing)
        if slots is None:
            self._counts[thing] = {slot: amount}
            return True
        slots[slot] = slots.get(slot, 0) + amount
        if not slots[slot]:
            del slots[slot]
        if not slots:
            del self._counts[thing]
            return True
        return False

    def copy(self) -> SlotCounts[T]:
        """Return counts of their own."""
        fork: SlotCounts[T] = SlotCounts()
        fork._counts = {thing: dict(slots) for thing, slots in self._counts.items()}
        return fork

    def holders(self, thing: T) -> Mapping[int, int]:
        """Return how many hold a thing, by node slot."""
        return self._counts.get(thing, {})

    def items(self) -> ItemsView[T, dict[int, int]]:
        """Return how many hold each thing, by node slot."""
        return self._counts.items()

    def by_slot(self, thing: T, slots: int) -> NDArray[np.int64]:
        """Return how many hold a thing on every slot, shape ``(s,)``."""
        held = np.zeros(slots, np.int64)
        counts = self._counts.get(thing)
        if counts:
            held[list(counts)] = list(counts.values())
        return held


class TermTable:
    """The terms of running pods that could be about an incoming pod."""

    __slots__ = ("_by_name", "_by_selector", "counts")

    def __init__(self) -> None:
        self.counts: SlotCounts[InterPodTerm] = SlotCounts()
        # By the name of a namespace, and those that select namespaces by their labels.
        self._by_name: defaultdict[str, dict[InterPodTerm, None]] = defaultdict(dict)
        self._by_selector: dict[InterPodTerm, None] = {}

    def __len__(self) -> int:
        """Return how many distinct terms there are."""
        return len(self.counts.items())

    def add(self, terms: Iterable[InterPodTerm], slot: int, amount: int) -> None:
        """Add terms of a pod on a node slot, or take them away."""
        for term in terms:
            if self.counts.add(term, slot, amount):
                self._register(term, present=amount > 0)

    def copy(self) -> TermTable:
        """Return a table of its own."""
        fork = TermTable()
        fork.counts = self.counts.copy()
        fork._by_name = defaultdict(dict, {name: dict(terms) for name, terms in self._by_name.items()})
        fork._by_selector = dict(self._by_selector)
        return fork

    def selecting(
        self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]
    ) -> Iterator[InterPodTerm]:
        """Yield the terms that select a pod."""
        for term in (*self._by_name.get(namespace, ()), *self._by_selector):
            if term.selects(namespace, namespace_labels, labels):
                yield term

    def _register(self, term: InterPodTerm, *, present: bool) -> None:
        if term.namespace_selector is not None:
            registers = [self._by_selector]
        else:
            registers = [self._by_name[name] for name in term.namespaces]
        for register in registers:
            if present:
                register[term] = None
            else:
                register.pop(term, None)


def signed_preferences(terms: InterPodTerms) -> Iterator[InterPodTerm]:
    """Yield the preferred terms of a pod, the weights of anti-affinity below zero."""
    yield from terms.preferred_affinity
    for term in terms.preferred_anti_affinity:
        yield replace(term, weight=-term.weight)


class PortTable:
    """The host ports that pods hold."""

    __slots__ = ("_addresses", "_counts")

    def __init__(self) -> None:
        self._counts: SlotCounts[HostPort] = SlotCounts()
        self._addresses: dict[tuple[str, int], set[str]] = {}

    def add(self, ports: Iterable[HostPort], slot: int, amount: int) -> None:
        """Add ports of a pod on a node slot, or take them away."""
        for port in ports:
            self._counts.add(port, slot, amount)
            self._addresses.setdefault((port.protocol, port.port), set()).add(port.address)

    def copy(self) -> PortTable:
        """Return a table of its own."""
        fork = PortTable()
        fork._counts = self._counts.copy()
        fork._addresses = {key: set(addresses) for key, addresses in self._addresses.items()}
        return fork

    def count(self, wanted: Iterable[HostPort], slots: int, *, sidecars: bool = True) -> NDArray[np.int64]:
        """Count on every slot what is taken of some ports, shape ``(s,)``; ``0.0.0.0`` is every address.

        Args:
            wanted: The ports.
            slots: How many slots there are.
            sidecars: Whether the ports of sidecars count.
        """
        holders = (False, True) if sidecars else (False,)
        taken = np.zeros(slots, np.int64)
        for port in wanted:
            addresses = self._addresses.get((port.protocol, port.port), set())
            if port.address != EVERY_ADDRESS:
                addresses = addresses & {port.address, EVERY_ADDRESS}
            for address, sidecar in product(addresses, holders):
                taken += self._counts.by_slot(port._replace(address=address, sidecar=sidecar), slots)
        return taken
