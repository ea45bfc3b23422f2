"""Valid and hostile objects under review whose lists, maps and strings grow.

One rich workload has every list, map and string that anything here reads; a shape is one of them, with a way
to make it larger. So a new field of the rich workload is a new member of the family.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: Sizes of a list, a map or a string; those whose body would be larger than ``MAX_BODY_BYTES`` are left out.
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
#: Texts that strings are made of: plain, spaces, and what tends to be quadratic for a parser.
FILLERS = ("a", " ", "(", " (", "{{", '"', "\\", ",", ": ", "\n", "-", ".", "é", "\u202e")


class Shape(NamedTuple):
    """A way to grow an object."""

    name: str  #: Says which part grows, and of what.
    make: Callable[[int], dict[str, Any]]  #: Returns the object at a size.


def a_rich_workload(*, hard: bool = True) -> dict[str, Any]:
    """Return a Deployment with one entry in every list and map that is read anywhere."""
    labels = {"app": "web"}
    requirement = {"key": "app", "operator": "In", "values": ["web"]}
    selector = {"matchLabels": dict(labels), "matchExpressions": [requirement]}
    term = {
        "labelSelector": copy.deepcopy(selector),
        "namespaces": ["shop"],
        "namespaceSelector": copy.deepcopy(selector),
        "topologyKey": "kubernetes.io/hostname",
        "matchLabelKeys": ["pod-template-hash"],
    }
    node_requirement = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    node_term = {
        "matchExpressions": [node_requirement],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
    }
    container = {
        "name": "web",
        "image": "web:1",
        "command": ["web"],
        "env": [{"name": "A", "value": "a"}],
        "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "1Mi"}, "claims": [{"name": "c"}]},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": copy.deepcopy(selector),
        "matchLabelKeys": ["pod-template-hash"],
        "nodeAffinityPolicy": "Honor",
        "nodeTaintsPolicy": "Honor",
    }
    spec = {
        "schedulerName": "default-scheduler",
        "priorityClassName": "p",
        "nodeSelector": {"topology.kubernetes.io/zone": "a"},
        "tolerations": [{"key": "team", "operator": "Equal", "value": "x", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_term]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": copy.deepcopy(node_term)}
                ],
            },
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [copy.deepcopy(term)],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": copy.deepcopy(term)}
                ],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [copy.deepcopy(term)],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": copy.deepcopy(term)}
                ],
            },
        },
        "topologySpreadConstraints": [constraint],
        "containers": [container],
        "initContainers": [copy.deepcopy(container) | {"restartPolicy": "Always", "name": "init"}],
        "overhead": {"cpu": "1m"},
        "resources": {"requests": {"cpu": "2m"}},
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}],
        "schedulingGates": [],
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        "imagePullSecrets": [{"name": "s"}],
        "readinessGates": [{"conditionType": "c"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": dict(labels),
            "annotations": {"evenkeel.dev/ignore": "selector-shared: both are one service", "note": "x"},
            "finalizers": ["f"],
        },
        "spec": {
            "replicas": 3,
            "selector": copy.deepcopy(selector),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": dict(labels), "annotations": {"evenkeel.dev/ignore": "", "note": "x"}},
                "spec": spec,
            },
        },
    }


def as_pod(workload: dict[str, Any]) -> dict[str, Any]:
    """Return the Pod that a person would write from a workload's template."""
    template = workload["spec"]["template"]
    metadata = {"name": "web", "namespace": "shop", **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def shapes() -> Iterator[Shape]:
    """Yield every shape of the family."""
    rich = a_rich_workload()
    for way, value in _parts(rich):
        name = ".".join(map(str, way))
        if isinstance(value, list):
            for how, vary in _LISTS.items():
                yield Shape(f"{name}: list, {how}", _grower(way, vary, value[0] if value else {}))
        elif isinstance(value, dict):
            yield Shape(f"{name}: map", _grower(way, _long_map, value))
        elif isinstance(value, str):
            for filler in FILLERS:
                yield Shape(f"{name}: string of {filler!r}", _grower(way, _long_text, filler))


def _parts(node: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield way, node
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        yield from _parts(value, (*way, key))


def _grower(way: tuple[str | int, ...], grow: Callable[[Any, int], Any], seed: Any) -> Callable[[int], Any]:
    def make(size: int) -> dict[str, Any]:
        obj = a_rich_workload()
        node: Any = obj
        for key in way[:-1]:
            node = node[key]
        if way:
            node[way[-1]] = grow(seed, size)
        return obj

    return make


def _repeated(item: Any, size: int) -> list[Any]:
    return [item] * size


def _varied(item: Any, size: int) -> list[Any]:
    """Return copies of an entry, each with other texts where names are."""
    return [_numbered(item, number) for number in range(size)]


def _numbered(item: Any, number: int) -> Any:
    if isinstance(item, dict):
        named = {"name", "topologyKey", "key"} & item.keys()
        return item | {key: f"{item[key]}-{number}" for key in named}
    return f"{item}-{number}" if isinstance(item, str) else item


def _empty(item: Any, size: int) -> list[Any]:
    return [{} if isinstance(item, dict) else ""] * size


def _wrong(_item: Any, size: int) -> list[Any]:
    return [7] * size


#: How the entries of a longer list come about.
_LISTS = {"repeated": _repeated, "varied": _varied, "empty": _empty, "of numbers": _wrong}


def _long_map(seed: dict[str, Any], size: int) -> dict[str, Any]:
    value = next(iter(seed.values()), "v")
    return seed | {f"k{number}": value if isinstance(value, str) else "v" for number in range(size)}


def _long_text(filler: str, size: int) -> str:
    return filler * size
