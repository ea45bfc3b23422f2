"""The storage of a cluster: claims, volumes, classes, and the capacities and limits of CSI drivers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from policies.model.cluster_kinds import (
    ATTACHMENT,
    CLAIM,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    STORAGE_CLASS,
    STORAGE_LISTS,
    VOLUME,
    Kind,
)
from policies.model.object_table import ObjectTable
from policies.model.pod_volumes import MIGRATED_PROVISIONERS, CsiVolume
from policies.model.step_counter import StepCounter
from policies.model.storage_objects import (
    CsiCapacity,
    CsiDriver,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

Value = TypeVar("Value")

#: Steps of looking at an object of which something is derived.
_OBJECT_STEPS: Final = 4


class Storage:
    """The storage objects among the tables of a cluster. Threads that share it need a lock.

    Attributes:
        claims: The claims.
        volumes: The volumes.
        classes: The classes.
        csi_nodes: The CSINodes, by the names of their nodes.
        attachments: The volumes that are attached to nodes.
        steps: What counts the steps of whoever reads the cluster.
    """

    def __init__(self, tables: Mapping[Kind, ObjectTable[Any]], steps: StepCounter) -> None:
        """Take the tables of a cluster and its counter."""
        self.steps = steps
        self._tables = {kind: tables[kind] for kind in STORAGE_LISTS.values()}
        self.claims: ObjectTable[PersistentVolumeClaim] = tables[CLAIM]
        self.volumes: ObjectTable[PersistentVolume] = tables[VOLUME]
        self.classes: ObjectTable[StorageClass] = tables[STORAGE_CLASS]
        self.csi_nodes: ObjectTable[CsiNode] = tables[CSI_NODE]
        self._csi_drivers: ObjectTable[CsiDriver] = tables[CSI_DRIVER]
        self._csi_capacities: ObjectTable[CsiCapacity] = tables[CSI_CAPACITY]
        self.attachments: ObjectTable[VolumeAttachment] = tables[ATTACHMENT]
        self.claims.compact, self.volumes.compact = self._compact_claim, self._compact_volume
        self._derived: dict[str, tuple[int, Any]] = {}
        #: What many objects have in common, kept once.
        self._shared: dict[Any, Any] = {}

    def copy(self, tables: Mapping[Kind, ObjectTable[Any]], steps: StepCounter) -> Storage:
        """Return the storage of a copy of the tables."""
        fork = Storage(tables, steps)
        fork._shared, fork._derived = self._shared, dict(self._derived)
        return fork

    @property
    def version(self) -> int:
        """Another number after every change."""
        return sum(table.version for table in self._tables.values())

    def is_unread(self, kind: Kind) -> bool:
        """Return whether the objects of a kind could not be read, as far as that is told."""
        return bool(self._tables[kind].unread)

    def knows(self, kind: Kind) -> bool:
        """Return whether the objects of a kind are known: they were listed, or there is one."""
        return self._tables[kind].known

    def reports_capacity(self, driver: str) -> bool:
        """Return whether a CSI driver reports its capacity by topology."""
        entry = self._csi_drivers.get(driver)
        return entry is not None and entry.reports_capacity

    def default_class(self) -> str:
        """Return the class of claims that name none; empty if there is no default.

        Of several the newest is taken, which is not known here: the first by name.
        """
        return self._derive(
            "default",
            (self.classes,),
            lambda: min((entry.name for entry in self.classes if entry.is_default), default=""),
        )

    def free_volumes(self, storage_class: str) -> list[PersistentVolume]:
        """Return the volumes of a class that any claim may be given, the smallest first."""
        return self._derive("free", (self.volumes,), self._free_volumes).get(storage_class, [])

    def volumes_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes of a claim's class that are kept for that claim."""
        kept = self._derive("kept", (self.volumes, self.claims), self._kept_volumes).get(
            (claim.namespace, claim.name), ()
        )
        return [
            volume
            for volume in kept
            if volume.is_for(claim) and volume.shape.storage_class == claim.shape.storage_class
        ]

    def capacities(self, storage_class: str) -> list[CsiCapacity]:
        """Return the capacities that CSI drivers have left for a class."""
        return self._derive("capacities", (self._csi_capacities,), self._capacities).get(storage_class, [])

    def limits(self, driver: str) -> Mapping[str, int]:
        """Return how many volumes of a driver each node takes, by its name, where that is limited."""
        return self._derive("limits", (self.csi_nodes,), self._limits).get(driver, {})

    def migrated_nodes(self, plugin: str) -> frozenset[str]:
        """Return the names of the nodes on which a CSI driver mounts the volumes of an in-tree plugin."""
        return self._derive("migrated", (self.csi_nodes,), self._migrated).get(plugin, frozenset())

    def csi_volume(self, claim: PersistentVolumeClaim) -> CsiVolume | None:
        """Return the volume of a claim as it counts towards a driver's limit; None if it does not.

        A claim without a volume counts as one that its class will make. Source: ``getCSIDriverInfo``,
        ``nodevolumelimits/csi.go``, Kubernetes 1.36.
        """
        volume = self.volumes.get(claim.volume) if claim.volume else None
        if volume is not None:
            return volume.csi
        found = self.classes.get(claim.shape.storage_class)
        if found is None or not found.provisioner:
            return None
        driver = MIGRATED_PROVISIONERS.get(found.provisioner, found.provisioner)
        # No handle begins so.
        return CsiVolume(driver, f"\0{claim.namespace}/{claim.name}")

    def _compact_claim(self, entry: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Return a claim that shares with others, and with its volume, what is equal."""
        if entry.bound and not entry.state.owner_uid and entry.state.selector is None:
            entry = entry._replace(state=self._share(entry.state))
        else:
            entry = entry.with_state(shape=self._share(entry.shape))
        volume = self.volumes.get(entry.volume)
        if volume is None or not volume.is_for(entry):
            return entry
        uid = volume.claim_uid or entry.uid
        return entry._replace(name=volume.claim_name, uid=uid, volume=volume.name)

    def _compact_volume(self, entry: PersistentVolume) -> PersistentVolume:
        """Return a volume that shares with others, and with its claim, what is equal."""
        site = entry.site
        if site.available:
            site = site._replace(shape=self._share(site.shape), zones=self._share(site.zones))
            entry = entry._replace(site=site._replace(terms=self._share(site.terms)))
        else:
            entry = entry._replace(site=self._share(site))
        claim = self.claims.get(entry.claim_name, entry.claim_namespace)
        if claim is None or not claim.uid or claim.uid != entry.claim_uid:
            return entry
        name = claim.volume if claim.volume == entry.name else entry.name
        return entry._replace(name=name, claim_name=claim.name, claim_uid=claim.uid)

    def _share(self, value: Value) -> Value:
        shared: Value = self._shared.setdefault(value, value)
        return shared

    def _derive(self, name: str, tables: tuple[ObjectTable[Any], ...], compute: Callable[[], Value]) -> Value:
        """Return a value that follows from the objects of tables, computed once for each version of them."""
        version = sum(table.version for table in tables)
        known, value = self._derived.get(name, (-1, None))
        if known != version:
            self.steps.take(sum(map(len, tables)), _OBJECT_STEPS, "storage object")
            value = compute()
            self._derived[name] = version, value
        return value  # type: ignore[no-any-return]  # what ``compute`` returned

    def _free_volumes(self) -> dict[str, list[PersistentVolume]]:
        free: defaultdict[str, list[PersistentVolume]] = defaultdict(list)
        for volume in self.volumes:
            if volume.site.available and not volume.site.claimed and not volume.site.terminating:
                free[volume.shape.storage_class].append(volume)
        for volumes in free.values():
            volumes.sort(key=lambda volume: volume.shape.size)
        return free

    def _kept_volumes(self) -> dict[tuple[str, str], list[PersistentVolume]]:
        kept: defaultdict[tuple[str, str], list[PersistentVolume]] = defaultdict(list)
        for volume in self.volumes:
            # One that is in use is not looked for any more.
            if volume.site.claimed and not self._is_in_use(volume):
                kept[volume.claim_namespace, volume.claim_name].append(volume)
        return kept

    def _is_in_use(self, volume: PersistentVolume) -> bool:
        claim = self.claims.get(volume.claim_name, volume.claim_namespace)
        return claim is not None and claim.bound and claim.volume == volume.name

    def _capacities(self) -> dict[str, list[CsiCapacity]]:
        capacities: defaultdict[str, list[CsiCapacity]] = defaultdict(list)
        for capacity in self._csi_capacities:
            capacities[capacity.storage_class].append(capacity)
        return capacities

    def _migrated(self) -> dict[str, frozenset[str]]:
        names: defaultdict[str, set[str]] = defaultdict(set)
        for node in self.csi_nodes:
            for plugin in node.migrated:
                names[plugin].add(node.name)
        return {plugin: frozenset(found) for plugin, found in names.items()}

    def _limits(self) -> dict[str, dict[str, int]]:
        limits: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for node in self.csi_nodes:
            for driver, limit in node.limits.items():
                limits[driver][node.name] = limit
        return limits
