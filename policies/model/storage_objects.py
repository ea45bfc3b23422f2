"""The objects that define where volumes are, and how new ones are made.

What is of the wrong type is recorded and read as absent. Source: ``k8s.io/api/core/v1``, ``storage/v1`` and
``k8s.io/component-helpers/storage/volume``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from sys import intern
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, wrong_type
from policies.model.labels import LabelSelector, check_label_selector
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm, read_term
from policies.model.pod_volumes import IN_TREE, CsiVolume, InTreePlugin, csi_volumes
from policies.model.quantity import parse_quantity
from policies.model.topology_keys import BETA_REGION, BETA_ZONE, REGION, ZONE
from policies.model.workload import DEFAULT_NAMESPACE

CLAIM: Final = ("v1", "PersistentVolumeClaim")
VOLUME: Final = ("v1", "PersistentVolume")
STORAGE_CLASS: Final = ("storage.k8s.io/v1", "StorageClass")
CSI_NODE: Final = ("storage.k8s.io/v1", "CSINode")
CSI_DRIVER: Final = ("storage.k8s.io/v1", "CSIDriver")
CSI_CAPACITY: Final = ("storage.k8s.io/v1", "CSIStorageCapacity")
ATTACHMENT: Final = ("storage.k8s.io/v1", "VolumeAttachment")

#: The kinds by the field of a cluster that lists their objects in a request.
STORAGE_LISTS: Final = {
    "persistentVolumeClaims": CLAIM,
    "persistentVolumes": VOLUME,
    "storageClasses": STORAGE_CLASS,
    "csiNodes": CSI_NODE,
    "csiDrivers": CSI_DRIVER,
    "csiStorageCapacities": CSI_CAPACITY,
    "volumeAttachments": ATTACHMENT,
}

#: The class of claims and volumes before it was a field: ``BetaStorageClassAnnotation``.
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
#: On a claim whose binding is complete, the node chosen for one, and the class for claims without one.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
#: On a CSINode: the in-tree plugins whose volumes a CSI driver mounts there.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
#: The provisioner of a class whose volumes are made by hand: ``NotSupportedProvisioner``.
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
#: What separates the zones of one volume in its label: ``LabelMultiZoneDelimiter``.
ZONE_DELIMITER: Final = "__"

#: The labels of a volume that name its zone or region, in the order of VolumeZone.
ZONE_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
#: The mode of a volume that names none.
_FILESYSTEM: Final = "Filesystem"

_METADATA: Final = FieldPath(("metadata",))
_SPEC: Final = FieldPath(("spec",))
_STATUS: Final = FieldPath(("status",))


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


class PersistentVolumeClaim(NamedTuple):
    """A claim.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        uid: Its uid; empty if it is not known.
        shape: What it requests.
        sized: Whether it requests a size.
        volume: The name of its volume; empty while there is none.
        bound: Whether the binding is complete.
        lost: Whether its volume is gone.
        terminating: Whether it is being deleted.
        selected_node: The node for which a volume is being made; None if there is none.
        selector: Which volumes it accepts; None for any.
        owner_uid: The uid of the object that controls it; empty if there is none.
    """

    namespace: str
    name: str
    uid: str
    shape: VolumeShape
    sized: bool
    volume: str
    bound: bool
    lost: bool
    terminating: bool
    selected_node: str | None
    selector: LabelSelector | None
    owner_uid: str


class ClaimReference(NamedTuple):
    """The claim that a volume is bound to, or kept for; without a uid any claim of that name."""

    namespace: str
    name: str
    uid: str

    def is_to(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether it refers to a claim: ``IsVolumeBoundToClaim``."""
        same = (self.namespace, self.name) == (claim.namespace, claim.name)
        return same and self.uid in ("", claim.uid)


class PersistentVolume(NamedTuple):
    """A volume.

    Attributes:
        name: Its name.
        shape: What it offers.
        available: Whether no claim has it, and it may be given to one.
        terminating: Whether it is being deleted.
        claim: The claim that has it, or that it is kept for.
        labels: Its labels, by which claims select it, as long as it is available.
        terms: The terms of its node affinity; None if every node reaches it.
        zones: Its labels of zones and regions, each with the values that a node may have.
        csi: It as its CSI driver knows it; None if no driver limits its attachments.
        plugin: The in-tree plugin of old that it is of; None for a volume of a CSI driver.
        migrated_terms: The terms on nodes on which a CSI driver took that plugin over.
    """

    name: str
    shape: VolumeShape
    available: bool
    terminating: bool
    claim: ClaimReference | None
    labels: Mapping[str, str]
    terms: tuple[NodeSelectorTerm, ...] | None
    zones: tuple[tuple[str, frozenset[str]], ...]
    csi: CsiVolume | None
    plugin: InTreePlugin | None = None
    migrated_terms: tuple[NodeSelectorTerm, ...] | None = None


class StorageClass(NamedTuple):
    """A class of volumes.

    Attributes:
        name: Its name.
        provisioner: What makes its volumes.
        waits: Whether a claim waits for the pod that uses it (WaitForFirstConsumer).
        topologies: Where volumes may be made: the values of labels that a node must have, one of the terms;
            empty for everywhere.
        is_default: Whether claims that name no class get it.
    """

    name: str
    provisioner: str
    waits: bool
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    is_default: bool


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


def read_claim(obj: Mapping[str, Any], found: ErrorList) -> PersistentVolumeClaim:
    """Read a PersistentVolumeClaim."""
    metadata, spec = _parts(obj, found)
    return claim_of_spec(metadata, spec, _SPEC, found)._replace(
        lost=_text(found.mapping(obj.get("status"), _STATUS), "phase", _STATUS, found) == "Lost"
    )


def claim_of_spec(
    metadata: Mapping[str, Any], spec: Mapping[str, Any], path: FieldPath, found: ErrorList
) -> PersistentVolumeClaim:
    """Read a claim from its metadata and its spec, which is at ``path``."""
    annotations = found.labels(metadata.get("annotations"), _METADATA.child("annotations"))
    resources = found.mapping(spec.get("resources"), path.child("resources"))
    requests = found.mapping(resources.get("requests"), path.child("resources", "requests"))
    volume, selector = _text(spec, "volumeName", path, found), spec.get("selector")
    return PersistentVolumeClaim(
        namespace=intern(_text(metadata, "namespace", _METADATA, found) or DEFAULT_NAMESPACE),
        name=_name(metadata, found),
        uid=_text(metadata, "uid", _METADATA, found),
        shape=_shape(spec, annotations, requests.get("storage"), path, found),
        sized="storage" in requests,
        volume=volume,
        bound=bool(volume) and BIND_COMPLETED in annotations,
        lost=False,
        terminating=metadata.get("deletionTimestamp") is not None,
        selected_node=annotations.get(SELECTED_NODE),
        selector=None if selector is None else _selector(selector, path.child("selector"), found),
        owner_uid=_controller_uid(metadata, found),
    )


def read_volume(obj: Mapping[str, Any], found: ErrorList) -> PersistentVolume:
    """Read a PersistentVolume."""
    metadata, spec = _parts(obj, found)
    labels = found.labels(metadata.get("labels"), _METADATA.child("labels"))
    annotations = found.labels(metadata.get("annotations"), _METADATA.child("annotations"))
    capacity = found.mapping(spec.get("capacity"), _SPEC.child("capacity"))
    status = found.mapping(obj.get("status"), _STATUS)
    available = _text(status, "phase", _STATUS, found) == "Available"
    terms = _terms(spec, found)
    plugin = next((IN_TREE[source] for source in IN_TREE.keys() & spec.keys()), None)
    return PersistentVolume(
        name=_name(metadata, found),
        shape=_shape(spec, annotations, capacity.get("storage"), _SPEC, found),
        available=available,
        terminating=metadata.get("deletionTimestamp") is not None,
        claim=_reference(spec.get("claimRef"), found),
        labels=labels if available else {},
        terms=terms,
        zones=tuple(
            (label, frozenset(labels[label].split(ZONE_DELIMITER)))
            for label in ZONE_LABELS
            if label in labels
        ),
        csi=_csi_volume(spec, labels, found),
        plugin=plugin,
        migrated_terms=None if plugin is None else _migrated(terms, labels, plugin),
    )


def read_class(obj: Mapping[str, Any], found: ErrorList) -> StorageClass:
    """Read a StorageClass; without a binding mode it binds at once, as the API server's default has it."""
    metadata = found.mapping(obj.get("metadata"), _METADATA)
    annotations = found.labels(metadata.get("annotations"), _METADATA.child("annotations"))
    mode = _text(obj, "volumeBindingMode", FieldPath(), found)
    return StorageClass(
        name=_name(metadata, found),
        provisioner=intern(_text(obj, "provisioner", FieldPath(), found)),
        waits=mode == "WaitForFirstConsumer",
        topologies=tuple(_topologies(obj, found)),
        is_default=annotations.get(DEFAULT_CLASS) == "true",
    )


def read_csi_node(obj: Mapping[str, Any], found: ErrorList) -> CsiNode:
    """Read a CSINode."""
    metadata, spec = _parts(obj, found)
    annotations = found.labels(metadata.get("annotations"), _METADATA.child("annotations"))
    limits, topology_keys = {}, {}
    for path, driver in found.objects(spec.get("drivers"), _SPEC.child("drivers")):
        name = intern(_text(driver, "name", path, found))
        topology_keys[name] = tuple(_texts(driver.get("topologyKeys"), path.child("topologyKeys"), found))
        allocatable = found.mapping(driver.get("allocatable"), path.child("allocatable"))
        count = found.integer(allocatable.get("count"), path.child("allocatable", "count"))
        if allocatable.get("count") is not None and count is not None:
            limits[name] = count
    migrated = annotations.get(MIGRATED_PLUGINS, "")
    return CsiNode(
        _name(metadata, found), limits, topology_keys, frozenset(filter(None, migrated.split(",")))
    )


def read_csi_driver(obj: Mapping[str, Any], found: ErrorList) -> CsiDriver:
    """Read a CSIDriver."""
    metadata, spec = _parts(obj, found)
    reports = found.flag(spec.get("storageCapacity"), _SPEC.child("storageCapacity"))
    return CsiDriver(_name(metadata, found), reports)


def read_csi_capacity(obj: Mapping[str, Any], found: ErrorList) -> CsiCapacity:
    """Read a CSIStorageCapacity."""
    metadata = found.mapping(obj.get("metadata"), _METADATA)
    field = "capacity" if obj.get("maximumVolumeSize") is None else "maximumVolumeSize"
    limit = _size(obj.get(field), FieldPath((field,)), found)
    topology = obj.get("nodeTopology")
    return CsiCapacity(
        namespace=_text(metadata, "namespace", _METADATA, found) or DEFAULT_NAMESPACE,
        name=_name(metadata, found),
        storage_class=_text(obj, "storageClassName", FieldPath(), found),
        topology=None if topology is None else _selector(topology, FieldPath(("nodeTopology",)), found),
        limit=None if obj.get(field) is None else whole_bytes(limit),
    )


def read_attachment(obj: Mapping[str, Any], found: ErrorList) -> VolumeAttachment:
    """Read a VolumeAttachment."""
    metadata, spec = _parts(obj, found)
    source = found.mapping(spec.get("source"), _SPEC.child("source"))
    return VolumeAttachment(
        _name(metadata, found),
        _text(spec, "nodeName", _SPEC, found),
        _text(spec, "attacher", _SPEC, found),
        _text(source, "persistentVolumeName", _SPEC.child("source"), found),
    )


#: What reads each kind.
READERS: Final = {
    CLAIM: read_claim,
    VOLUME: read_volume,
    STORAGE_CLASS: read_class,
    CSI_NODE: read_csi_node,
    CSI_DRIVER: read_csi_driver,
    CSI_CAPACITY: read_csi_capacity,
    ATTACHMENT: read_attachment,
}


def whole_bytes(size: int) -> int:
    """Return a size in whole bytes, of billionths, rounded up: ``Quantity.Value``.

    >>> whole_bytes(1), whole_bytes(2 * 10**9)
    (1, 2)
    """
    return -(-size // 10**9)


def _parts(obj: Mapping[str, Any], found: ErrorList) -> tuple[dict[str, Any], dict[str, Any]]:
    return found.mapping(obj.get("metadata"), _METADATA), found.mapping(obj.get("spec"), _SPEC)


def _name(metadata: Mapping[str, Any], found: ErrorList) -> str:
    name = metadata.get("name")
    if isinstance(name, str) and name:
        return name
    found.add(wrong_type(_METADATA.child("name"), "a name", name))
    return ""


def _text(parent: Mapping[str, Any], name: str, path: FieldPath, found: ErrorList) -> str:
    return found.text(parent.get(name), path.child(name))


def _texts(raw: object, path: FieldPath, found: ErrorList) -> Iterator[str]:
    for position, text in enumerate(found.items(raw, path)):
        yield intern(found.text(text, path.index(position)))


def _size(raw: object, path: FieldPath, found: ErrorList) -> int:
    size = parse_quantity(raw)
    if size is None:
        found.add(wrong_type(path, "a quantity", raw))
        return 0
    return size


def _selector(raw: object, path: FieldPath, found: ErrorList) -> LabelSelector | None:
    before = found.count
    check_label_selector(raw, path, found)
    return LabelSelector.parse(raw) if isinstance(raw, dict) and found.count == before else None


def _shape(
    spec: Mapping[str, Any],
    annotations: Mapping[str, str],
    size: object,
    path: FieldPath,
    found: ErrorList,
) -> VolumeShape:
    # The annotation goes before the field, even where it is empty.
    named = _text(spec, "storageClassName", path, found)
    return VolumeShape(
        storage_class=intern(annotations.get(CLASS_ANNOTATION, named)),
        size=_size(size, path, found),
        modes=frozenset(_texts(spec.get("accessModes"), path.child("accessModes"), found)),
        volume_mode=intern(_text(spec, "volumeMode", path, found) or _FILESYSTEM),
        attributes_class=_text(spec, "volumeAttributesClassName", path, found),
    )


def _controller_uid(metadata: Mapping[str, Any], found: ErrorList) -> str:
    path = _METADATA.child("ownerReferences")
    for at, reference in found.objects(metadata.get("ownerReferences"), path):
        if reference.get("controller") is True:
            return found.text(reference.get("uid"), at.child("uid"))
    return ""


def _reference(raw: object, found: ErrorList) -> ClaimReference | None:
    if raw is None:
        return None
    path = _SPEC.child("claimRef")
    reference = found.mapping(raw, path)
    namespace, name, uid = (_text(reference, name, path, found) for name in ("namespace", "name", "uid"))
    return ClaimReference(intern(namespace), name, uid)


def _terms(spec: Mapping[str, Any], found: ErrorList) -> tuple[NodeSelectorTerm, ...] | None:
    path = _SPEC.child("nodeAffinity")
    affinity = found.mapping(spec.get("nodeAffinity"), path)
    if affinity.get("required") is None:
        return None
    required = found.mapping(affinity["required"], path.child("required"))
    where = path.child("required", "nodeSelectorTerms")
    return tuple(
        read_term(term, at, found) for at, term in found.objects(required.get("nodeSelectorTerms"), where)
    )


def _csi_volume(spec: Mapping[str, Any], labels: Mapping[str, str], found: ErrorList) -> CsiVolume | None:
    if spec.get("csi") is None:
        zones = labels.get(BETA_ZONE) or labels.get(ZONE) or ""
        return next(csi_volumes(spec, tuple(filter(None, zones.split(ZONE_DELIMITER)))), None)
    path = _SPEC.child("csi")
    source = found.mapping(spec["csi"], path)
    driver, handle = _text(source, "driver", path, found), _text(source, "volumeHandle", path, found)
    return CsiVolume(intern(driver), handle) if driver and handle else None


def _migrated(
    terms: tuple[NodeSelectorTerm, ...] | None, labels: Mapping[str, str], plugin: InTreePlugin
) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms as a CSI driver has them: ``translateTopologyFromInTreeToCSI``."""
    if not plugin.topology_key:
        return terms
    keys = {entry.key for term in terms or () for entry in term.expressions}
    zone = next((key for place in (keys, labels) for key in (ZONE, BETA_ZONE) if key in place), ZONE)
    renamed = {BETA_REGION: REGION} if zone == BETA_ZONE else {}
    added: tuple[NodeRequirement, ...] = ()
    if zone in keys:
        renamed[zone] = plugin.topology_key
    elif values := tuple(sorted(filter(None, labels.get(zone, "").split(ZONE_DELIMITER)))):
        added = (NodeRequirement(plugin.topology_key, NodeOperator.IN, values),)
        terms = terms or (NodeSelectorTerm(),)
    if terms is None:
        return None
    return tuple(
        NodeSelectorTerm(
            tuple(replace(entry, key=renamed.get(entry.key, entry.key)) for entry in term.expressions)
            + added,
            term.fields,
        )
        for term in terms
    )


def _topologies(
    obj: Mapping[str, Any], found: ErrorList
) -> Iterator[tuple[tuple[str, tuple[str, ...]], ...]]:
    for path, term in found.objects(obj.get("allowedTopologies"), FieldPath(("allowedTopologies",))):
        where = path.child("matchLabelExpressions")
        yield tuple(
            (
                _text(expression, "key", at, found),
                tuple(_texts(expression.get("values"), at.child("values"), found)),
            )
            for at, expression in found.objects(term.get("matchLabelExpressions"), where)
        )


def read_claim_templates(obj: Mapping[str, Any], found: ErrorList) -> tuple[PersistentVolumeClaim, ...]:
    """Read the claim templates of a StatefulSet; another object has none."""
    if obj.get("kind") != "StatefulSet":
        return ()
    spec = found.mapping(obj.get("spec"), _SPEC)
    path = _SPEC.child("volumeClaimTemplates")
    return tuple(
        claim_of_spec(
            found.mapping(template.get("metadata"), at.child("metadata")),
            found.mapping(template.get("spec"), at.child("spec")),
            at.child("spec"),
            found,
        )
        for at, template in found.objects(spec.get("volumeClaimTemplates"), path)
    )
