"""Objects as tests write them, and where the API server has them."""

from __future__ import annotations

from typing import Any

from tests.e2e.kubectl import Manifest

#: The zones, and the nodes of each.
ZONES = {"zone-a": ("node-a1", "node-a2"), "zone-b": ("node-b1",), "zone-c": ("node-c1",)}
#: The topology keys of every cluster.
ZONE_KEY, HOSTNAME_KEY = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, zone: str) -> Manifest:
    labels = {HOSTNAME_KEY: name, ZONE_KEY: zone}
    room = {"cpu": "64", "memory": "256Gi", "pods": "5000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def constraint(**fields: Any) -> Manifest:
    """Return a constraint over the zones for the pods ``app=web``; a field that is None is left out."""
    whole = {
        "maxSkew": 1,
        "topologyKey": ZONE_KEY,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }
    return {name: value for name, value in whole.items() if value is not None}


def pod(name: str, *, app: str = "web", constraints: list[Manifest] | None = None, **spec: Any) -> Manifest:
    if constraints is not None:
        spec["topologySpreadConstraints"] = constraints
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/web:1"}], **spec},
    }


def deployment(
    name: str = "web",
    *,
    replicas: int = 1,
    constraints: list[Manifest] | None = None,
    annotations: dict[str, str] | None = None,
) -> Manifest:
    """Return a Deployment whose pods carry the label ``app`` with its name."""
    template = pod("", app=name, constraints=constraints)
    labels = template["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


def service(name: str, *, app: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
    }


def namespace(name: str, annotations: dict[str, str] | None = None) -> Manifest:
    # The API server sets the label since 1.21; on older ones whoever excludes namespaces by it must.
    metadata = {
        "name": name,
        "labels": {"kubernetes.io/metadata.name": name},
        "annotations": annotations or {},
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
