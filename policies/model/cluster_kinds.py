"""The kinds of objects that a cluster is described by, and the lists of a request that hold them."""

from __future__ import annotations

from typing import Final, TypeAlias

#: The apiVersion and kind of an object.
Kind: TypeAlias = tuple[str, str]

NODE: Final = ("v1", "Node")
POD: Final = ("v1", "Pod")
NAMESPACE: Final = ("v1", "Namespace")
SERVICE: Final = ("v1", "Service")
REPLICATION_CONTROLLER: Final = ("v1", "ReplicationController")
REPLICA_SET: Final = ("apps/v1", "ReplicaSet")
STATEFUL_SET: Final = ("apps/v1", "StatefulSet")
CLAIM: Final = ("v1", "PersistentVolumeClaim")
VOLUME: Final = ("v1", "PersistentVolume")
STORAGE_CLASS: Final = ("storage.k8s.io/v1", "StorageClass")
CSI_NODE: Final = ("storage.k8s.io/v1", "CSINode")
CSI_DRIVER: Final = ("storage.k8s.io/v1", "CSIDriver")
CSI_CAPACITY: Final = ("storage.k8s.io/v1", "CSIStorageCapacity")
ATTACHMENT: Final = ("storage.k8s.io/v1", "VolumeAttachment")
BUDGET: Final = ("policy/v1", "PodDisruptionBudget")
PRIORITY_CLASS: Final = ("scheduling.k8s.io/v1", "PriorityClass")

#: Objects in the same file as a workload that would be in the cluster, too.
APPLIED_ALONG: Final = frozenset({SERVICE, NAMESPACE})

#: The kinds that say where volumes are, and how new ones are made, by the field that lists them.
STORAGE_LISTS: Final[dict[str, Kind]] = {
    "persistentVolumeClaims": CLAIM,
    "persistentVolumes": VOLUME,
    "storageClasses": STORAGE_CLASS,
    "csiNodes": CSI_NODE,
    "csiDrivers": CSI_DRIVER,
    "csiStorageCapacities": CSI_CAPACITY,
    "volumeAttachments": ATTACHMENT,
}
#: The field of a request's cluster that lists the objects of each kind.
LISTS: Final[dict[str, Kind]] = {
    "nodes": NODE,
    "pods": POD,
    "namespaces": NAMESPACE,
    "services": SERVICE,
    "replicationControllers": REPLICATION_CONTROLLER,
    "replicaSets": REPLICA_SET,
    "statefulSets": STATEFUL_SET,
    **STORAGE_LISTS,
    "podDisruptionBudgets": BUDGET,
    "priorityClasses": PRIORITY_CLASS,
}
#: The field by kind, which answers name what is not known by.
LIST_NAMES: Final = {kind: name for name, kind in LISTS.items()}
#: The kinds that a cluster may refuse to list, or not serve: what depends on them is not modeled then.
OPTIONAL_KINDS: Final = (*STORAGE_LISTS.values(), BUDGET, PRIORITY_CLASS)
#: The kinds without a namespace.
CLUSTER_SCOPED: Final = frozenset(
    {NODE, NAMESPACE, VOLUME, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, ATTACHMENT, PRIORITY_CLASS}
)
