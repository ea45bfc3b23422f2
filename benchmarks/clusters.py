"""Clusters as large as one wants, as the raw API objects that kubectl prints: the same for the same seed.

Objects are made one at a time, when somebody asks for them. Those of one application share their labels,
owners and containers, so do not change them; and measure memory on what is read back from a file, because
an index of the objects themselves would share too.

Usage: python -m benchmarks.clusters FILE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import orjson

#: Labels that clouds put on nodes and that pods are spread over.
ZONE, REGION, HOSTNAME = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "kubernetes.io/hostname",
)
#: The region and its zones.
_REGION, _ZONES = "eu-central-1", ("eu-central-1a", "eu-central-1b", "eu-central-1c")
#: Instance types: name, allocatable processors in milli, allocatable memory in KiB. 30 pods fit each.
_INSTANCES = (("m6i.4xlarge", 15890, 60_500_000), ("m6i.8xlarge", 31850, 124_000_000))
#: One node in so many is tainted for one team, and one in so many is cordoned. Arbitrary.
_TAINTED_EVERY, _CORDONED_EVERY = 50, 200
#: The namespace and the application that the probe belongs to.
_PROBE_NAMESPACE, _PROBE_APP = "team-00", "web"
#: The probe's application has this share of its namespace's pods.
_PROBE_SHARE = 0.5
#: Replicas of the other applications: many small ones, few large ones. Arbitrary.
_REPLICAS = (1, 2, 2, 3, 3, 3, 4, 5, 6, 10, 20, 60)
#: What one container requests: processors and memory. Arbitrary, and small enough for 30 pods a node.
_REQUESTS = (("50m", "64Mi"), ("100m", "128Mi"), ("250m", "256Mi"), ("500m", "1Gi"), ("1", "2Gi"))
#: The share of applications with a second container. Arbitrary.
_WITH_PROXY = 0.1
#: The letters of generated names: ``alphanums`` of ``apimachinery/pkg/util/rand``.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
#: Letters at the end of a pod's name: ``randomLength`` of ``apiserver/pkg/storage/names``.
_SUFFIX_LENGTH = 5
#: Scatters numbers over suffixes; it shares no factor with 27, so no two meet. Arbitrary.
_SCATTER = 7_654_321
#: What the API server gives every pod: the admission plugin DefaultTolerationSeconds.
_TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
]
#: When everything began.
#: ReplicaSets of earlier revisions that a Deployment keeps, scaled to 0. Arbitrary; Kubernetes keeps ten.
_OLD_REVISIONS = 3
_CREATED = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How large a cluster is."""

    nodes: int = 5_000  #: Their number; they stand in three zones in turn.
    pods: int = 150_000  #: Their number, evenly over the namespaces.
    namespaces: int = 50  #: Their number.
    one_app: bool = False  #: Whether all pods of a namespace belong to one application.
    apps: int | None = None  #: How many applications a namespace has; None for as many as its pods make.
    seed: int = 0  #: Picks names, sizes and where pods run.


#: The cluster of the project's aims, and the same with all pods in one namespace and matching the probe.
USUAL, CROWDED = Cluster(), Cluster(namespaces=1, one_app=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _App:
    """A Deployment's current ReplicaSet."""

    namespace: str
    name: str
    revision: str
    replicas: int
    containers: list[dict[str, Any]]

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name, "pod-template-hash": self.revision, "tier": "backend"}


def objects(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield every object of a cluster, in the order of ``kubectl get nodes,pods,services,rs,ns``."""
    random = Random(cluster.seed)
    apps = list(_apps(cluster, random))
    yield from nodes(cluster)
    for app in apps:
        yield from _pods(app, cluster, random)
    for app in apps:
        yield _object("v1", "Service", app.name, app.namespace) | {"spec": {"selector": {"app": app.name}}}
    for app in apps:
        yield _replica_set(app, app.revision, number=_OLD_REVISIONS + 1, replicas=app.replicas)
        for number in range(1, _OLD_REVISIONS + 1):
            yield _replica_set(app, f"old-{number}", number=number, replicas=0)
    for name in _namespaces(cluster):
        yield _object("v1", "Namespace", name)


def nodes(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a cluster."""
    for number in range(cluster.nodes):
        instance, milli, kibi = _INSTANCES[number % 7 % 2]
        name = _node_name(number)
        labels = {
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            HOSTNAME: name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": instance,
            "node-group": f"pool-{number % 4}",
            REGION: _REGION,
            ZONE: _ZONES[number % len(_ZONES)],
        }
        spec: dict[str, Any] = {"providerID": f"aws:///{labels[ZONE]}/i-{number:017x}"}
        if number % _TAINTED_EVERY == 1:
            spec["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
        if number % _CORDONED_EVERY == 2:
            spec["unschedulable"] = True
            spec["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
        allocatable = {
            "cpu": f"{milli}m",
            "ephemeral-storage": "95551679124",
            "hugepages-1Gi": "0",
            "memory": f"{kibi}Ki",
            "pods": "110",
        }
        node = _object("v1", "Node", name) | {"spec": spec, "status": {"allocatable": allocatable}}
        node["metadata"]["labels"] = labels
        yield node


def probe_pod() -> dict[str, Any]:
    """Return a pod with a hard zone and a soft hostname constraint, as a ReplicaSet would make it.

    It selects half of its namespace's pods, and in ``CROWDED`` all pods.
    """
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": {"matchLabels": {"app": _PROBE_APP}},
        }
        for key, action in ((ZONE, "DoNotSchedule"), (HOSTNAME, "ScheduleAnyway"))
    ]
    app = _app(_PROBE_NAMESPACE, _PROBE_APP, Random(0), replicas=1)
    pod = next(_pods(app, Cluster(nodes=1), Random(0)))
    del pod["spec"]["nodeName"]
    pod["spec"]["topologySpreadConstraints"] = constraints
    pod["status"] = {"phase": "Pending"}
    return pod


def write_list(cluster: Cluster, file: BinaryIO) -> None:
    """Write a cluster as a v1 List, an object a line, with the members in kubectl's order."""
    separator = b'{"apiVersion":"v1","items":[\n'
    for obj in objects(cluster):
        file.write(separator)
        file.write(orjson.dumps(obj))
        separator = b",\n"
    file.write(b'\n],"kind":"List","metadata":{"resourceVersion":""}}\n')


def _namespaces(cluster: Cluster) -> list[str]:
    return [f"team-{number:02}" for number in range(cluster.namespaces)]


def _node_name(number: int) -> str:
    return f"ip-10-{number >> 16}-{number >> 8 & 255}-{number & 255}"


def _apps(cluster: Cluster, random: Random) -> Iterator[_App]:
    for number, namespace in enumerate(_namespaces(cluster)):
        left = cluster.pods // cluster.namespaces + (number < cluster.pods % cluster.namespaces)
        first = left if cluster.one_app else int(left * _PROBE_SHARE)
        yield _app(namespace, _PROBE_APP, random, replicas=first)
        sizes = (
            _sizes(left - first, random) if cluster.apps is None else _even(left - first, cluster.apps - 1)
        )
        for made, replicas in enumerate(sizes, 1):
            yield _app(namespace, f"service-{made:03}", random, replicas=replicas)


def _sizes(pods: int, random: Random) -> Iterator[int]:
    """Yield the replicas of as many applications as it takes for some pods."""
    while pods:
        replicas = min(pods, random.choice(_REPLICAS))
        yield replicas
        pods -= replicas


def _even(pods: int, apps: int) -> Iterator[int]:
    """Yield the replicas of so many applications, which share some pods evenly."""
    for number in range(apps):
        yield pods // apps + (number < pods % apps)


def _app(namespace: str, name: str, random: Random, *, replicas: int) -> _App:
    containers = []
    for container in ("main", "proxy")[: 1 + (random.random() < _WITH_PROXY)]:
        cpu, memory = random.choice(_REQUESTS)
        containers.append(
            {
                "name": container,
                "image": f"registry.example/{name}:1.{random.randrange(40)}.0",
                "resources": {"requests": {"cpu": cpu, "memory": memory}},
            }
        )
    revision = "".join(random.choices(_LETTERS, k=10))
    return _App(namespace=namespace, name=name, revision=revision, replicas=replicas, containers=containers)


def _pods(app: _App, cluster: Cluster, random: Random) -> Iterator[dict[str, Any]]:
    owner = f"{app.name}-{app.revision}"
    reference = {
        "apiVersion": "apps/v1",
        "controller": True,
        "kind": "ReplicaSet",
        "name": owner,
        "uid": _uid(random),
    }
    shared = {"labels": app.labels, "ownerReferences": [reference]}
    for number in range(app.replicas):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{owner}-{_suffix(number)}", "namespace": app.namespace, **shared},
            "spec": {
                "containers": app.containers,
                "nodeName": _node_name(random.randrange(cluster.nodes)),
                "tolerations": _TOLERATIONS,
            },
            "status": {"phase": "Running"},
        }


def _replica_set(app: _App, revision: str, *, number: int, replicas: int) -> dict[str, Any]:
    selector = {"app": app.name, "pod-template-hash": revision}
    labels = selector | {"tier": "backend"}
    made = _object("apps/v1", "ReplicaSet", f"{app.name}-{revision}", app.namespace)
    made["metadata"] |= {
        "labels": labels,
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "controller": True,
                "kind": "Deployment",
                "name": app.name,
                "uid": _uid(Random(f"{app.namespace}/{app.name}")),
            }
        ],
    }
    containers = [
        container | {"image": f"{container['image']}{'' if replicas else f'-{number}'}"}
        for container in app.containers
    ]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": {"matchLabels": selector}, "template": template}
    return made | {"spec": spec}


def _suffix(number: int) -> str:
    """Return five letters that look random and are another for every number below 27**5."""
    left = (number * _SCATTER + _SCATTER) % len(_LETTERS) ** _SUFFIX_LENGTH
    letters = ""
    for _ in range(_SUFFIX_LENGTH):
        left, letter = divmod(left, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters


def _uid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _object(api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": _CREATED} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb") as opened:
        write_list(USUAL, opened)
