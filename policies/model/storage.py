"""The storage of a cluster: claims, volumes, classes, and the capacities and limits of CSI drivers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from policies.manifests.fields import ErrorList
from policies.model.pod_volumes import MIGRATED_PROVISIONERS, CsiVolume
from policies.model.storage_objects import (
    ATTACHMENT,
    CLAIM,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    READERS,
    STORAGE_CLASS,
    VOLUME,
    ClaimReference,
    CsiCapacity,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from policies.model.workload import DEFAULT_NAMESPACE

#: The apiVersion and kind of an object.
Kind = tuple[str, str]
Value = TypeVar("Value")

#: The labels of a volume that has a claim: they do not matter any more.
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
#: The kinds that have a namespace.
_NAMESPACED: Final = frozenset({CLAIM, CSI_CAPACITY})


class Storage:
    """The storage objects of a cluster. Threads that share it need a lock.

    Attributes:
        version: Another number after every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._tables: dict[Kind, dict[Any, Any]] = {kind: {} for kind in READERS}
        #: The kinds whose table no copy shares.
        self._own: set[Kind] = set(READERS)
        self._listed: frozenset[Kind] = frozenset()
        self._derived: dict[str, tuple[int, Any]] = {}
        #: What many objects have in common, kept once.
        self._shared: dict[Any, Any] = {}

    def copy(self) -> Storage:
        """Return storage of its own with the same objects; a table is copied when one of the two changes."""
        twin = Storage()
        twin._shared = self._shared
        twin._tables, twin._own, twin._listed = dict(self._tables), set(), self._listed
        twin.version, twin._derived = self.version, dict(self._derived)
        self._own = set()
        return twin

    def list_kinds(self, kinds: Iterable[Kind]) -> None:
        """Take note that all objects of some kinds are known, also where there is none."""
        self._listed |= frozenset(kinds)

    def knows(self, kind: Kind) -> bool:
        """Return whether the objects of a kind are known: they were listed, or there is one."""
        return kind in self._listed or bool(self._tables[kind])

    def apply(self, kind: Kind, obj: Mapping[str, Any], found: ErrorList) -> None:
        """Take an object in, in place of the one of its namespace and name; one with errors is left out."""
        before = found.count
        entry: Any = READERS[kind](obj, found)
        if found.count == before:
            self.put(kind, entry)
        else:
            self.remove(kind, getattr(entry, "namespace", ""), entry.name)

    def put(self, kind: Kind, entry: Any) -> None:
        """Add an object, or replace the one of its namespace and name."""
        if isinstance(entry, PersistentVolumeClaim):
            entry = self._compact_claim(entry)
        elif isinstance(entry, PersistentVolume):
            entry = self._compact_volume(entry)
        key = (entry.namespace, entry.name) if kind in _NAMESPACED else entry.name
        if self._tables[kind].get(key) != entry:
            self._owned(kind)[key] = entry

    def remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Forget an object; one that was never there changes nothing."""
        key = (namespace or DEFAULT_NAMESPACE, name) if kind in _NAMESPACED else name
        if key in self._tables[kind]:
            del self._owned(kind)[key]

    def names(self, kind: Kind) -> Collection[tuple[str, str]]:
        """Return the namespace, empty for a kind without, and the name of each object of a kind."""
        keys = self._tables[kind]
        return keys if kind in _NAMESPACED else [("", name) for name in keys]

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim, or None if there is none of that name."""
        return self._tables[CLAIM].get((namespace, name))

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume, or None if there is none of that name."""
        return self._tables[VOLUME].get(name)

    def storage_class(self, name: str) -> StorageClass | None:
        """Return a class, or None if there is none of that name."""
        return self._tables[STORAGE_CLASS].get(name)

    def csi_node(self, name: str) -> CsiNode | None:
        """Return the CSINode of a node, or None if there is none."""
        return self._tables[CSI_NODE].get(name)

    def reports_capacity(self, driver: str) -> bool:
        """Return whether a CSI driver reports its capacity by topology."""
        entry = self._tables[CSI_DRIVER].get(driver)
        return entry is not None and entry.reports_capacity

    def default_class(self) -> str:
        """Return the class of claims that name none; empty if there is no default.

        Of several the newest is taken, which is not known here: the first by name.
        """
        classes = self._tables[STORAGE_CLASS].values()
        return min((entry.name for entry in classes if entry.is_default), default="")

    def free_volumes(self, storage_class: str) -> list[PersistentVolume]:
        """Return the volumes of a class that any claim may be given, the smallest first."""
        return self._derive("free", self._free_volumes).get(storage_class, [])

    def volumes_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes of a claim's class that are kept for that claim."""
        kept = self._derive("kept", self._kept_volumes).get((claim.namespace, claim.name), ())
        return [
            volume
            for volume in kept
            if volume.claim is not None
            and volume.claim.is_to(claim)
            and volume.shape.storage_class == claim.shape.storage_class
        ]

    def capacities(self, storage_class: str) -> list[CsiCapacity]:
        """Return the capacities that CSI drivers have left for a class."""
        return self._derive("capacities", self._capacities).get(storage_class, [])

    def limits(self, driver: str) -> Mapping[str, int]:
        """Return how many volumes of a driver each node takes, by its name, where that is limited."""
        return self._derive("limits", self._limits).get(driver, {})

    def migrated_nodes(self, plugin: str) -> frozenset[str]:
        """Return the names of the nodes on which a CSI driver mounts the volumes of an in-tree plugin."""
        nodes: Iterable[CsiNode] = self._tables[CSI_NODE].values()
        return frozenset(node.name for node in nodes if plugin in node.migrated)

    def attachments(self) -> Iterable[VolumeAttachment]:
        """Return the volumes that are attached to nodes."""
        return self._tables[ATTACHMENT].values()

    def csi_volume(self, claim: PersistentVolumeClaim) -> CsiVolume | None:
        """Return the volume of a claim as it counts towards a driver's limit; None if it does not.

        A claim without a volume counts as one that its class will make. Source: ``getCSIDriverInfo``,
        ``nodevolumelimits/csi.go``, Kubernetes 1.36.
        """
        volume = self.volume(claim.volume) if claim.volume else None
        if volume is not None:
            return volume.csi
        found = self.storage_class(claim.shape.storage_class)
        if found is None or not found.provisioner:
            return None
        driver = MIGRATED_PROVISIONERS.get(found.provisioner, found.provisioner)
        # No handle begins so.
        return CsiVolume(driver, f"\0{claim.namespace}/{claim.name}")

    def _compact_claim(self, entry: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Return a claim that shares with others what is equal: a cluster has thousands."""
        entry = entry._replace(shape=self._share(entry.shape))
        volume = self.volume(entry.volume)
        if volume is None or volume.claim is None or not volume.claim.is_to(entry):
            return entry
        _, name, uid = volume.claim
        return entry._replace(name=name, uid=uid or entry.uid, volume=volume.name)

    def _compact_volume(self, entry: PersistentVolume) -> PersistentVolume:
        """Return a volume that shares with others, and with its claim, what is equal."""
        claim = None if entry.claim is None else self.claim(entry.claim.namespace, entry.claim.name)
        if claim is not None and entry.claim == (claim.namespace, claim.name, claim.uid):
            entry = entry._replace(claim=ClaimReference(claim.namespace, claim.name, claim.uid))
            if claim.volume == entry.name:
                entry = entry._replace(name=claim.volume)
        return entry._replace(
            shape=self._share(entry.shape),
            terms=self._share(entry.terms),
            zones=self._share(entry.zones),
            labels=entry.labels or NO_LABELS,
        )

    def _share(self, value: Value) -> Value:
        shared: Value = self._shared.setdefault(value, value)
        return shared

    def _owned(self, kind: Kind) -> dict[Any, Any]:
        """Return the table of a kind to change it."""
        self.version += 1
        if kind not in self._own:
            self._tables[kind] = dict(self._tables[kind])
            self._own.add(kind)
        return self._tables[kind]

    def _derive(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return a value computed from the objects, once for each state of them."""
        version, value = self._derived.get(name, (-1, None))
        if version != self.version:
            value = compute()
            self._derived[name] = self.version, value
        return value  # type: ignore[no-any-return]  # what ``compute`` returned

    def _free_volumes(self) -> dict[str, list[PersistentVolume]]:
        free: defaultdict[str, list[PersistentVolume]] = defaultdict(list)
        for volume in self._tables[VOLUME].values():
            if volume.available and volume.claim is None and not volume.terminating:
                free[volume.shape.storage_class].append(volume)
        for volumes in free.values():
            volumes.sort(key=lambda volume: volume.shape.size)
        return free

    def _kept_volumes(self) -> dict[tuple[str, str], list[PersistentVolume]]:
        kept: defaultdict[tuple[str, str], list[PersistentVolume]] = defaultdict(list)
        for volume in self._tables[VOLUME].values():
            if volume.claim is not None:
                kept[volume.claim.namespace, volume.claim.name].append(volume)
        return kept

    def _capacities(self) -> dict[str, list[CsiCapacity]]:
        capacities: defaultdict[str, list[CsiCapacity]] = defaultdict(list)
        for capacity in self._tables[CSI_CAPACITY].values():
            capacities[capacity.storage_class].append(capacity)
        return capacities

    def _limits(self) -> dict[str, dict[str, int]]:
        limits: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for node in self._tables[CSI_NODE].values():
            for driver, limit in node.limits.items():
                limits[driver][node.name] = limit
        return limits
