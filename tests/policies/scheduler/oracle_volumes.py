"""The four volume filters by plain loops over raw API objects; shares no code with ``policies``.

Every function is one rule of kube-scheduler 1.36. Left out are generic ephemeral volumes, disks of in-tree
plugins behind claims, and VolumeAttributesClasses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.policies.scheduler.oracle_matching import (
    Object,
    labels_of,
    matches,
    name_of,
    selector_of,
    term_allows,
)
from tests.policies.scheduler.oracle_resources import quantity

#: The labels of volumes that VolumeZone looks at, with the newer name that a node may have instead.
ZONE_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "",
    "topology.kubernetes.io/region": "",
}
BOUND = "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another pod"
)


@dataclass(frozen=True)
class Cluster:
    """The objects by name, and the pods; all is in one namespace."""

    nodes: dict[str, Object]
    pods: list[Object]
    claims: dict[str, Object]
    volumes: dict[str, Object]
    classes: dict[str, Object]
    csi_nodes: dict[str, Object]

    @classmethod
    def of(cls, objects: Iterable[Object]) -> Cluster:
        def named(kind: str) -> dict[str, Object]:
            return {name_of(obj): obj for obj in objects if obj["kind"] == kind}

        objects = list(objects)
        return cls(
            named("Node"),
            list(named("Pod").values()),
            named("PersistentVolumeClaim"),
            named("PersistentVolume"),
            named("StorageClass"),
            named("CSINode"),
        )


def stopping(cluster: Cluster, pod: Object) -> str:
    """Return why PreFilter rejects the pod everywhere: the first of VolumeRestrictions, Binding and Zone."""
    names = claims_of(pod)
    for name in names:
        if name not in cluster.claims:
            return f'persistentvolumeclaim "{name}" not found'
    for name in names:
        claim = cluster.claims[name]
        if (claim.get("status") or {}).get("phase") == "Lost":
            volume = claim["spec"].get("volumeName", "")
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
    if any(sort_of(cluster, cluster.claims[name]) == "immediate" for name in names):
        return "pod has unbound immediate PersistentVolumeClaims"
    for name in names:
        volume = cluster.claims[name]["spec"].get("volumeName")
        if volume and volume not in cluster.volumes:
            return f'persistentvolume "{volume}" not found'
    return ""


def refusals(cluster: Cluster, pod: Object, node: Object) -> dict[str, str]:
    """Return the reason of each volume plugin that rejects a node, each asked on its own."""
    found = {
        "volumeRestrictions": restrictions(cluster, pod, node),
        "nodeVolumeLimits": limits(cluster, pod, node),
        "volumeBinding": ", ".join(binding(cluster, pod, node)),
        "volumeZone": zone(cluster, pod, node),
    }
    return {plugin: text for plugin, text in found.items() if text}


def claims_of(pod: Object) -> list[str]:
    """Return the claims of a pod, in the order of its volumes."""
    volumes = pod["spec"].get("volumes") or ()
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in volumes
        if "persistentVolumeClaim" in volume
    ]


def sort_of(cluster: Cluster, claim: Object) -> str:
    """Return whether a claim is bound, delayed or immediate."""
    volume = claim["spec"].get("volumeName")
    if volume and BOUND in (claim["metadata"].get("annotations") or {}):
        return "bound"
    found = cluster.classes.get(claim["spec"].get("storageClassName") or "")
    waits = found is not None and found["volumeBindingMode"] == "WaitForFirstConsumer"
    return "delayed" if waits and not volume else "immediate"


def restrictions(cluster: Cluster, pod: Object, node: Object) -> str:
    """Inline disks against the node's pods first; then claims of a single pod, on every node."""
    here = [other for other in cluster.pods if other["spec"].get("nodeName") == name_of(node)]
    for disk in disks_of(pod):
        if any(conflict(disk, other) for present in here for other in disks_of(present)):
            return "node(s) had no available disk"
    alone = {
        name
        for name in claims_of(pod)
        if "ReadWriteOncePod" in cluster.claims[name]["spec"].get("accessModes", ())
    }
    bound = [other for other in cluster.pods if other["spec"].get("nodeName") in cluster.nodes]
    return IN_USE if any(alone & set(claims_of(other)) for other in bound) else ""


def disks_of(pod: Object) -> Iterator[tuple[str, Object]]:
    for volume in pod["spec"].get("volumes") or ():
        for kind in ("gcePersistentDisk", "awsElasticBlockStore"):
            if kind in volume:
                yield kind, volume[kind]


def conflict(one: tuple[str, Object], other: tuple[str, Object]) -> bool:
    """Tell whether disks conflict: GCE's unless both are read only, EBS's always."""
    if one[0] != other[0]:
        return False
    if one[0] == "gcePersistentDisk":
        both = one[1].get("readOnly") and other[1].get("readOnly")
        return bool(one[1]["pdName"] == other[1]["pdName"] and not both)
    return bool(one[1]["volumeID"] == other[1]["volumeID"])


def limits(cluster: Cluster, pod: Object, node: Object) -> str:
    """Distinct volumes of the node's pods and the new ones, for each driver with a limit."""
    csi_node = cluster.csi_nodes.get(name_of(node))
    if csi_node is None or not any(claims_of(pod)):
        return ""
    present = {
        volume
        for other in cluster.pods
        if other["spec"].get("nodeName") == name_of(node)
        for name in claims_of(other)
        if (volume := unique_volume(cluster, name))
    }
    new = {volume for name in claims_of(pod) if (volume := unique_volume(cluster, name))} - present
    for driver in csi_node["spec"]["drivers"]:
        count = (driver.get("allocatable") or {}).get("count")
        added = sum(name == driver["name"] for name, _ in new)
        if count is not None and added and sum(name == driver["name"] for name, _ in present) + added > count:
            return "node(s) exceed max volume count"
    return ""


def unique_volume(cluster: Cluster, name: str) -> tuple[str, str] | None:
    """Return the driver and the handle of a claim's volume, or of the one that its class will make."""
    claim = cluster.claims.get(name)
    if claim is None:
        return None
    volume = cluster.volumes.get(claim["spec"].get("volumeName") or "")
    if volume is not None:
        source = volume["spec"].get("csi")
        return None if source is None else (source["driver"], source["volumeHandle"])
    found = cluster.classes.get(claim["spec"].get("storageClassName") or "")
    return None if found is None else (found["provisioner"], f"claim {name}")


def binding(cluster: Cluster, pod: Object, node: Object) -> Iterator[str]:
    """Bound claims must be reached; delayed ones find a volume, or have one made."""
    for name in claims_of(pod):
        claim = cluster.claims[name]
        if sort_of(cluster, claim) == "bound":
            volume = cluster.volumes.get(claim["spec"]["volumeName"])
            if volume is not None and not reaches(volume, node):
                yield "node(s) didn't match PersistentVolume's node affinity"
                break
    if not finds_volumes(cluster, pod, node):
        yield "node(s) didn't find available persistent volumes to bind"


def reaches(volume: Object, node: Object) -> bool:
    affinity = volume["spec"].get("nodeAffinity")
    terms = () if affinity is None else affinity["required"]["nodeSelectorTerms"]
    return affinity is None or any(term_allows(term, node) for term in terms)


def finds_volumes(cluster: Cluster, pod: Object, node: Object) -> bool:
    """Smaller claims choose first, each the smallest volume that fits and none has yet."""
    provisioned, waiting, taken = list[Object](), list[Object](), set[str]()
    for name in claims_of(pod):
        claim = cluster.claims[name]
        if sort_of(cluster, claim) != "delayed":
            continue
        selected = (claim["metadata"].get("annotations") or {}).get(SELECTED)
        if selected not in {None, name_of(node)}:
            return False
        (waiting if selected is None else provisioned).append(claim)
    for claim in sorted(waiting, key=lambda claim: size_of(claim["spec"]["resources"]["requests"])):
        volume = smallest(cluster, claim, node, taken)
        if volume is None:
            provisioned.append(claim)
        else:
            taken.add(volume)
    return all(can_be_made(cluster, claim, node) for claim in provisioned)


def smallest(cluster: Cluster, claim: Object, node: Object, taken: set[str]) -> str | None:
    """Return the volume kept for a claim, else the smallest free one that fits."""
    asked, best = claim["spec"], None
    for name, volume in sorted(cluster.volumes.items()):
        offered = volume["spec"]
        if name in taken or offered.get("storageClassName") != asked.get("storageClassName"):
            continue
        if size_of(offered["capacity"]) < size_of(asked["resources"]["requests"]):
            continue
        kept = offered.get("claimRef")
        if kept is not None:
            if kept["name"] == name_of(claim) and kept.get("uid", "") in {"", claim["metadata"]["uid"]}:
                return name if reaches(volume, node) else None
            continue
        selector = asked.get("selector")
        fits = (
            volume["status"]["phase"] == "Available"
            and (selector is None or matches(selector_of(selector), labels_of(volume)))
            and set(asked["accessModes"]) <= set(offered["accessModes"])
            and reaches(volume, node)
        )
        if fits and (
            best is None or size_of(offered["capacity"]) < size_of(cluster.volumes[best]["spec"]["capacity"])
        ):
            best = name
    return best


def can_be_made(cluster: Cluster, claim: Object, node: Object) -> bool:
    """Tell whether the class makes volumes, and there."""
    found = cluster.classes[claim["spec"]["storageClassName"]]
    if found["provisioner"] == "kubernetes.io/no-provisioner":
        return False
    terms = found.get("allowedTopologies") or ()
    labels = labels_of(node)
    return not terms or any(
        all(labels.get(entry["key"]) in entry["values"] for entry in term["matchLabelExpressions"])
        for term in terms
    )


def zone(cluster: Cluster, pod: Object, node: Object) -> str:
    """Each label of a bound volume must be the node's; a node without any of the labels takes all."""
    labels = labels_of(node)
    if not any(key in labels for key in ZONE_KEYS):
        return ""
    for name in claims_of(pod):
        volume = cluster.volumes.get(cluster.claims[name]["spec"].get("volumeName") or "")
        for key, text in labels_of(volume or {}).items():
            if key in ZONE_KEYS and labels.get(key, labels.get(ZONE_KEYS[key])) not in text.split("__"):
                return "node(s) had no available volume zone"
    return ""


def size_of(amounts: Any) -> Any:
    return quantity(amounts["storage"])
