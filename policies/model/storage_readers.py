"""The kept parts of objects that define where volumes are, read from those of the API.

What is of the wrong type is recorded and read as absent. Source: ``k8s.io/api/core/v1``, ``storage/v1`` and
``k8s.io/component-helpers/storage/volume``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, Final

from policies.manifests.fields import METADATA, SPEC, STATUS, ErrorList, FieldPath, wrong_type
from policies.model.cluster_kinds import (
    ATTACHMENT,
    CLAIM,
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    STORAGE_CLASS,
    VOLUME,
)
from policies.model.labels import read_label_selector
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm, read_term
from policies.model.pod_volumes import IN_TREE, CsiVolume, InTreePlugin, csi_volumes
from policies.model.quantity import parse_quantity
from policies.model.storage_objects import (
    ZONE_LABELS,
    ClaimState,
    CsiCapacity,
    CsiDriver,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeShape,
    VolumeSite,
    whole_bytes,
)
from policies.model.topology_keys import BETA_REGION, BETA_ZONE, REGION, ZONE
from policies.model.workload import DEFAULT_NAMESPACE

#: The class of claims and volumes before it was a field: ``BetaStorageClassAnnotation``.
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
#: On a claim whose binding is complete, the node chosen for one, and the class for claims without one.
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
#: On a CSINode: the in-tree plugins whose volumes a CSI driver mounts there.
_MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
#: What separates the zones of one volume in its label: ``LabelMultiZoneDelimiter``.
_ZONE_DELIMITER: Final = "__"

#: The provisioners of disks that are in one zone each, by default.
_ZONAL: Final = frozenset(
    name
    for source in ("awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "cinder")
    for name in (IN_TREE[source].provisioner, IN_TREE[source].driver)
)
#: The parameters in which Azure's disks say how they are replicated, in lower case.
_SKU: Final = frozenset({"skuname", "storageaccounttype"})

#: The mode of a volume that names none.
_FILESYSTEM: Final = "Filesystem"


def read_claim(obj: Mapping[str, Any], found: ErrorList) -> PersistentVolumeClaim:
    """Read a PersistentVolumeClaim."""
    metadata, spec = _parts(obj, found)
    return claim_of_spec(metadata, spec, SPEC, found).with_state(
        lost=_text(found.mapping(obj.get("status"), STATUS), "phase", STATUS, found) == "Lost"
    )


def claim_of_spec(
    metadata: Mapping[str, Any], spec: Mapping[str, Any], path: FieldPath, found: ErrorList
) -> PersistentVolumeClaim:
    """Read a claim from its metadata and its spec, which is at ``path``."""
    selecting = path.child("selector")
    annotations = found.labels(metadata.get("annotations"), METADATA.child("annotations"))
    resources = found.mapping(spec.get("resources"), path.child("resources"))
    requests = found.mapping(resources.get("requests"), path.child("resources", "requests"))
    volume = _text(spec, "volumeName", path, found)
    bound = bool(volume) and _BIND_COMPLETED in annotations
    return PersistentVolumeClaim(
        namespace=intern(_text(metadata, "namespace", METADATA, found) or DEFAULT_NAMESPACE),
        name=found.name(metadata, METADATA),
        uid=_text(metadata, "uid", METADATA, found),
        volume=volume,
        state=ClaimState(
            shape=_shape(spec, annotations, requests.get("storage"), path, found),
            sized="storage" in requests,
            bound=bound,
            lost=False,
            terminating=metadata.get("deletionTimestamp") is not None,
            # Provisioners leave it on claims that they are done with, thousands in a cluster.
            selected_node=None if bound else annotations.get(_SELECTED_NODE),
            selector=found.once(
                "selector", lambda: read_label_selector(spec.get("selector"), selecting, found)
            ),
            owner_uid=_controller_uid(metadata, found),
        ),
    )


def read_volume(obj: Mapping[str, Any], found: ErrorList) -> PersistentVolume:
    """Read a PersistentVolume."""
    metadata, spec = _parts(obj, found)
    labels = found.labels(metadata.get("labels"), METADATA.child("labels"))
    annotations = found.labels(metadata.get("annotations"), METADATA.child("annotations"))
    capacity = found.mapping(spec.get("capacity"), SPEC.child("capacity"))
    status = found.mapping(obj.get("status"), STATUS)
    available = _text(status, "phase", STATUS, found) == "Available"
    terms = found.once("terms", lambda: _terms(spec, found))
    plugin = next((IN_TREE[source] for source in IN_TREE.keys() & spec.keys()), None)
    zones = (
        (label, frozenset(labels[label].split(_ZONE_DELIMITER))) for label in ZONE_LABELS if label in labels
    )
    csi = _csi_volume(spec, labels, found)
    name = found.name(metadata, METADATA)
    site = VolumeSite(
        shape=_shape(spec, annotations, capacity.get("storage"), SPEC, found),
        available=available,
        claimed=spec.get("claimRef") is not None,
        terminating=metadata.get("deletionTimestamp") is not None,
        labels=tuple(labels.items()) if available else (),
        terms=terms,
        zones=tuple(zones),
        driver="" if csi is None else csi.driver,
        plugin=plugin,
        migrated_terms=found.once("migrated terms", lambda: plugin and _migrated(terms, labels, plugin)),
    )
    return PersistentVolume(name, site, "" if csi is None else csi.handle, *_reference(spec, found))


def read_class(obj: Mapping[str, Any], found: ErrorList) -> StorageClass:
    """Read a StorageClass; without a binding mode it binds at once, as the API server's default has it."""
    metadata = found.mapping(obj.get("metadata"), METADATA)
    annotations = found.labels(metadata.get("annotations"), METADATA.child("annotations"))
    mode = _text(obj, "volumeBindingMode", FieldPath(), found)
    provisioner = _text(obj, "provisioner", FieldPath(), found)
    topologies = found.once("topologies", lambda: tuple(_topologies(obj, found)))
    return StorageClass(
        name=found.name(metadata, METADATA),
        provisioner=intern(provisioner),
        waits=mode == "WaitForFirstConsumer",
        topologies=topologies,
        is_default=annotations.get(_DEFAULT_CLASS) == "true",
        is_zonal=found.once("zonal", lambda: _is_zonal(obj, provisioner, topologies, found)),
    )


def read_csi_node(obj: Mapping[str, Any], found: ErrorList) -> CsiNode:
    """Read a CSINode."""
    metadata, spec = _parts(obj, found)
    annotations = found.labels(metadata.get("annotations"), METADATA.child("annotations"))
    migrated = annotations.get(_MIGRATED_PLUGINS, "")
    limits, topology_keys = found.once("drivers", lambda: _drivers(spec, found))
    return CsiNode(
        found.name(metadata, METADATA), limits, topology_keys, frozenset(filter(None, migrated.split(",")))
    )


def _drivers(spec: Mapping[str, Any], found: ErrorList) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Return the limits and the topology keys of a CSINode, by the name of the driver."""
    limits, topology_keys = {}, {}
    for path, driver in found.objects(spec.get("drivers"), SPEC.child("drivers")):
        name = intern(_text(driver, "name", path, found))
        topology_keys[name] = tuple(_texts(driver.get("topologyKeys"), path.child("topologyKeys"), found))
        allocatable = found.mapping(driver.get("allocatable"), path.child("allocatable"))
        count = found.integer(allocatable.get("count"), path.child("allocatable", "count"))
        if allocatable.get("count") is not None and count is not None:
            limits[name] = count
    return limits, topology_keys


def read_csi_driver(obj: Mapping[str, Any], found: ErrorList) -> CsiDriver:
    """Read a CSIDriver."""
    metadata, spec = _parts(obj, found)
    reports = found.flag(spec.get("storageCapacity"), SPEC.child("storageCapacity"))
    return CsiDriver(found.name(metadata, METADATA), reports)


def read_csi_capacity(obj: Mapping[str, Any], found: ErrorList) -> CsiCapacity:
    """Read a CSIStorageCapacity."""
    metadata = found.mapping(obj.get("metadata"), METADATA)
    field = "capacity" if obj.get("maximumVolumeSize") is None else "maximumVolumeSize"
    limit, path = _size(obj.get(field), FieldPath((field,)), found), FieldPath(("nodeTopology",))
    return CsiCapacity(
        namespace=_text(metadata, "namespace", METADATA, found) or DEFAULT_NAMESPACE,
        name=found.name(metadata, METADATA),
        storage_class=_text(obj, "storageClassName", FieldPath(), found),
        topology=found.once("topology", lambda: read_label_selector(obj.get("nodeTopology"), path, found)),
        limit=None if obj.get(field) is None else whole_bytes(limit),
    )


def read_attachment(obj: Mapping[str, Any], found: ErrorList) -> VolumeAttachment:
    """Read a VolumeAttachment."""
    metadata, spec = _parts(obj, found)
    source = found.mapping(spec.get("source"), SPEC.child("source"))
    return VolumeAttachment(
        found.name(metadata, METADATA),
        _text(spec, "nodeName", SPEC, found),
        _text(spec, "attacher", SPEC, found),
        _text(source, "persistentVolumeName", SPEC.child("source"), found),
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


def _parts(obj: Mapping[str, Any], found: ErrorList) -> tuple[dict[str, Any], dict[str, Any]]:
    return found.mapping(obj.get("metadata"), METADATA), found.mapping(obj.get("spec"), SPEC)


def _is_zonal(
    obj: Mapping[str, Any],
    provisioner: str,
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...],
    found: ErrorList,
) -> bool:
    """Return whether volumes of a class are in one zone each: not where parameters replicate them."""
    path = FieldPath(("parameters",))
    parameters = found.labels(obj.get("parameters"), path)
    replicated = parameters.get("replication-type", "none") != "none" or any(
        value.upper().endswith("ZRS") for key, value in parameters.items() if key.lower() in _SKU
    )
    names_zones = any(key in {BETA_ZONE, ZONE} for term in topologies for key, _ in term)
    return not replicated and (provisioner in _ZONAL or names_zones)


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
        storage_class=intern(annotations.get(_CLASS_ANNOTATION, named)),
        size=_size(size, path, found),
        modes=found.once(
            "modes", lambda: frozenset(_texts(spec.get("accessModes"), path.child("accessModes"), found))
        ),
        volume_mode=intern(_text(spec, "volumeMode", path, found) or _FILESYSTEM),
        attributes_class=_text(spec, "volumeAttributesClassName", path, found),
    )


def _controller_uid(metadata: Mapping[str, Any], found: ErrorList) -> str:
    path = METADATA.child("ownerReferences")
    for at, reference in found.objects(metadata.get("ownerReferences"), path):
        if reference.get("controller") is True:
            return found.text(reference.get("uid"), at.child("uid"))
    return ""


def _reference(spec: Mapping[str, Any], found: ErrorList) -> tuple[str, str, str]:
    """Return the namespace, the name and the uid of the claim that a volume refers to."""
    path = SPEC.child("claimRef")
    reference = found.mapping(spec.get("claimRef"), path)
    namespace, name, uid = (_text(reference, name, path, found) for name in ("namespace", "name", "uid"))
    return intern(namespace), name, uid


def _terms(spec: Mapping[str, Any], found: ErrorList) -> tuple[NodeSelectorTerm, ...] | None:
    path = SPEC.child("nodeAffinity")
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
        return next(csi_volumes(spec, tuple(zones.split(_ZONE_DELIMITER))), None)
    path = SPEC.child("csi")
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
    # A requirement without values, as Exists, names no zone.
    if any(entry.values for term in terms or () for entry in term.expressions if entry.key == zone):
        renamed[zone] = plugin.topology_key
    elif values := tuple(sorted(filter(None, labels.get(zone, "").split(_ZONE_DELIMITER)))):
        added = (NodeRequirement(plugin.topology_key, NodeOperator.IN, values),)
        terms = terms or (NodeSelectorTerm(),)
    if terms is None:
        return None
    return tuple(
        NodeSelectorTerm(
            tuple(entry._replace(key=renamed.get(entry.key, entry.key)) for entry in term.expressions)
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
    """Read the claim templates of a StatefulSet."""
    spec = found.mapping(obj.get("spec"), SPEC)
    path = SPEC.child("volumeClaimTemplates")
    return tuple(
        claim_of_spec(
            found.mapping(template.get("metadata"), at.child("metadata")),
            found.mapping(template.get("spec"), at.child("spec")),
            at.child("spec"),
            found,
        )
        for at, template in found.objects(spec.get("volumeClaimTemplates"), path)
    )
