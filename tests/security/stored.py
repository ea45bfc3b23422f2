"""Clusters of which one part is large: each has many of something that users, or their controllers, write.

A shape yields the objects of a cluster at a size, and knows an object whose review looks at that part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from policies.scheduler.index import INDEXED_KINDS, ClusterIndex

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: Nodes of a cluster of which another part is large.
NODES: Final = 30


class ClusterShape(NamedTuple):
    """A cluster of which a part grows."""

    objects: Callable[[int], Iterator[dict[str, Any]]]  #: Yields its objects at a size.
    spec: Mapping[str, Any] = {}  #: What the template under review has besides a container.
    kind: str = "Deployment"  #: The kind of the object under review.

    def cluster(self, size: int) -> ClusterIndex:
        """Return the cluster at a size; all kinds are listed, as in one that is followed."""
        index = ClusterIndex()
        for obj in self.objects(size):
            assert not index.apply(obj), obj
        index.list_kinds(INDEXED_KINDS)
        return index

    def reviewed(self) -> dict[str, Any]:
        """Return the object under review."""
        requests = {"cpu": "1", "memory": "1Gi"}
        spec: dict[str, Any] = {
            "containers": [{"name": "web", "image": "web:1", "resources": {"requests": requests}}]
        }
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {**spec, **self.spec}}
        claims = template["spec"].pop("volumeClaimTemplates", None)
        found: dict[str, Any] = _object("apps/v1", self.kind, "web", "shop", spec={"replicas": 3})
        found["spec"] |= {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        if claims:
            found["spec"] |= {"volumeClaimTemplates": claims}
        return found


def _object(api_version: str, kind: str, name: str, namespace: str = "", **members: Any) -> dict[str, Any]:
    labels = members.pop("labels", {})
    metadata = {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata | members.pop("metadata", {}),
        **members,
    }


def a_node(number: int, *, labels: int = 0, taints: int = 0, cpu: str = "16") -> dict[str, Any]:
    """Return a node in a zone, with some more labels and taints."""
    own = {HOST: f"n{number}", ZONE: f"z{number % 3}"} | {
        f"l{each}": f"{number % (each + 2)}" for each in range(labels)
    }
    tainted = [
        {"key": f"t{number}-{each}", "value": "y", "effect": "PreferNoSchedule"} for each in range(taints)
    ]
    status = {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}
    return _object("v1", "Node", f"n{number}", labels=own, spec={"taints": tainted}, status=status)


def a_pod(
    number: int, namespace: str = "shop", labels: Mapping[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a running pod."""
    container = {
        "name": "web",
        "image": "web:1",
        "resources": {"requests": {"cpu": "100m"}},
        **spec.pop("container", {}),
    }
    spec = {"nodeName": f"n{number % NODES}", "containers": [container], **spec}
    status = {"phase": "Running"}
    return _object(
        "v1", "Pod", f"p{number}", namespace, labels=dict(labels or {"app": "web"}), spec=spec, status=status
    )


def _namespace(name: str, **labels: str) -> dict[str, Any]:
    return _object("v1", "Namespace", name, labels={"kubernetes.io/metadata.name": name} | labels)


def _small() -> Iterator[dict[str, Any]]:
    yield _namespace("shop", env="x")
    yield from map(a_node, range(NODES))


def _term(key: str, selector: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": dict(selector), **more}


def _apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def _plain(size: int) -> Iterator[dict[str, Any]]:
    yield from _small()
    yield from map(a_pod, range(size))


def _terms_that_select_any(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    for number in range(size):
        selector = {"matchExpressions": [{"key": f"k{number}", "operator": "NotIn", "values": ["x"]}]}
        yield a_pod(100 + number, "other", **_apart(_term(HOST, selector, namespaceSelector={})))


def _terms_that_require_the_label(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    for number in range(size):
        selector = {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "x", "operator": "NotIn", "values": [str(number)]}],
        }
        yield a_pod(100 + number, "other", **_apart(_term(ZONE, selector, namespaces=["shop"])))


def _large_terms(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    values = [f"v{number}" for number in range(size)]
    for number in range(20):
        absent = [{"key": f"k{number}-{each}", "operator": "DoesNotExist"} for each in range(size)]
        selector = {"matchExpressions": [*absent, {"key": "app", "operator": "NotIn", "values": values}]}
        yield a_pod(100 + number, "other", **_apart(_term(HOST, selector, namespaceSelector={})))


def _namespaces(size: int) -> Iterator[dict[str, Any]]:
    yield from _small()
    for number in range(size):
        yield _namespace(f"ns{number}", env="x")
        yield a_pod(number, f"ns{number}", {"app": "web", "x": f"{number}"})


def _label_sets(size: int) -> Iterator[dict[str, Any]]:
    yield from _small()
    for number in range(size):
        yield a_pod(number, "shop", {"app": "web", "x": f"{number}"})


def _nodes(size: int) -> Iterator[dict[str, Any]]:
    yield _namespace("shop")
    yield from (a_node(number, labels=20, taints=5) for number in range(size))


def _services(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    for number in range(size):
        yield _object("v1", "Service", f"s{number}", "shop", spec={"selector": {"app": "web"}})


def _revisions(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    for number in range(size):
        labels = {"app": "web", "pod-template-hash": f"h{number}"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": f"web:{number}"}]},
        }
        spec = {"selector": {"matchLabels": labels}, "template": template}
        yield _object(
            "apps/v1",
            "ReplicaSet",
            f"web-{number}",
            "shop",
            labels=labels,
            metadata={"ownerReferences": [owner]},
            spec=spec,
        )


def _ports(size: int) -> Iterator[dict[str, Any]]:
    yield from _small()
    for number in range(size):
        ports = [{"containerPort": 80, "hostPort": 80, "hostIP": f"10.0.{number // 250}.{number % 250}"}]
        yield a_pod(number, container={"ports": ports})


def _claim(name: str, storage_class: str, *, volume: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    spec |= {"resources": {"requests": {"storage": "1Gi"}}} | ({"volumeName": volume} if volume else {})
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    status = {"phase": "Bound" if volume else "Pending"}
    return _object(
        "v1", "PersistentVolumeClaim", name, "shop", metadata={"annotations": bound}, spec=spec, status=status
    )


def _volume(name: str, storage_class: str, nodes: tuple[str, ...], *, claim: str = "") -> dict[str, Any]:
    where = {"matchExpressions": [{"key": HOST, "operator": "In", "values": list(nodes)}]}
    spec: dict[str, Any] = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "5Gi"},
    }
    spec |= {
        "nodeAffinity": {"required": {"nodeSelectorTerms": [where]}},
        "csi": {"driver": "csi.x", "volumeHandle": name},
    }
    spec |= {"claimRef": {"name": claim, "namespace": "shop"}} if claim else {}
    return _object(
        "v1", "PersistentVolume", name, spec=spec, status={"phase": "Bound" if claim else "Available"}
    )


def _storage() -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    yield _object("storage.k8s.io/v1", "CSIDriver", "csi.x", spec={"storageCapacity": True})
    for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("wait", "csi.x")):
        yield _object(
            "storage.k8s.io/v1",
            "StorageClass",
            name,
            provisioner=provisioner,
            volumeBindingMode="WaitForFirstConsumer",
        )
    for number in range(NODES):
        driver = {
            "name": "csi.x",
            "nodeID": f"n{number}",
            "topologyKeys": [HOST],
            "allocatable": {"count": 20},
        }
        yield _object("storage.k8s.io/v1", "CSINode", f"n{number}", spec={"drivers": [driver]})


def _local_volumes(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    yield _claim("data", "local")
    for number in range(size):
        yield _volume(f"v{number}", "local", (f"n{number % NODES}",))


def _wide_volumes(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    yield _claim("data", "local")
    for number in range(size):
        yield _volume(f"v{number}", "local", tuple(f"n{(number + each) % NODES}" for each in range(3)))


def _claims_in_use(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    yield _claim("data", "wait", volume="v0")
    for number in range(size):
        yield _volume(
            f"v{number}", "wait", (f"n{number % NODES}",), claim="data" if not number else f"c{number}"
        )
        yield _claim(f"c{number}", "wait", volume=f"v{number}")
        yield a_pod(
            1000 + number, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"c{number}"}}]
        )
        source = {"persistentVolumeName": f"v{number}"}
        spec = {"attacher": "csi.x", "nodeName": f"n{number % NODES}", "source": source}
        yield _object("storage.k8s.io/v1", "VolumeAttachment", f"a{number}", spec=spec)


def _capacities(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    yield _claim("data", "wait")
    for number in range(size):
        yield _object(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            f"c{number}",
            "kube-system",
            storageClassName="wait",
            nodeTopology={"matchLabels": {HOST: f"n{number % NODES}"}},
            capacity="10Gi",
        )


def _classes(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    yield _claim("data", "wait")
    for number in range(size):
        yield _object("storage.k8s.io/v1", "StorageClass", f"s{number}", provisioner="csi.x")
        yield _object("storage.k8s.io/v1", "CSIDriver", f"d{number}", spec={"storageCapacity": True})
        yield _object("storage.k8s.io/v1", "CSINode", f"o{number}", spec={"drivers": []})
        yield _object("scheduling.k8s.io/v1", "PriorityClass", f"p{number}", value=number)


def _ordinals(size: int) -> Iterator[dict[str, Any]]:
    yield from _storage()
    for number in range(size):
        pod = a_pod(number)
        pod["metadata"]["name"] = f"web-{number}"
        yield pod


def _budgets(size: int) -> Iterator[dict[str, Any]]:
    yield _namespace("shop")
    yield _object("scheduling.k8s.io/v1", "PriorityClass", "high", value=1000)
    for number in range(NODES):
        yield a_node(number, cpu="1")
        yield a_pod(number, container={"resources": {"requests": {"cpu": "1"}}})
    for number in range(size):
        spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}
        yield _object(
            "policy/v1",
            "PodDisruptionBudget",
            f"b{number}",
            "shop",
            spec=spec,
            status={"disruptionsAllowed": 0},
        )


def _nominated(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    for number in range(size):
        pod = a_pod(100 + number, priority=10)
        del pod["spec"]["nodeName"]
        yield pod | {"status": {"phase": "Pending", "nominatedNodeName": f"n{number % NODES}"}}


def _controllers(size: int) -> Iterator[dict[str, Any]]:
    yield from _plain(10)
    for number in range(size):
        template = {"metadata": {"labels": {"app": f"a{number}"}}, "spec": {"containers": []}}
        selector = {"app": f"a{number}"}
        spec = {"selector": {"matchLabels": selector}, "template": template}
        yield _object("apps/v1", "StatefulSet", f"a{number}", "shop", spec=spec)
        yield _object(
            "v1",
            "ReplicationController",
            f"a{number}",
            "shop",
            spec={"selector": selector, "template": template},
        )


_DATA: Final = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
_EVERYWHERE: Final = _apart(
    _term(HOST, {"matchLabels": {"app": "web"}}, namespaceSelector={}),
    _term(ZONE, {"matchLabels": {"app": "web"}}, namespaceSelector={"matchLabels": {"env": "x"}}),
    _term(
        ZONE, {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["1"]}]}, namespaceSelector={}
    ),
)
_SPREAD: Final = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        for key in (HOST, ZONE)
    ]
}
_TEMPLATES: Final = [
    {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
]

#: The shapes, by the part that grows.
SHAPES: Final[Mapping[str, ClusterShape]] = {
    "pods": ClusterShape(_plain, _SPREAD),
    "label sets": ClusterShape(_label_sets, _SPREAD | _EVERYWHERE),
    "terms of others that require nothing": ClusterShape(_terms_that_select_any),
    "terms of others that require a label": ClusterShape(_terms_that_require_the_label),
    "requirements of terms of others": ClusterShape(_large_terms),
    "namespaces": ClusterShape(_namespaces, _EVERYWHERE),
    "nodes with labels and taints": ClusterShape(_nodes, _SPREAD | {"tolerations": [{"operator": "Exists"}]}),
    "services": ClusterShape(_services),
    "revisions": ClusterShape(_revisions),
    "other controllers": ClusterShape(_controllers),
    "addresses of a host port": ClusterShape(
        _ports,
        {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
    ),
    "local volumes": ClusterShape(_local_volumes, _DATA),
    "volumes of several nodes": ClusterShape(_wide_volumes, _DATA),
    "claims in use": ClusterShape(_claims_in_use, _DATA),
    "capacities": ClusterShape(_capacities, _DATA),
    "classes": ClusterShape(_classes, _DATA | {"priorityClassName": "p1"}),
    "ordinals": ClusterShape(_ordinals, {"volumeClaimTemplates": _TEMPLATES}, "StatefulSet"),
    "pods that wait for room": ClusterShape(_nominated, _SPREAD),
    "disruption budgets": ClusterShape(_budgets, {"priorityClassName": "high"}),
}
