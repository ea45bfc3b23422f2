"""Which constraints are in force for a pod, and by which selector; shares no code with ``policies``.

Source: ``pkg/scheduler/framework/plugins/podtopologyspread/common.go`` and ``plugins/helper/spread.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.policies.scheduler.oracle_matching import (
    Object,
    Selector,
    equalities,
    labels_of,
    matches,
    name_of,
    namespace_of,
    selector_of,
)

HOSTNAME = "kubernetes.io/hostname"
#: ``systemDefaultConstraints``, ``pkg/scheduler/framework/plugins/podtopologyspread/plugin.go``.
SYSTEM_DEFAULTS = (
    {"topologyKey": HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
    {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 5, "whenUnsatisfiable": "ScheduleAnyway"},
)
#: Where a case lists the controllers whose selector joins the defaults', by apiVersion and kind.
OWNER_LISTS = {
    ("v1", "ReplicationController"): "replicationControllers",
    ("apps/v1", "ReplicaSet"): "replicaSets",
    ("apps/v1", "StatefulSet"): "statefulSets",
}


@dataclass(frozen=True, kw_only=True)
class Behavior:
    """The behaviors that differ between releases; by default those of Kubernetes 1.36."""

    min_domains: bool = True
    #: If off, node affinity is always honored and taints are always ignored.
    inclusion_policies: bool = True
    match_label_keys: bool = True
    #: Whether ``labelSelector: {}`` counts the namespace's pods or none.
    empty_selector_counts: bool = False


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A constraint in force, with its defaults filled in."""

    #: Whether it filters; if not, it scores.
    hard: bool
    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def constraints_in_force(case: Mapping[str, Any], behavior: Behavior) -> list[Spread]:
    """Return the pod's own constraints or the cluster's defaults.

    Defaults are "used only if the pod has no constraints of its own"; if the deduced selector "comes out
    empty: no defaults".
    """
    pod, args = case["pod"], case["args"]
    own = pod["spec"].get("topologySpreadConstraints")
    if own:
        return [spread_of(raw, own_selector(raw, pod, behavior), behavior) for raw in own]
    defaults = SYSTEM_DEFAULTS if args["defaultingType"] == "System" else args.get("defaultConstraints") or ()
    selector = deduced_selector(case)
    return [spread_of(raw, selector, behavior) for raw in defaults] if selector else []


def own_selector(constraint: Object, pod: Object, behavior: Behavior) -> Selector:
    """Return the selector that a pod's own constraint counts by.

    "matchLabelKeys adds key = value-of-the-incoming-pod for each key that the incoming pod's labels have,
    keys it lacks are ignored, and a null selector stays nothing."
    """
    selector = selector_of(constraint.get("labelSelector"))
    if selector is None or not behavior.match_label_keys:
        return selector
    labels = labels_of(pod)
    keys = constraint.get("matchLabelKeys") or ()
    return selector + equalities({key: labels[key] for key in keys if key in labels})


def deduced_selector(case: Mapping[str, Any]) -> Selector:
    """Return the selector for the defaults.

    "Labels of all Services in the namespace whose (non-null) selector matches the pod, merged, plus the
    selector of the controller owner"; a ReplicationController's pairs replace those of Services, a
    ReplicaSet's or StatefulSet's conditions are further ones, and a null selector adds nothing.
    """
    pod = case["pod"]
    pairs: dict[str, str] = {}
    for service in case.get("services") or ():
        selector = service["spec"].get("selector")
        if namespace_of(service) == namespace_of(pod) and matches(equalities(selector or {}), labels_of(pod)):
            pairs |= selector or {}
    owner = owner_of(case)
    if owner is None:
        return equalities(pairs)
    selector = (owner.get("spec") or {}).get("selector")
    if owner["kind"] == "ReplicationController":
        return equalities(pairs | (selector or {}))
    return equalities(pairs) + (selector_of(selector) or ())


def owner_of(case: Mapping[str, Any]) -> Object | None:
    """Return the pod's controller if it is of a kind that the defaults look at and is in the cluster."""
    pod = case["pod"]
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            owners = case.get(OWNER_LISTS.get((reference["apiVersion"], reference["kind"]), ""))
            wanted = (namespace_of(pod), reference["name"])
            return next((o for o in owners or () if (namespace_of(o), name_of(o)) == wanted), None)
    return None


def spread_of(raw: Object, selector: Selector, behavior: Behavior) -> Spread:
    """Fill in a constraint's defaults: minDomains 1, nodeAffinityPolicy Honor, nodeTaintsPolicy Ignore."""
    policies = raw if behavior.inclusion_policies else {}
    return Spread(
        hard=raw["whenUnsatisfiable"] == "DoNotSchedule",
        max_skew=raw["maxSkew"],
        topology_key=raw["topologyKey"],
        selector=selector,
        min_domains=(raw.get("minDomains") or 1) if behavior.min_domains else 1,
        honors_affinity=(policies.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honors_taints=(policies.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )
