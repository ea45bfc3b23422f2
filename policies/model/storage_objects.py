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
    """The fields that a claim and its volume share."""

    storage_class: str  #: The name of the class; empty without one.
    size: int  #: What is requested, or the capacity, in billionths of a byte.
    modes: frozenset[str]  #: The access modes.
    volume_mode: str  #: ``Filesystem`` or ``Block``.
    attributes_class: str  #: The VolumeAttributesClass; empty without one.


class ClaimState(NamedTuple):
    """The fields of a claim besides its name; most claims of a cluster have the same."""

    shape: VolumeShape  #: What it asks for.
    sized: bool  #: Whether it says how much it asks for.
    bound: bool  #: Whether the binding is complete.
    lost: bool  #: Whether its volume is gone.
    terminating: bool  #: Whether it is being deleted.
    selected_node: str | None  #: The node for which a volume is being made; None if there is none.
    selector: LabelSelector | None  #: Which volumes it accepts; None for any.
    owner_uid: str  #: The uid of the object that controls it; empty if there is none.


class PersistentVolumeClaim(NamedTuple):
    """A claim."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    uid: str  #: Its uid; empty if it is not known.
    volume: str  #: The name of its volume; empty while there is none.
    state: ClaimState  #: What else is known of it; also the claim's own attributes.

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
    """The fields of a volume besides its name; most volumes of a cluster have the same."""

    shape: VolumeShape  #: What a volume offers.
    available: bool  #: Whether no claim has it, and it may be given to one.
    claimed: bool  #: Whether a claim has it, or it is kept for one.
    terminating: bool  #: Whether it is being deleted.
    labels: tuple[tuple[str, str], ...]  #: Its labels, by which claims select it, as long as it is available.
    #: The terms of its node affinity; None if every node reaches it.
    terms: tuple[NodeSelectorTerm, ...] | None
    #: Its labels of zones and regions, each with the values that a node may have.
    zones: tuple[tuple[str, frozenset[str]], ...]
    driver: str  #: The CSI driver that limits its attachments; empty if none does.
    #: The in-tree plugin of old that it is of; None for a volume of a CSI driver.
    plugin: InTreePlugin | None = None
    #: The terms on nodes on which a CSI driver took that plugin over.
    migrated_terms: tuple[NodeSelectorTerm, ...] | None = None


class PersistentVolume(NamedTuple):
    """A volume."""

    name: str  #: Its name.
    site: VolumeSite  #: What it offers, and to whom.
    handle: str = ""  #: As its CSI driver knows it; empty without one.
    #: The namespace of the claim that has it, or that it is kept for; empty without one.
    claim_namespace: str = ""
    claim_name: str = ""  #: The name of that claim.
    claim_uid: str = ""  #: Its uid; empty for any claim of that name.

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
    """A class of volumes."""

    name: str  #: Its name.
    provisioner: str  #: What makes its volumes.
    waits: bool  #: Whether a claim waits for the pod that uses it (WaitForFirstConsumer).
    #: Where volumes may be made: the values of labels that a node must have, one of the terms; empty for
    #: everywhere.
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    is_default: bool  #: Whether claims that name no class get it.
    is_zonal: bool = False  #: Whether each volume is known to be in one zone.

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
    """The limits and topology keys that the CSI drivers of a node report."""

    name: str  #: The name of the node.
    limits: Mapping[str, int]  #: How many volumes of each driver it takes; of others any number.
    #: The labels of the node by which each driver places volumes.
    topology_keys: Mapping[str, tuple[str, ...]]
    migrated: frozenset[str]  #: The in-tree plugins whose volumes a CSI driver mounts there.


class CsiDriver(NamedTuple):
    """A CSI driver, and whether it reports its capacity by topology."""

    name: str
    reports_capacity: bool


class CsiCapacity(NamedTuple):
    """How much a CSI driver has left for a class somewhere."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    storage_class: str  #: The class.
    topology: LabelSelector | None  #: Which nodes reach it; None for none.
    limit: int | None  #: The largest volume that can be made, in bytes; None if that is not known.


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
