"""What clusters have whose domains are lost: pods of workloads, volumes, budgets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.builders import a_node, a_pod
from tests.policies.scheduler import storage_objects as storage

Object = dict[str, Any]

#: Three zones with a node of 4 CPUs each.
NODES = [a_node("n1", "a"), a_node("n2", "b"), a_node("n3", "c")]


def pods_of(
    name: str, nodes: Iterable[str], cpu: str = "1", kind: str = "ReplicaSet", **spec: Any
) -> list[Object]:
    """Return the pods of a workload, one on each of some nodes."""
    containers = [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": cpu}}}]
    return [
        a_pod(
            name=f"{name}-{number}",
            labels={"app": name},
            owner=("apps/v1", kind, name),
            spec={"nodeName": node, "containers": containers, **spec},
        )
        for number, node in enumerate(nodes)
    ]


def pods_with_volumes() -> list[Object]:
    """Return a pod in each of zones a and b with a volume in its zone, and what its volume needs."""
    found = [*(storage.a_csi_node(node) for node in ("n1", "n2", "n3")), storage.a_class()]
    for number, zone in enumerate("ab"):
        claim, volume = f"data-{number}", f"v-{number}"
        found += [storage.a_claim(claim, volume), storage.a_volume(volume, claim, zone)]
        found += pods_of(f"db-{number}", [f"n{number + 1}"], volumes=storage.using(claim))
    return found


def a_budget(name: str, app: str | None = None, **spec: Any) -> Object:
    """Return a PodDisruptionBudget of the pods of a workload."""
    selector = {"matchLabels": {"app": app or name}}
    metadata = {"name": name, "namespace": "shop"}
    spec = {"selector": selector, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
