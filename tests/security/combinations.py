"""Objects that combine everything that multiplies: how many of each, and of which form, is a list of choices.

A combination is a choice for every name of ``CHOICES``. ``benchmarks.dearest_review`` searches for the ones
whose review takes longest, and the tests for one whose work was not counted.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tests.security.shapes import as_pod

#: What may be chosen, by the name of the choice.
Choices: TypeAlias = Mapping[str, tuple[Any, ...]]
#: Numbers of entries of a list.
MANY: Final = (0, 1, 2, 3, 6, 15, 30, 60, 100, 300, 1_000, 3_000, 12_000)
FEW: Final = (0, 1, 2, 3, 5, 10, 30, 100)
#: How the keys of entries are chosen: each its own, all one that nodes have, or all that nodes have in turn.
KEYS: Final = ("own", "one", "real")
#: The labels that nodes have.
REAL_KEYS: Final = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "pool",
)
#: The PriorityClass that pods may name, the beginnings of claims' names in the cluster, those that wait and
#: those that are bound, and its storage classes with their modes.
PRIORITY_CLASS: Final = "important"
CLAIMS: Final = ("waits", "holds")
STORAGE_CLASSES: Final = {"wait": "WaitForFirstConsumer", "now": "Immediate", "local": "WaitForFirstConsumer"}
_KINDS = ("Deployment", "Pod", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", "Rollout")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt")
_SELECTORS = ("own", "other", "empty", "none", "expressions")

#: The choices, by name.
CHOICES: Final[Choices] = {
    "kind": _KINDS,
    "update": (None, "same", "unspread", "other labels"),
    "replicas": (None, 0, 1, 3, 50, 301, 10_000, 150_000, 2**31 - 1),
    "strategy": ("surge", "unavailable", "recreate", "none"),
    "labels": FEW,
    "annotations": MANY,
    "constraints": (0, 1, 2, 3, 4, 6, 10, 16, 33, 100, 1_000),
    "constraint_keys": KEYS,
    "constraint_action": ("hard", "soft", "both"),
    "max_skew": ("1", "2", "5", "each", "1000000"),
    "min_domains": (None, 2, 5, 1_000),
    "constraint_policies": ("default", "Honor", "Ignore"),
    "constraint_selector": _SELECTORS,
    "selector_size": FEW,
    "match_label_keys": FEW,
    "tolerations": MANY,
    "toleration_form": ("all", "own", "matching"),
    "node_selector": FEW,
    "node_terms": MANY,
    "node_expressions": FEW,
    "node_values": MANY,
    "node_operator": _OPERATORS,
    "node_keys": KEYS,
    "field_terms": MANY,
    "preferred_nodes": MANY,
    "affinity": MANY,
    "preferred_affinity": MANY,
    "anti_affinity": MANY,
    "preferred_anti_affinity": MANY,
    "term_keys": KEYS,
    "term_selector": _SELECTORS,
    "term_namespaces": ("own", "list", "selector", "empty selector"),
    "containers": MANY,
    "init_containers": FEW,
    "ports": FEW,
    "resources": FEW,
    "gates": FEW,
    "priority_class": (False, True),
    "cpu": ("1m", "4", "100"),
    "overhead": FEW,
    "host_network": (False, True),
    "volumes": MANY[:-2],
    "volume_form": (*CLAIMS, "both", "ephemeral", "missing"),
    "claim_templates": FEW,
}


def drawn(source: random.Random, *, busy: float, of: Choices = CHOICES) -> dict[str, Any]:
    """Return a combination in which so large a share of all choices is not the first one."""
    return {
        name: source.choice(options) if source.random() < busy else options[0] for name, options in of.items()
    }


def changed(
    combination: Mapping[str, Any], source: random.Random, *, of: Choices = CHOICES
) -> dict[str, Any]:
    """Return a combination with some choices made anew: most to the next larger or smaller one."""
    result = dict(combination)
    for name in source.sample(sorted(of), k=source.randint(1, 4)):
        options = of[name]
        place = options.index(result[name]) + source.choice((-1, 1, 1))
        near = options[min(max(place, 0), len(options) - 1)]
        result[name] = near if source.random() < 0.7 else source.choice(options)
    return result


def an_object(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of a combination."""
    labels = {"app": "web"} | {f"l{number}": "v" for number in range(chosen["labels"])}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(chosen)}
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop", "labels": {"app": "web"}}
    if chosen["annotations"]:
        metadata["annotations"] = {f"a{number}": "x" for number in range(chosen["annotations"])}
    spec: dict[str, Any] = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    if chosen["replicas"] is not None:
        spec["replicas"] = chosen["replicas"]
    strategy = _strategy(chosen["strategy"])
    workload = {"apiVersion": "apps/v1", "kind": chosen["kind"], "metadata": metadata, "spec": spec}
    match chosen["kind"]:
        case "Pod":
            return as_pod(workload)
        case "Deployment" if strategy:
            spec["strategy"] = strategy
        case "StatefulSet" if chosen["claim_templates"]:
            names = range(chosen["claim_templates"])
            spec["volumeClaimTemplates"] = [
                {"metadata": {"name": f"d{number}"}, "spec": _claim(number)} for number in names
            ]
        case "Rollout":
            workload["apiVersion"] = "argoproj.io/v1alpha1"
        case "Job":
            workload |= {
                "apiVersion": "batch/v1",
                "spec": {"parallelism": chosen["replicas"], "template": template},
            }
        case "CronJob":
            job = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
            workload |= {"apiVersion": "batch/v1", "spec": job}
    return workload


def stored_before(chosen: Mapping[str, Any], obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was stored before an object of a combination; None where it is new."""
    if chosen["update"] is None:
        return None
    old = copy.deepcopy(dict(obj))
    if chosen["update"] == "unspread":
        template_of(old)["spec"].pop("topologySpreadConstraints", None)
    elif chosen["update"] == "other labels":
        template_of(old)["metadata"]["labels"] = {"app": "old"}
    return old


def template_of(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the template of the pods of an object; a Pod itself."""
    spec = obj["spec"].get("jobTemplate", obj)["spec"]
    template: dict[str, Any] = spec.get("template", obj)
    return template


def _strategy(form: str) -> dict[str, Any]:
    rolling = {"surge": (1, 0), "unavailable": (0, 1)}.get(form)
    if rolling is None:
        return {"type": "Recreate"} if form == "recreate" else {}
    surge, unavailable = rolling
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def _pod_spec(chosen: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": _containers(chosen, "containers")}
    lists = {
        "initContainers": _containers(chosen, "init_containers"),
        "topologySpreadConstraints": [_constraint(chosen, number) for number in range(chosen["constraints"])],
        "tolerations": [_toleration(chosen, number) for number in range(chosen["tolerations"])],
        "schedulingGates": [{"name": f"example.com/g{number}"} for number in range(chosen["gates"])],
    }
    spec |= {name: entries for name, entries in lists.items() if entries}
    if chosen["priority_class"]:
        spec["priorityClassName"] = PRIORITY_CLASS
    if chosen["overhead"]:
        spec["overhead"] = {f"example.com/r{number}": "1" for number in range(chosen["overhead"])}
    if chosen["host_network"]:
        spec["hostNetwork"] = True
    if chosen["volumes"]:
        spec["volumes"] = [_volume(chosen, number) for number in range(chosen["volumes"])]
    if chosen["node_selector"]:
        keys = (_key("node_keys", chosen, number) for number in range(chosen["node_selector"]))
        spec["nodeSelector"] = dict.fromkeys(keys, "a")
    spec["affinity"] = {
        "nodeAffinity": _node_affinity(chosen),
        "podAffinity": _pod_affinity(chosen, "affinity", "preferred_affinity"),
        "podAntiAffinity": _pod_affinity(chosen, "anti_affinity", "preferred_anti_affinity"),
    }
    return spec


def _key(name: str, chosen: Mapping[str, Any], number: int) -> str:
    match chosen[name]:
        case "own":
            return f"example.com/k{number}"
        case "one":
            return REAL_KEYS[0]
        case _:
            return REAL_KEYS[number % len(REAL_KEYS)]


def _containers(chosen: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    ports = [{"containerPort": 80, "hostPort": 1 + number} for number in range(chosen["ports"])]
    requests = {"cpu": chosen["cpu"]} | {
        f"example.com/r{number}": "1" for number in range(chosen["resources"])
    }
    one = {"image": "web:1", "ports": ports, "resources": {"requests": requests, "limits": requests}}
    return [one | {"name": f"c{number}"} for number in range(chosen[name] or (name == "containers"))]


def _volume(chosen: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a volume: of a claim of the cluster, or with a claim of its own."""
    volume: dict[str, Any] = {"name": f"v{number}"}
    form = chosen["volume_form"]
    if form == "ephemeral":
        return volume | {"ephemeral": {"volumeClaimTemplate": {"spec": _claim(number)}}}
    name = CLAIMS[number % len(CLAIMS)] if form == "both" else form
    return volume | {"persistentVolumeClaim": {"claimName": f"{name}{number}"}}


def _claim(number: int) -> dict[str, Any]:
    requests = {"requests": {"storage": "1Gi"}}
    storage_class = list(STORAGE_CLASSES)[number % len(STORAGE_CLASSES)]
    return {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "resources": requests}


def _selector(form: str, size: int) -> dict[str, Any] | None:
    match form:
        case "own":
            return {"matchLabels": {"app": "web"} | {f"l{number}": "v" for number in range(size)}}
        case "other":
            return {"matchLabels": {"app": "other"} | {f"o{number}": "v" for number in range(size)}}
        case "expressions":
            values = [f"v{number}" for number in range(size)]
            entries = [{"key": f"e{number}", "operator": "NotIn", "values": values} for number in range(size)]
            return {"matchExpressions": entries}
        case "empty":
            return {}
        case _:
            return None


def _constraint(chosen: Mapping[str, Any], number: int) -> dict[str, Any]:
    hard = chosen["constraint_action"] == "hard" or (chosen["constraint_action"] == "both" and number % 2)
    skew = number % 7 + 1 if chosen["max_skew"] == "each" else int(chosen["max_skew"])
    constraint: dict[str, Any] = {
        "maxSkew": skew,
        "topologyKey": _key("constraint_keys", chosen, number),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    if (selector := _selector(chosen["constraint_selector"], chosen["selector_size"])) is not None:
        constraint["labelSelector"] = selector
    if hard and chosen["min_domains"] is not None:
        constraint["minDomains"] = chosen["min_domains"]
    if chosen["constraint_policies"] != "default":
        policy = chosen["constraint_policies"]
        constraint |= {"nodeAffinityPolicy": policy, "nodeTaintsPolicy": policy}
    if chosen["match_label_keys"]:
        constraint["matchLabelKeys"] = [f"m{each}" for each in range(chosen["match_label_keys"])]
    return constraint


def _toleration(chosen: Mapping[str, Any], number: int) -> dict[str, Any]:
    match chosen["toleration_form"]:
        case "all":
            return {"operator": "Exists"}
        case "own":
            return {"key": f"t{number}", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
        case _:
            return {"key": "team", "operator": "Equal", "value": f"x{number}", "effect": "NoSchedule"}


def _node_affinity(chosen: Mapping[str, Any]) -> dict[str, Any]:
    operator = chosen["node_operator"]
    values = ["5"] if operator == "Gt" else [f"a{number}" for number in range(chosen["node_values"])]
    expressions = [
        {"key": _key("node_keys", chosen, number), "operator": operator}
        | ({"values": values} if operator in {"In", "NotIn", "Gt"} else {})
        for number in range(chosen["node_expressions"])
    ]
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
    terms = [{"matchExpressions": expressions}] * chosen["node_terms"]
    terms += [{"matchFields": fields}] * chosen["field_terms"]
    wishes = [{"weight": 1, "preference": {"matchExpressions": expressions}}] * chosen["preferred_nodes"]
    required = (
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}} if terms else {}
    )
    return required | {"preferredDuringSchedulingIgnoredDuringExecution": wishes}


def _pod_affinity(chosen: Mapping[str, Any], required: str, preferred: str) -> dict[str, Any]:
    wishes = [{"weight": 1, "podAffinityTerm": _term(chosen, number)} for number in range(chosen[preferred])]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            _term(chosen, number) for number in range(chosen[required])
        ],
        "preferredDuringSchedulingIgnoredDuringExecution": wishes,
    }


def _term(chosen: Mapping[str, Any], number: int) -> dict[str, Any]:
    selector = _selector(chosen["term_selector"], chosen["selector_size"])
    term: dict[str, Any] = {"topologyKey": _key("term_keys", chosen, number), "labelSelector": selector}
    match chosen["term_namespaces"]:
        case "list":
            term["namespaces"] = ["shop", "other"]
        case "selector":
            term["namespaceSelector"] = {"matchLabels": {"team": "a"}}
        case "empty selector":
            term["namespaceSelector"] = {}
    return term
