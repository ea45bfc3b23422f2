"""Storage objects for tests: one class that waits for pods, and what belongs to it."""

from __future__ import annotations

from typing import Any

ZONE = "topology.kubernetes.io/zone"
DRIVER = "disks.example.com"


def a_class(name: str = "ssd", *, waits: bool = True, **fields: Any) -> dict[str, Any]:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return _object("storage.k8s.io/v1", "StorageClass", name) | {
        "provisioner": DRIVER, "volumeBindingMode": mode, **fields
    }  # fmt: skip


def a_claim(name: str, volume: str = "", **fields: Any) -> dict[str, Any]:
    """Return a claim of the class, bound to a volume if one is given."""
    claim = _object("v1", "PersistentVolumeClaim", name)
    claim["metadata"] |= {"namespace": "shop", "uid": f"uid-{name}"}
    if volume:
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        fields["volumeName"] = volume
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "ssd", **fields}
    return claim | {"spec": {"resources": {"requests": {"storage": "1Gi"}}, **spec}}


def a_volume(name: str, claim: str = "", zone: str = "", **fields: Any) -> dict[str, Any]:
    """Return a volume of the class in a zone, available or bound to a claim."""
    spec: dict[str, Any] = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "ssd",
        "csi": {"driver": DRIVER, "volumeHandle": name},
        **fields,
    }
    if claim:
        spec["claimRef"] = {"namespace": "shop", "name": claim, "uid": f"uid-{claim}"}
    if zone:
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    status = {"phase": "Bound" if claim else "Available"}
    return _object("v1", "PersistentVolume", name) | {"spec": spec, "status": status}


def a_csi_node(name: str, count: int | None = None) -> dict[str, Any]:
    driver: dict[str, Any] = {"name": DRIVER, "nodeID": name, "topologyKeys": [ZONE]}
    if count is not None:
        driver["allocatable"] = {"count": count}
    return _object("storage.k8s.io/v1", "CSINode", name) | {"spec": {"drivers": [driver]}}


def an_attachment(volume: str, node: str) -> dict[str, Any]:
    source = {"persistentVolumeName": volume}
    spec = {"attacher": DRIVER, "nodeName": node, "source": source}
    return _object("storage.k8s.io/v1", "VolumeAttachment", f"{volume}-{node}") | {"spec": spec}


def using(*claims: str) -> list[dict[str, Any]]:
    """Return the volumes of a pod that uses claims."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def _object(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
