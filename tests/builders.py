"""Builders of API objects: a test mentions only what it is about."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind

#: The labels and the selector of every built workload.
APP = {"app": "web"}
#: The topology keys of zones and of nodes.
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def a_constraint(**fields: Any) -> dict[str, Any]:
    """Return a valid hard zone constraint; a field given as None is left out."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
    }
    return {name: value for name, value in (constraint | fields).items() if value is not None}


def a_pod(
    *,
    name: str = "web-0",
    namespace: str = "shop",
    labels: Any = APP,
    annotations: Any = None,
    owner: tuple[str, str, str] | None = None,
    spec: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a pod; ``owner`` is (apiVersion, kind, name) of its controller."""
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, **metadata},
        "spec": {"containers": [{"name": "c", "image": "registry.example/web:1"}], **(spec or {})},
    }
    if annotations is not None:
        pod["metadata"]["annotations"] = annotations
    if owner is not None:
        keys = ("apiVersion", "kind", "name")
        pod["metadata"]["ownerReferences"] = [{**dict(zip(keys, owner, strict=True)), "controller": True}]
    return pod


def a_node(
    name: str, zone: str | None = None, *, cpu: str = "4", pods: str = "110", **spec: Any
) -> dict[str, Any]:
    """Return a node with its hostname label, perhaps a zone, and room for so much cpu and so many pods."""
    labels = {HOSTNAME: name} | ({} if zone is None else {ZONE: zone})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods}},
    }


def a_workload(
    kind: str = "Deployment",
    group: str = "apps",
    *,
    labels: dict[str, str] | None = None,
    selector: Any = None,
    template_annotations: dict[str, str] | None = None,
    spec: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a workload of any known kind around a pod template."""
    where = kind_of(kind, group)
    template = {"metadata": {"labels": labels or APP}, "spec": a_pod(spec=spec)["spec"]}
    if template_annotations is not None:
        template["metadata"]["annotations"] = template_annotations
    workload: dict[str, Any] = {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", **metadata},
    }
    _put(workload, where.template, template)
    if where.selector is not None:
        plain = APP if where.selector_is_map else {"matchLabels": APP}
        _put(workload, where.selector, plain if selector is None else selector)
    return workload


def a_deployment(
    *constraints: Any,
    replicas: int = 3,
    cpu: str | None = None,
    spec: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a Deployment with constraints, by default none; ``cpu`` is what its container requests."""
    given: dict[str, Any] = {"topologySpreadConstraints": list(constraints)} if constraints else {}
    if cpu is not None:
        resources = {"requests": {"cpu": cpu}}
        given["containers"] = [{"name": "c", "image": "web:1", "resources": resources}]
    workload = a_workload(spec=given | (spec or {}), **metadata)
    workload["spec"]["replicas"] = replicas
    return workload


def kind_of(kind: str, group: str = "") -> WorkloadKind:
    """Return a known kind by name."""
    return next(known for known in KNOWN_KINDS if (known.group, known.kind) == (group, kind))


def _put(obj: dict[str, Any], way: tuple[str, ...], value: object) -> None:
    for name in way[:-1]:
        obj = obj.setdefault(name, {})
    obj[way[-1]] = value


def a_policy(name: str = "production", **spec: Any) -> dict[str, Any]:
    """Return a SpreadPolicy document."""
    return {
        "apiVersion": "evenkeel.dev/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def a_replica_set(
    workload: dict[str, Any], revision: str, *, number: int = 1, **metadata: Any
) -> dict[str, Any]:
    """Return the ReplicaSet that the controller of a workload makes of its template, as the API stores it.

    Args:
        workload: A Deployment or a Rollout.
        revision: The hash of its template.
        number: Which revision it is, counted by the controller.
        **metadata: What its metadata says besides, or instead.
    """
    kind, name = workload["kind"], workload["metadata"]["name"]
    label = kind_of(kind, workload["apiVersion"].rpartition("/")[0]).revision_label or ""
    template = deepcopy(workload["spec"]["template"])
    template["metadata"]["labels"] = {**template["metadata"]["labels"], label: revision}
    template["metadata"]["creationTimestamp"] = None
    template["spec"] |= {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "securityContext": {}}
    selector = deepcopy(workload["spec"]["selector"])
    selector["matchLabels"] = {**selector["matchLabels"], label: revision}
    owner = {"apiVersion": workload["apiVersion"], "kind": kind, "name": name, "controller": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name}-{revision}",
            "namespace": workload["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {"deployment.kubernetes.io/revision": str(number)},
            "creationTimestamp": f"2026-01-01T00:{number:02}:00Z",
            "ownerReferences": [owner],
            **metadata,
        },
        "spec": {"replicas": 1, "selector": selector, "template": template},
    }
