"""The objects that define where volumes are, and how new ones are made.

Source: ``k8s.io/api/core/v1``, ``storage/v1`` and ``k8s.io/component-helpers/storage/volume``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from policies.model.labels import LabelSelector
from policies.model.node_affinity import NodeSelectorTerm
from policies.model.pod_volumes import IN_TREE, CsiVolume, InTreePlugin
from policies.model.topology_keys import BETA_REGION, BETA_ZONE, REGION, ZONE

#: The provisioner of a class whose volumes are made by hand: ``NotSupportedProvisioner``.
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
#: The labels of a volume that name its zone or region, in the order of VolumeZone.
ZONE_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
#: The labels of nodes that name the same zones; CSI drivers have their own.
SAME_ZONES: Final = (
    ZONE,
    BETA_ZONE,
    *(plugin.topology_key for plugin in IN_TREE.values() if plugin.topology_key),
)


class VolumeShape(NamedTuple):
    """The fields that a claim and its volume share.

    Attributes:
        storage_class: The name of the class; empty without one.
        size: What is requested, or the capacity, in billionths of a byte.
        modes: The access modes.
        volume_mode: ``Filesystem`` or ``Block``.
        attributes_class: The VolumeAttributesClass; empty without one.
    """

    storage_class: str
    size: int
    modes: frozenset[str]
    volume_mode: str
    attributes_class: str


class ClaimState(NamedTuple):
    """The fields of a claim besides its name; most claims of a cluster have the same.

    Attributes:
        shape: What it asks for.
        sized: Whether it says how much it asks for.
        bound: Whether the binding is complete.
        lost: Whether its volume is gone.
        terminating: Whether it is being deleted.
        selected_node: The node for which a volume is being made; None if there is none.
        selector: Which volumes it accepts; None for any.
        owner_uid: The uid of the object that controls it; empty if there is none.
    """

    shape: VolumeShape
    sized: bool
    bound: bool
    lost: bool
    terminating: bool
    selected_node: str | None
    selector: LabelSelector | None
    owner_uid: str


class PersistentVolumeClaim(NamedTuple):
    """A claim.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        uid: Its uid; empty if it is not known.
        volume: The name of its volume; empty while there is none.
        state: What else is known of it; also the claim's own attributes.
    """

    namespace: str
    name: str
    uid: str
    volume: str
    state: ClaimState

    @property
    def shape(self) -> VolumeShape:
        """The requested volume."""
        return self.state.shape

    @property
    def bound(self) -> bool:
        """Whether the binding is complete."""
        return self.state.bound

    def with_state(self, **changes: Any) -> PersistentVolumeClaim:
        """Return the claim with another state."""
        return self._replace(state=self.state._replace(**changes))


class VolumeSite(NamedTuple):
    """The fields of a volume besides its name; most volumes of a cluster have the same.

    Attributes:
        shape: What a volume offers.
        available: Whether no claim has it, and it may be given to one.
        claimed: Whether a claim has it, or it is kept for one.
        terminating: Whether it is being deleted.
        labels: Its labels, by which claims select it, as long as it is available.
        terms: The terms of its node affinity; None if every node reaches it.
        zones: Its labels of zones and regions, each with the values that a node may have.
        driver: The CSI driver that limits its attachments; empty if none does.
        plugin: The in-tree plugin of old that it is of; None for a volume of a CSI driver.
        migrated_terms: The terms on nodes on which a CSI driver took that plugin over.
    """

    shape: VolumeShape
    available: bool
    claimed: bool
    terminating: bool
    labels: tuple[tuple[str, str], ...]
    terms: tuple[NodeSelectorTerm, ...] | None
    zones: tuple[tuple[str, frozenset[str]], ...]
    driver: str
    plugin: InTreePlugin | None = None
    migrated_terms: tuple[NodeSelectorTerm, ...] | None = None


class PersistentVolume(NamedTuple):
    """A volume.

    Attributes:
        name: Its name.
        site: What it offers, and to whom.
        handle: As its CSI driver knows it; empty without one.
        claim_namespace: The namespace of the claim that has it, or that it is kept for; empty without one.
        claim_name: The name of that claim.
        claim_uid: Its uid; empty for any claim of that name.
    """

    name: str
    site: VolumeSite
    handle: str = ""
    claim_namespace: str = ""
    claim_name: str = ""
    claim_uid: str = ""

    @property
    def shape(self) -> VolumeShape:
        """The offered storage."""
        return self.site.shape

    @property
    def csi(self) -> CsiVolume | None:
        """It as its CSI driver knows it; None if no driver limits its attachments."""
        return CsiVolume(self.site.driver, self.handle) if self.site.driver else None

    def is_for(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether it is bound to a claim, or kept for it: ``IsVolumeBoundToClaim``."""
        same = (self.claim_namespace, self.claim_name) == (claim.namespace, claim.name)
        return self.site.claimed and same and self.claim_uid in ("", claim.uid)

    def values_of(self, key: str) -> frozenset[str] | None:
        """Return the values of a label that the nodes have which reach it; None if it does not say."""
        terms, zones = self.site.terms or (), dict(self.site.zones)
        for name in _names_of(key):
            found = _any_of([term.values_of(name) for term in terms])
            if found is None:
                found = zones.get(name)
            if found is not None:
                return found
        return None


class StorageClass(NamedTuple):
    """A class of volumes.

    Attributes:
        name: Its name.
        provisioner: What makes its volumes.
        waits: Whether a claim waits for the pod that uses it (WaitForFirstConsumer).
        topologies: Where volumes may be made: the values of labels that a node must have, one of the terms;
            empty for everywhere.
        is_default: Whether claims that name no class get it.
        is_zonal: Whether each volume is known to be in one zone.
    """

    name: str
    provisioner: str
    waits: bool
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    is_default: bool
    is_zonal: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The names by which claims have it: its own, and the empty one of claims without a class."""
        return (self.name, "") if self.is_default else (self.name,)

    def values_of(self, key: str) -> frozenset[str] | None:
        """Return the values of a label of nodes for which it makes volumes; None if it does not say."""
        # Volumes that are made by hand are anywhere.
        terms = () if self.provisioner == NO_PROVISIONER else self.topologies
        for name in _names_of(key):
            listed = ([frozenset(values) for own, values in term if own == name] for term in terms)
            found = _any_of([frozenset.intersection(*each) if each else None for each in listed])
            if found is not None:
                return found
        return None


class CsiNode(NamedTuple):
    """The limits and topology keys that the CSI drivers of a node report.

    Attributes:
        name: The name of the node.
        limits: How many volumes of each driver it takes; of others any number.
        topology_keys: The labels of the node by which each driver places volumes.
        migrated: The in-tree plugins whose volumes a CSI driver mounts there.
    """

    name: str
    limits: Mapping[str, int]
    topology_keys: Mapping[str, tuple[str, ...]]
    migrated: frozenset[str]


class CsiDriver(NamedTuple):
    """A CSI driver, and whether it reports its capacity by topology."""

    name: str
    reports_capacity: bool


class CsiCapacity(NamedTuple):
    """How much a CSI driver has left for a class somewhere.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        storage_class: The class.
        topology: Which nodes reach it; None for none.
        limit: The largest volume that can be made, in bytes; None if that is not known.
    """

    namespace: str
    name: str
    storage_class: str
    topology: LabelSelector | None
    limit: int | None


class VolumeAttachment(NamedTuple):
    """A volume that is attached to a node, or on its way there."""

    name: str
    node: str
    driver: str
    volume: str


def whole_bytes(size: int) -> int:
    """Return a size in whole bytes, of billionths, rounded up: ``Quantity.Value``.

    >>> whole_bytes(1), whole_bytes(2 * 10**9)
    (1, 2)
    """
    return -(-size // 10**9)


def _names_of(key: str) -> tuple[str, ...]:
    """Return the labels of nodes that have the domains of a topology key, that one first."""
    return tuple(dict.fromkeys((key, *SAME_ZONES))) if key in {ZONE, BETA_ZONE} else (key,)


def _any_of(terms: list[frozenset[str] | None]) -> frozenset[str] | None:
    """Return the values that terms allow of which one must hold; None if any value is allowed."""
    known = [values for values in terms if values is not None]
    return frozenset[str]().union(*known) if known and len(known) == len(terms) else None
