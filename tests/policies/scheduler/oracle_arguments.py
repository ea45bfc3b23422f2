"""The effects of a profile's plugins and their arguments, by plain loops; shares no code with ``policies``.

Source: ``noderesources``, ``nodeaffinity`` and ``helper/shape_score.go`` below
``pkg/scheduler/framework/plugins``, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tests.policies.scheduler.oracle_affinity import REQUIRED, Neighborhood
from tests.policies.scheduler.oracle_configuration import Settings
from tests.policies.scheduler.oracle_matching import Object, name_of, term_allows
from tests.policies.scheduler.oracle_resources import (
    ASSUMED,
    allocatable,
    assumed_requests,
    is_counted,
    requested,
)
from tests.policies.scheduler.oracle_spread import Situation, round_half_away

#: The plugins that refuse nodes, by the name of their reason, and the points that they need for it.
FILTERS = {
    "nodeUnschedulable": ("NodeUnschedulable", ["filter"]),
    "nodeName": ("NodeName", ["filter"]),
    "taintToleration": ("TaintToleration", ["filter"]),
    "nodeAffinity": ("NodeAffinity", ["filter"]),
    "nodePorts": ("NodePorts", ["filter", "preFilter"]),
    "nodeResourcesFit": ("NodeResourcesFit", ["filter", "preFilter"]),
    "podTopologySpread": ("PodTopologySpread", ["filter", "preFilter"]),
    "interPodAffinity": ("InterPodAffinity", ["filter", "preFilter"]),
}
CPU_AND_MEMORY: list[dict[str, Any]] = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def filtered(
    reasons: Mapping[str, str], situation: Situation, node: Object, settings: Settings
) -> dict[str, str]:
    """Return of the default profile's reasons those that a profile's plugins give, and what it adds."""
    reasons = dict(reasons)
    fit = settings.args.get("NodeResourcesFit", {})
    if "nodeResourcesFit" in reasons:
        texts = [text for text in reasons.pop("nodeResourcesFit").split(", ") if not is_ignored(text, fit)]
        if texts:
            reasons["nodeResourcesFit"] = ", ".join(texts)
    enforced = added_affinity(settings).get(REQUIRED)
    if enforced is not None:
        terms = enforced.get("nodeSelectorTerms") or ()
        if not any(term_allows(term, node) for term in terms):
            reasons["nodeAffinity"] = "node(s) didn't match scheduler-enforced node affinity"
    kept = {
        name: text for name, text in reasons.items() if settings.runs(FILTERS[name][0], *FILTERS[name][1])
    }
    if settings.runs("NodeAffinity", "preFilter") and not settings.runs("NodeAffinity", "filter"):
        names = names_asked_for(situation.pod)
        if names is not None and name_of(node) not in names:
            kept["nodeAffinity"] = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    return kept


def is_ignored(text: str, fit: Mapping[str, Any]) -> bool:
    """Tell whether a shortage is of an extended resource that NodeResourcesFit ignores."""
    resource = text.removeprefix("Insufficient ")
    if resource == text or "/" not in resource or "kubernetes.io/" in resource:
        return False
    groups = fit.get("ignoredResourceGroups") or ()
    return resource in (fit.get("ignoredResources") or ()) or resource.split("/")[0] in groups


def added_affinity(settings: Settings) -> Object:
    """Return the node affinity that the profile adds to every pod's."""
    return settings.args.get("NodeAffinity", {}).get("addedAffinity") or {}


def names_asked_for(pod: Object) -> set[str] | None:
    """Return the nodes that every required term names; None where one names none."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    names: set[str] = set()
    for term in terms:
        fields = [set(f["values"]) for f in term.get("matchFields") or () if f["operator"] == "In"]
        if not fields:
            return None
        names |= set.intersection(*fields)
    return names if terms else None


def score_fit(situation: Situation, _: Neighborhood, feasible: Iterable[Object], settings: Settings) -> Any:
    """Score by the profile's strategy."""
    strategy = settings.args.get("NodeResourcesFit", {}).get("scoringStrategy") or {"type": "LeastAllocated"}
    raw = {}
    for node in feasible:
        total = weights = 0
        for resource in strategy.get("resources") or CPU_AND_MEMORY:
            amounts = amounts_of(resource["name"], situation, node, assumed=True)
            if amounts is None:
                continue
            capacity, used, wanted = amounts
            score = by_strategy(strategy, used + wanted, capacity)
            weight = resource.get("weight") or 1
            if score > 0 or strategy["type"] != "RequestedToCapacityRatio":
                total += score * weight
                weights += weight
        if not weights:
            raw[name_of(node)] = 0
        elif strategy["type"] == "RequestedToCapacityRatio":
            raw[name_of(node)] = round_half_away(total / weights)
        else:
            raw[name_of(node)] = total // weights
    return {name: (score, score) for name, score in raw.items()}


def amounts_of(
    resource: str, situation: Situation, node: Object, *, assumed: bool
) -> tuple[int, int, int] | None:
    """Return capacity, what is used and what the pod asks for; None for a resource that is not scored.

    "If it's an extended resource, and the pod doesn't request it" it is left out, and so is one that the node
    does not have.
    """

    def of(pod: Object) -> int:
        amounts = assumed_requests(pod) if assumed and resource in ASSUMED else requested(pod)
        return amounts.get(resource, 0)

    native = resource in ("cpu", "memory", "ephemeral-storage")
    capacity = allocatable(node).get(resource, 0) if native or is_counted(resource) else 0
    if not capacity or (not native and not of(situation.pod)):
        return None
    return capacity, sum(of(pod) for pod in situation.pods_on[name_of(node)]), of(situation.pod)


def by_strategy(strategy: Mapping[str, Any], wanted: int, capacity: int) -> int:
    """Return the score of one resource."""
    match strategy["type"]:
        case "LeastAllocated":
            return 0 if wanted > capacity else (capacity - wanted) * 100 // capacity
        case "MostAllocated":
            return min(wanted, capacity) * 100 // capacity
    shape: list[tuple[int, int]] = [
        (point.get("utilization", 0), 10 * point.get("score", 0))
        for point in strategy["requestedToCapacityRatio"]["shape"]
    ]
    percent = 100 if wanted > capacity else wanted * 100 // capacity
    for number, (utilization, score) in enumerate(shape):
        if percent <= utilization:
            if number == 0:
                return score
            before, low = shape[number - 1]
            return low + int((score - low) * (percent - before) / (utilization - before))
    return shape[-1][1]


def score_balance(
    situation: Situation, _: Neighborhood, feasible: Iterable[Object], settings: Settings
) -> Any:
    """Score how much more evenly resources are used with the pod; skipped if it asks for none of them."""
    args = settings.args.get("NodeResourcesBalancedAllocation", {})
    names = [entry["name"] for entry in args.get("resources") or CPU_AND_MEMORY]
    if not any(requested(situation.pod).get(name) for name in names):
        return None
    raw = {}
    for node in feasible:
        found = [amounts_of(name, situation, node, assumed=False) for name in names]
        amounts = [each for each in found if each is not None]
        before = evenness([used / capacity for capacity, used, _ in amounts])
        after = evenness([(used + wanted) / capacity for capacity, used, wanted in amounts])
        raw[name_of(node)] = 50 + int((50 + after - before) / 2)
    return {name: (score, score) for name, score in raw.items()}


def evenness(shares: Iterable[float]) -> int:
    """Return 100 less the standard deviation of the used shares, in percent."""
    shares = [min(share, 1.0) for share in shares]
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean = 0.0
        for share in shares:
            mean += share
        mean /= len(shares)
        total = 0.0
        for share in shares:
            total += (share - mean) * (share - mean)
        deviation = math.sqrt(total / len(shares))
    return int((1 - deviation) * 100.0)
