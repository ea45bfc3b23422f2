"""Clusters that combine everything that multiplies: how many of each object, and of which form, is a choice.

``SHAPES`` are clusters that operators have, or that one user can make; the searches change them further, as
they change the objects of ``combinations``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from tests.builders import a_policy
from tests.security.combinations import (
    CLAIMS,
    KEYS,
    PRIORITY_CLASS,
    REAL_KEYS,
    STORAGE_CLASSES,
    Choices,
)

#: The most terms of pod affinity that the pods of a cluster have together: each takes 0.1 ms to store.
MOST_TERMS: Final = 60_000

#: The choices, by name; the first is that of a plain cluster.
CLUSTER_CHOICES: Final[Choices] = {
    "zones": (3, 50, None),
    "node_labels": (0, 5, 40),
    "taints": (0, 1, 5, 20),
    "pods": (2, 0, 1, 4, 16),
    "pod_labels": ("shared", "few", "own", "ten of its own"),
    "pod_cpu": ("0", "1"),
    "pod_priorities": ("none", "rising"),
    "host_ports": (0, 1, 10),
    "namespaces": (1, 2, 50, 1_000, 5_000),
    "namespace_labels": (0, 20),
    "holders": (0, 1, 20, "all"),
    "terms": (1, 3, 30, 300, 3_000, 8_000),
    "term_kind": ("anti-affinity", "affinity", "preferred"),
    "term_selector": ("other", "own", "NotIn", "values"),
    "term_namespaces": ("own", "list", "selector", "empty selector"),
    "term_keys": KEYS,
    "budgets": (0, 1, 30, 100, 500, 1_000, 2_000),
    "budget_selector": ("one", "each", "NotIn", "values"),
    "disrupted": (0, 10),
    "services": (0, 100, 5_000),
    "controllers": (0, 100, 5_000),
    "service_selector": ("other", "own"),
    "claims": (0, 100, 1_000, 5_000),
    "policies": (1, 30, 300),
}

#: The clusters by name: what they choose besides what a plain one has.
SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {},
    "terms of every pod": {"pods": 4, "holders": "all", "terms": 3, "term_selector": "values"}
    | {"term_keys": "real", "term_namespaces": "empty selector"},
    "terms of one user": {"holders": 20, "terms": 3_000, "term_selector": "NotIn"}
    | {"term_namespaces": "empty selector"},
    "labels of nodes": {"zones": None, "node_labels": 40, "taints": 20, "pods": 1},
    "namespaces": {"namespaces": 5_000, "namespace_labels": 20, "pods": 4, "pod_labels": "ten of its own"},
    "services": {"pods": 1, "services": 5_000, "controllers": 5_000, "service_selector": "own"},
    "budgets": {
        "pods": 16,
        "pod_labels": "few",
        "pod_cpu": "1",
        "pod_priorities": "rising",
        "budgets": 2_000,
    },
    "budgets of teams": {"pods": 16, "pod_labels": "few", "pod_cpu": "1", "namespaces": 50, "budgets": 1_000}
    | {"budget_selector": "each"},
    "volumes": {"pods": 1, "claims": 5_000},
}


#: What each policy says besides its scope.
POLICY: Final[Mapping[str, Any]] = {
    "enforcement": "deny",
    "defaults": {
        "at": "both",
        "constraints": [
            {"maxSkew": 1, "topologyKey": REAL_KEYS[1], "whenUnsatisfiable": "ScheduleAnyway"},
        ],
    },
}


def a_cluster(**chosen: Any) -> dict[str, Any]:
    """Return the choices of a cluster: those given, and else a plain one's."""
    return {name: options[0] for name, options in CLUSTER_CHOICES.items()} | chosen


def stored_objects(chosen: Mapping[str, Any], nodes: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster, and no policies: the reviewed objects are in its namespace shop."""
    parts = (_namespaces, _nodes, _pods, _budgets, _services, _storage)
    return chain.from_iterable(part(chosen, nodes) for part in parts)


def changed_pod(chosen: Mapping[str, Any], nodes: int, value: str) -> dict[str, Any] | None:
    """Return one of the pods as it comes again with a label that has a new value; None if there is no pod."""
    if not chosen["pods"]:
        return None
    # The last one, for to store the terms of one user's pods takes longer than many reviews.
    pod = _pod(chosen, nodes, nodes * chosen["pods"] - 1)
    pod["metadata"]["labels"]["turn"] = value
    return pod


def stored_policies(chosen: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies of a cluster: of all but the last each selects what has a label of its own."""
    for number in range(chosen["policies"] - 1):
        scope = {"objectSelector": {"matchLabels": {"app": f"w{number}"}}}
        yield a_policy(f"p{number}", **POLICY, scope=scope)
    yield a_policy("last", **POLICY)


def _object(kind: str, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
    """Return an object; the kind stands behind its apiVersion."""
    version, _, kind = kind.rpartition("/")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **parts.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _namespace(number: int, chosen: Mapping[str, Any]) -> str:
    """Return the namespace of the pod or budget of a number."""
    place = number % chosen["namespaces"]
    return f"ns{place}" if place else "shop"


def _namespaces(chosen: Mapping[str, Any], _nodes: int) -> Iterator[dict[str, Any]]:
    for number in range(chosen["namespaces"]):
        name = _namespace(number, chosen)
        labels = {"kubernetes.io/metadata.name": name, "team": f"t{number % 2}"}
        labels |= {f"l{each}": "v" for each in range(chosen["namespace_labels"])}
        yield _object("v1/Namespace", name, metadata={"labels": labels})
    yield _object("scheduling.k8s.io/v1/PriorityClass", PRIORITY_CLASS, value=1_000_000)


def _nodes(chosen: Mapping[str, Any], nodes: int) -> Iterator[dict[str, Any]]:
    zones = chosen["zones"] or nodes
    for number in range(nodes):
        name = f"n{number}"
        places = (name, f"z{number % zones}", f"r{number % zones % 2}", f"p{number % 7}")
        labels = dict(zip(REAL_KEYS, places, strict=True))
        labels |= {f"example.com/k{each}": f"v{number % (each + 2)}" for each in range(chosen["node_labels"])}
        taints = [
            {"key": "team" if each == 0 else f"t{each}", "value": "y", "effect": "NoSchedule"}
            for each in range(chosen["taints"])
        ]
        status = {
            "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
            "images": [{"names": [f"web:{each}"], "sizeBytes": 10**8} for each in range(5)],
        }
        yield _object("v1/Node", name, metadata={"labels": labels}, spec={"taints": taints}, status=status)


def _pods(chosen: Mapping[str, Any], nodes: int) -> Iterator[dict[str, Any]]:
    return (_pod(chosen, nodes, number) for number in range(nodes * chosen["pods"]))


def _pod(chosen: Mapping[str, Any], nodes: int, number: int) -> dict[str, Any]:
    pods = chosen["pods"]
    requests = {"cpu": chosen["pod_cpu"], "memory": "1Mi"}
    ports = [{"containerPort": 80, "hostPort": 1 + each} for each in range(chosen["host_ports"])]
    spec: dict[str, Any] = {"nodeName": f"n{number // pods}"}
    spec["containers"] = [{"name": "c", "ports": ports, "resources": {"requests": requests}}]
    if chosen["pod_priorities"] == "rising":
        spec["priority"] = 10 * (number % pods)
    holders = nodes * pods if chosen["holders"] == "all" else chosen["holders"]
    if number < holders:
        terms = min(chosen["terms"], MOST_TERMS // holders)
        spec["affinity"] = _affinity(chosen, range(number * terms, (number + 1) * terms))
    return _object(
        "v1/Pod",
        f"w-{number}",
        _namespace(number, chosen),
        metadata={"labels": _pod_labels(chosen["pod_labels"], number, pods)},
        spec=spec,
        status={"phase": "Running", "startTime": f"2026-01-01T00:{number % 60:02}:00Z"},
    )


def _pod_labels(form: str, number: int, pods: int) -> dict[str, str]:
    match form:
        case "shared":
            return {"app": "web"}
        case "few":
            return {"app": f"w{number % pods}", "part": "web"}
        case "own":
            return {"app": "web", "statefulset.kubernetes.io/pod-name": f"w-{number}"}
        case _:
            return {"app": "web"} | {f"l{each}": str(number) for each in range(10)}


def _affinity(chosen: Mapping[str, Any], numbers: range) -> dict[str, Any]:
    terms = [_term(chosen, number) for number in numbers]
    kind = "podAffinity" if chosen["term_kind"] == "affinity" else "podAntiAffinity"
    if chosen["term_kind"] == "preferred":
        wishes = [{"weight": 1, "podAffinityTerm": term} for term in terms]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _term(chosen: Mapping[str, Any], number: int) -> dict[str, Any]:
    selector = _selector(chosen["term_selector"], number)
    real = REAL_KEYS[number % len(REAL_KEYS)]
    key = {"own": f"example.com/k{number}", "one": REAL_KEYS[0]}.get(chosen["term_keys"], real)
    return {"topologyKey": key, "labelSelector": selector, **_TERM_NAMESPACES[chosen["term_namespaces"]]}


_TERM_NAMESPACES: Final[Mapping[str, Mapping[str, Any]]] = {
    "own": {},
    "list": {"namespaces": ["shop", "other"]},
    "selector": {"namespaceSelector": {"matchLabels": {"team": "t0"}}},
    "empty selector": {"namespaceSelector": {}},
}


def _selector(form: str, number: int) -> dict[str, Any]:
    """Return a selector that differs from those of other numbers, but for the one that all share."""
    match form:
        case "own" | "one":
            return {"matchLabels": {"app": "web"}}
        case "each":
            return {"matchLabels": {"app": f"w{number % 16}"}}
        case "other":
            return {"matchLabels": {"app": f"other{number}"}}
        case "NotIn":
            return {"matchExpressions": [{"key": f"q{number}", "operator": "NotIn", "values": ["x"]}]}
        case _:
            return {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", f"w{number}"]}]}


def _budgets(chosen: Mapping[str, Any], _nodes: int) -> Iterator[dict[str, Any]]:
    disrupted = {f"w-{number}": "2026-01-01T00:00:00Z" for number in range(chosen["disrupted"])}
    for number in range(chosen["budgets"]):
        spec = {"maxUnavailable": 0, "selector": _selector(chosen["budget_selector"], number)}
        status = {"disruptionsAllowed": number % 3, "disruptedPods": disrupted}
        namespace = _namespace(number, chosen)
        yield _object("policy/v1/PodDisruptionBudget", f"b{number}", namespace, spec=spec, status=status)


def _services(chosen: Mapping[str, Any], _nodes: int) -> Iterator[dict[str, Any]]:
    for number in range(chosen["services"]):
        selector = _selector(chosen["service_selector"], number)["matchLabels"]
        yield _object("v1/Service", f"s{number}", "shop", spec={"selector": selector})
    for number in range(chosen["controllers"]):
        spec = {"selector": _selector(chosen["service_selector"], number), "template": {}}
        yield _object("apps/v1/ReplicaSet", f"r{number}", "shop", spec=spec)


def _storage(chosen: Mapping[str, Any], nodes: int) -> Iterator[dict[str, Any]]:
    """Yield local volumes of the nodes, claims that wait for one, and others that are bound in all zones."""
    if not chosen["claims"]:
        return
    zones = {"key": REAL_KEYS[1], "values": ["z0", "z1"]}
    for name, mode in STORAGE_CLASSES.items():
        parts: dict[str, Any] = {"provisioner": "csi.x", "volumeBindingMode": mode}
        if name == "local":
            parts["provisioner"] = "kubernetes.io/no-provisioner"
        elif name == "wait":
            parts["allowedTopologies"] = [{"matchLabelExpressions": [zones]}]
        yield _object("storage.k8s.io/v1/StorageClass", name, **parts)
    for number in range(nodes):
        driver = {"name": "csi.x", "nodeID": f"n{number}", "topologyKeys": [REAL_KEYS[1]]}
        spec = {"drivers": [driver | {"allocatable": {"count": 20}}]}
        yield _object("storage.k8s.io/v1/CSINode", f"n{number}", spec=spec)
    for number in range(chosen["claims"]):
        host = {"key": REAL_KEYS[0], "operator": "In", "values": [f"n{number % nodes}"]}
        yield _volume(f"free{number}", "local", {"matchExpressions": [host]}, 1 + number % 50)
        in_zones = {"key": REAL_KEYS[1], "operator": "In", "values": [f"z{each}" for each in range(3)]}
        bound = _volume(f"bound{number}", "now", {"matchExpressions": [in_zones]}, 1, terms=20)
        bound["spec"] |= {
            "csi": {"driver": "csi.x", "volumeHandle": f"h{number}"},
            "claimRef": {"name": f"{CLAIMS[1]}{number}", "namespace": "shop"},
        }
        yield bound
        waits = _claim(("local", "wait")[number % 2], 1 + number % 50)
        yield _object("v1/PersistentVolumeClaim", f"{CLAIMS[0]}{number}", "shop", spec=waits)
        holds = _claim("now", 1) | {"volumeName": f"bound{number}"}
        done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        yield _object("v1/PersistentVolumeClaim", f"{CLAIMS[1]}{number}", "shop", metadata=done, spec=holds)


def _claim(storage_class: str, size: int) -> dict[str, Any]:
    requests = {"requests": {"storage": f"{size}Gi"}}
    return {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "resources": requests}


def _volume(
    name: str, storage_class: str, term: Mapping[str, Any], size: int, *, terms: int = 1
) -> dict[str, Any]:
    spec = {
        "capacity": {"storage": f"{size}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term] * terms}},
    }
    return _object("v1/PersistentVolume", name, spec=spec)
