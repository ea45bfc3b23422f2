"""What running pods hold of their nodes: requests, terms of affinity, host ports, claims, disks, volumes.

A cluster has few distinct terms, whatever the number of its pods: each is kept once, with its pods on each
node slot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, ItemsView, Iterable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from policies.model.interpod_terms import InterPodTerms
from policies.model.pod import BoundPod
from policies.model.pod_volumes import ClaimVolume, CsiVolume, InlineDisk, PodVolumes
from policies.model.resources import EVERY_ADDRESS, HostPort, Requests
from policies.model.step_counter import StepCounter
from policies.model.storage import Storage
from policies.scheduler.node_table import NodeTable

T = TypeVar("T", bound=Hashable)

#: Steps of an address that a host port is taken at, besides those of each node; of a volume that is attached.
ADDRESS_STEPS, SLOT_STEPS, ATTACHED_STEPS = 40, 1, 30


class Holding(NamedTuple):
    """The share of its node that a pod holds, and whether it was placed by spread constraints of its own."""

    requests: Requests
    terms: InterPodTerms
    ports: tuple[HostPort, ...]
    spread: bool

    @classmethod
    def of(cls, pod: BoundPod) -> Holding:
        """Return the share that a pod holds of its node, or would."""
        return cls(pod.requests + pod.assumed + pod.older, pod.terms, pod.ports, pod.spread)


class HoldingNumbers:
    """Numbers the distinct holdings, of which a cluster has few; one that no pod has is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[Holding, int] = {}
        self._holdings: list[Holding] = []
        self._counts: list[int] = []
        self._free: list[int] = []

    def take(self, holding: Holding) -> int:
        """Return the number of what one more pod holds."""
        number = self._numbers.get(holding)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._holdings[number] = holding
            else:
                number = len(self._holdings)
                self._holdings.append(holding)
                self._counts.append(0)
            self._numbers[holding] = number
        self._counts[number] += 1
        return number

    def copy(self) -> HoldingNumbers:
        """Return numbers of their own for the same holdings."""
        fork = HoldingNumbers()
        fork._numbers, fork._holdings = dict(self._numbers), list(self._holdings)
        fork._counts, fork._free = list(self._counts), list(self._free)
        return fork

    def find(self, number: int) -> Holding:
        """Return the holding of a number."""
        return self._holdings[number]

    def release(self, number: int) -> Holding:
        """Release a number; return its holding."""
        holding = self._holdings[number]
        self._counts[number] -= 1
        if not self._counts[number]:
            del self._numbers[holding]
            self._free.append(number)
        return holding


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


class PortTable:
    """The host ports that pods hold."""

    __slots__ = ("_counts", "_held")

    def __init__(self) -> None:
        self._counts: SlotCounts[HostPort] = SlotCounts()
        self._held: dict[tuple[str, int], set[HostPort]] = {}

    def add(self, ports: Iterable[HostPort], slot: int, amount: int) -> None:
        """Add ports of a pod on a node slot, or take them away."""
        for port in ports:
            if self._counts.add(port, slot, amount):
                self._held.setdefault((port.protocol, port.port), set()).symmetric_difference_update((port,))

    def copy(self) -> PortTable:
        """Return a table of its own."""
        fork = PortTable()
        fork._counts = self._counts.copy()
        fork._held = {key: set(ports) for key, ports in self._held.items()}
        return fork

    def count(
        self, wanted: Iterable[HostPort], slots: int, steps: StepCounter, *, sidecars: bool = True
    ) -> NDArray[np.int64]:
        """Count on every slot what is taken of some ports, shape ``(s,)``; ``0.0.0.0`` is every address.

        Args:
            wanted: The ports.
            slots: How many slots there are.
            steps: Takes the steps.
            sidecars: Whether the ports of sidecars count.
        """
        taken = np.zeros(slots, np.int64)
        for port in wanted:
            held = self._held.get((port.protocol, port.port), ())
            steps.take(len(held), ADDRESS_STEPS + slots * SLOT_STEPS, "host port")
            for other in held:
                if (sidecars or not other.sidecar) and (
                    port.address == other.address or EVERY_ADDRESS in (port.address, other.address)
                ):
                    taken += self._counts.by_slot(other, slots)
        return taken


class VolumeTable:
    """The volumes of running pods.

    Attributes:
        claims: The claims, with the pods that use each on every slot.
        disks: The disks that pods name themselves.
    """

    __slots__ = ("_attached", "_inline", "claims", "disks")

    def __init__(self) -> None:
        self.claims: SlotCounts[ClaimVolume] = SlotCounts()
        self.disks: SlotCounts[InlineDisk] = SlotCounts()
        self._inline: SlotCounts[CsiVolume] = SlotCounts()
        self._attached: AttachedVolumes | None = None

    def add(self, volumes: PodVolumes, slot: int, amount: int) -> None:
        """Add the volumes of a pod on a node slot, or take them away."""
        attached = self._attached
        for claim in volumes.claims:
            self.claims.add(claim, slot, amount)
            if attached is not None:
                attached.add_claim(claim, slot, amount)
        for disk in volumes.disks:
            self.disks.add(disk, slot, amount)
        for volume in volumes.inline:
            self._inline.add(volume, slot, amount)
            if attached is not None:
                attached.add(volume, slot, amount)

    def copy(self) -> VolumeTable:
        """Return a table of its own."""
        fork = VolumeTable()
        fork.claims, fork.disks = self.claims.copy(), self.disks.copy()
        fork._inline = self._inline.copy()
        return fork

    def attached(self, storage: Storage, nodes: NodeTable) -> AttachedVolumes:
        """Return the volumes that nodes have attached: those of their pods, and VolumeAttachments."""
        if self._attached is None or not self._attached.is_of(storage, nodes):
            uses = len(self.claims.items()) + len(self._inline.items()) + len(storage.attachments)
            storage.steps.take(uses + len(nodes.names()), ATTACHED_STEPS, "attached volume")
            self._attached = AttachedVolumes(storage, nodes)
            for claim, slots in self.claims.items():
                for slot, amount in slots.items():
                    self._attached.add_claim(claim, slot, amount)
            for volume, slots in self._inline.items():
                for slot, amount in slots.items():
                    self._attached.add(volume, slot, amount)
        return self._attached


#: The limit of a node that has none: more than any count.
UNLIMITED: Final = 2**62


class AttachedVolumes:
    """The distinct volumes of each CSI driver on every node slot."""

    def __init__(self, storage: Storage, nodes: NodeTable) -> None:
        self._storage, self._version, self._order = storage, storage.version, nodes.order()
        #: How many pods use each volume on every slot.
        self._users: SlotCounts[CsiVolume] = SlotCounts()
        #: How many volumes of each driver are attached, by slot.
        self._counts: dict[str, NDArray[np.int64]] = {}
        #: How many volumes of a driver each slot takes, of drivers that were asked for.
        self._limits: dict[str, NDArray[np.int64]] = {}
        #: The slots that VolumeAttachments name for each volume.
        self._attachments: defaultdict[CsiVolume, set[int]] = defaultdict(set)
        slots = self._slots = dict(zip(nodes.names(), self._order.tolist(), strict=True))
        for attachment in storage.attachments:
            volume, slot = storage.volumes.get(attachment.volume), slots.get(attachment.node)
            # One of an in-tree plugin is not translated here.
            if slot is None or volume is None or volume.csi is None or volume.site.plugin is not None:
                continue
            attached = CsiVolume(attachment.driver, volume.csi.handle)
            if slot not in self._attachments[attached]:
                self._attachments[attached].add(slot)
                self._count(attached.driver, slot, 1)

    def is_of(self, storage: Storage, nodes: NodeTable) -> bool:
        """Return whether it was made of storage and nodes as they are now."""
        return storage is self._storage and storage.version == self._version and nodes.order() is self._order

    def add_claim(self, used: ClaimVolume, slot: int, amount: int) -> None:
        """Add the volume of a claim that pods use, or take it away; a claim that is missing has none."""
        claim = self._storage.claims.get(used.name, used.namespace)
        volume = None if claim is None else self._storage.csi_volume(claim)
        if volume is not None:
            self.add(volume, slot, amount)

    def add(self, volume: CsiVolume, slot: int, amount: int) -> None:
        """Add users of a volume on a slot, or take them away."""
        before = self._users.holders(volume).get(slot, 0)
        self._users.add(volume, slot, amount)
        after = self._users.holders(volume).get(slot, 0)
        if bool(before) != bool(after) and slot not in self._attachments.get(volume, ()):
            self._count(volume.driver, slot, 1 if after else -1)

    def _count(self, driver: str, slot: int, amount: int) -> None:
        counts = self._counts.get(driver)
        if counts is None or len(counts) <= slot:
            counts = self._counts[driver] = _longer(counts, 2 * (slot + 1))
        counts[slot] += amount

    def count(self, driver: str, slots: int) -> NDArray[np.int64]:
        """Count the volumes of a driver on every slot, shape ``(s,)``; valid until the next change."""
        counts = self._counts.get(driver)
        return counts[:slots] if counts is not None and len(counts) >= slots else _longer(counts, slots)

    def limits(self, driver: str, slots: int) -> NDArray[np.int64]:
        """Return how many volumes of a driver each slot takes, shape ``(s,)``."""
        found = self._limits.get(driver)
        if found is None or len(found) < slots:
            found = self._limits[driver] = np.full(slots, UNLIMITED, np.int64)
            for name, limit in self._storage.limits(driver).items():
                if name in self._slots:
                    found[self._slots[name]] = limit
        return found[:slots]

    def used(self, volume: CsiVolume, slots: int) -> NDArray[np.bool_]:
        """Return on which slots a pod uses a volume already, shape ``(s,)``."""
        used = np.zeros(slots, np.bool_)
        used[list(self._users.holders(volume))] = True
        return used


def _longer(counts: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    """Return a copy of some counts, or of none, that has so many."""
    found = np.zeros(size, np.int64)
    if counts is not None:
        found[: len(counts)] = counts
    return found
