"""The cluster of ``evenkeel ui --demo`` and of pictures, ``shop.json``: three zones, each kind of trouble."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
#: The nodes of each zone.
ZONES: Final = {zone: [f"node-{zone}{number}" for number in range(1, 5)] for zone in "abc"}


class Running(NamedTuple):
    """A workload and where its pods are."""

    namespace: str  #: Its namespace.
    name: str  #: Its name.
    nodes: str  #: The node of each pod, without ``node-``; empty for a pending one.
    #: topologyKey, whenUnsatisfiable and maxSkew of each constraint.
    constraints: Sequence[tuple[str, str, int]] = ()
    kind: str = "Deployment"  #: Deployment, StatefulSet or DaemonSet.
    selected: str = ""  #: The app label that its constraints select, if it is not its own.


#: A zone that came back after an outage left cart on one side; search waits for a domain on tainted nodes.
WORKLOADS: Final = (
    Running("shop", "web", "a1 a2 a3 b1 b2 b3 c1 c2 c1", [(ZONE, HARD, 1), (HOST, SOFT, 1)]),
    Running("shop", "cart", "a1 a2 a3 a4 b1 b2 a2", [(ZONE, HARD, 1)]),
    Running("shop", "catalog", "a3 b3 c1 b4 a4 c2", [(HOST, SOFT, 1)]),
    Running("shop", "checkout", "b1 b2 c1", [(ZONE, SOFT, 1)]),
    Running("payments", "ledger", "a2 b2 c2", [(ZONE, HARD, 1)], kind="StatefulSet"),
    Running("payments", "api", "b4 b4 b4 b4"),
    Running("search", "indexer", "a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 -", [(HOST, HARD, 1)]),
    Running("search", "query", "c1 c1 c2 b3", [(ZONE, HARD, 1)], selected="search"),
    Running(
        "monitoring", "agent", " ".join(f"{zone}{n}" for zone in "abc" for n in range(1, 5)), kind="DaemonSet"
    ),
)


def cluster() -> str:
    """Return the cluster as a List in JSON, an object a line."""
    lines = ",\n".join(json.dumps(obj) for obj in _objects())
    return f'{{"apiVersion": "v1", "kind": "List", "items": [\n{lines}\n]}}\n'


def _objects() -> Iterator[dict[str, Any]]:
    for zone, nodes in ZONES.items():
        yield from (_node(name, zone) for name in nodes)
    for namespace in dict.fromkeys(workload.namespace for workload in WORKLOADS):
        labels = {"kubernetes.io/metadata.name": namespace}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
    for number, workload in enumerate(WORKLOADS):
        yield from _workload(workload, f"{number:x}{'7f9c4d' * 2}"[:10])


def _node(name: str, zone: str) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if name in ("node-c3", "node-c4"):
        spec["taints"] = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    labels = {
        HOST: name,
        ZONE: zone,
        "topology.kubernetes.io/region": "north",
        "example.com/rack": f"{zone}{name[-1] in '34':d}",
    }
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _workload(workload: Running, revision: str) -> Iterator[dict[str, Any]]:
    labels = {"app": workload.name}
    owner = {"apiVersion": "apps/v1", "kind": workload.kind, "name": workload.name}
    nodes = workload.nodes.split()
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(workload)}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    if workload.kind != "DaemonSet":
        spec["replicas"] = len(nodes)
    if workload.kind == "Deployment":
        labels = {**labels, "pod-template-hash": revision}
        template = {**template, "metadata": {"labels": labels}}
        spec = {"replicas": len(nodes), "selector": {"matchLabels": labels}, "template": template}
        made_by = owner
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{workload.name}-{revision}"}
        yield _object(owner, workload.namespace, labels, spec, owner=made_by)
    elif workload.kind == "StatefulSet":
        labels = {**labels, "controller-revision-hash": revision}
        yield _object(owner, workload.namespace, {}, spec)
    for number, node in enumerate(nodes):
        name = (
            f"{owner['name']}-{number}" if workload.kind == "StatefulSet" else f"{owner['name']}-{number:05x}"
        )
        pod = {"apiVersion": "v1", "kind": "Pod", "name": name}
        placed = {} if node == "-" else {"nodeName": f"node-{node}"}
        yield {
            **_object(pod, workload.namespace, labels, {**template["spec"], **placed}, owner=owner),
            "status": {"phase": "Pending" if node == "-" else "Running"},
        }


def _pod_spec(workload: Running) -> dict[str, Any]:
    requests = {"cpu": "100m" if workload.kind == "DaemonSet" else "500m", "memory": "256Mi"}
    image = f"registry.example.com/{workload.name}:1.4"
    spec: dict[str, Any] = {
        "containers": [{"name": workload.name, "image": image, "resources": {"requests": requests}}]
    }
    if workload.kind == "DaemonSet":
        spec["tolerations"] = [{"operator": "Exists"}]
    if workload.constraints:
        selector = {"matchLabels": {"app": workload.selected or workload.name}}
        spec["topologySpreadConstraints"] = [
            {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}
            for key, action, skew in workload.constraints
        ]
    return spec


def _object(
    named: dict[str, str],
    namespace: str,
    labels: dict[str, str],
    spec: dict[str, Any],
    *,
    owner: dict[str, str] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": named["name"], "namespace": namespace, "labels": labels}
    metadata["uid"] = f"{named['kind']}-{namespace}-{named['name']}".lower()
    if owner is not None:
        uid = f"{owner['kind']}-{namespace}-{owner['name']}".lower()
        metadata["ownerReferences"] = [{**owner, "uid": uid, "controller": True}]
    return {"apiVersion": named["apiVersion"], "kind": named["kind"], "metadata": metadata, "spec": spec}
