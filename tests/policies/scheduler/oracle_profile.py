"""The whole default profile's verdict on a pod, by plain loops; shares no code with ``policies``.

Source: ``pkg/scheduler/framework/plugins`` and ``pkg/scheduler/schedule_one.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.policies.scheduler import oracle_affinity, oracle_spread
from tests.policies.scheduler.oracle import refusals, situate
from tests.policies.scheduler.oracle_affinity import Neighborhood
from tests.policies.scheduler.oracle_constraints import Behavior
from tests.policies.scheduler.oracle_matching import Object, labels_of, name_of, term_allows, tolerates
from tests.policies.scheduler.oracle_resources import ASSUMED, allocatable, assumed_requests, requested
from tests.policies.scheduler.oracle_spread import Situation

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
MEGABYTE = 1024 * 1024

Scores = dict[str, int]


def evaluate(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return for every node whether it is feasible, and the feasible nodes' scores by plugin.

    ``nodes`` by name: ``feasible``, ``refusals`` (reason by plugin), ``scores`` (``raw``, ``normalized``,
    ``weighted`` by plugin) and ``total``; ``skippedScore``; ``best``.
    """
    case = {**case, "pod": oracle_affinity.merged(copy.deepcopy(case["pod"]))}
    situation = situate(case, Behavior())
    namespaces = {name_of(entry): labels_of(entry) for entry in case.get("namespaces") or ()}
    around = Neighborhood(
        pod=case["pod"], nodes=situation.nodes, pods_on=situation.pods_on, namespaces=namespaces
    )
    neighbors = oracle_affinity.filter_results(around)
    answers: dict[str, dict[str, Any]] = {}
    for node in situation.nodes:
        reasons = refusals(situation, node)
        reasons.pop("podTopologySpreadCode", None)
        if conflicting_ports(situation, node):
            reasons["nodePorts"] = "node(s) didn't have free ports for the requested pod ports"
        if name_of(node) in neighbors:
            reasons["interPodAffinity"] = neighbors[name_of(node)][0]
        answers[name_of(node)] = {"feasible": not reasons, "refusals": reasons}
    feasible = [node for node in situation.nodes if answers[name_of(node)]["feasible"]]
    skipped = []
    for plugin, score in SCORES.items():
        scores = score(situation, around, feasible) if feasible else None
        if scores is None:
            skipped.append(plugin)
            continue
        for name, (raw, normal) in scores.items():
            entry = {"raw": raw, "normalized": normal, "weighted": normal * WEIGHTS[plugin]}
            answers[name].setdefault("scores", {})[plugin] = entry
    for node in feasible:
        answer = answers[name_of(node)]
        answer["total"] = sum(entry["weighted"] for entry in answer.setdefault("scores", {}).values())
    totals = {name_of(node): answers[name_of(node)]["total"] for node in feasible}
    best = sorted(name for name, total in totals.items() if total == max(totals.values()))
    return {"nodes": answers, "skippedScore": skipped, "best": best}


def conflicting_ports(situation: Situation, node: Object) -> bool:
    """Tell whether a host port that the pod wants is taken on a node; ``0.0.0.0`` is every address."""
    taken = [port for pod in situation.pods_on[name_of(node)] for port in host_ports(pod)]
    return any(
        (protocol, port) == (other_protocol, other_port) and (ip == other_ip or "0.0.0.0" in (ip, other_ip))
        for ip, protocol, port in host_ports(situation.pod)
        for other_ip, other_protocol, other_port in taken
    )


def host_ports(pod: Object) -> list[tuple[str, str, int]]:
    """Return address, protocol and number of every host port of a pod that runs while it runs."""
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in [*spec.get("containers", ()), *sidecars]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def by_highest(raw: Scores, *, reverse: bool) -> Scores:
    """Scale scores so that the highest is 100, or, reversed, so that 0 becomes 100 and the highest 0."""
    highest = max(raw.values(), default=0)
    if not highest:
        return dict.fromkeys(raw, 100 if reverse else 0)
    scaled = {name: 100 * score // highest for name, score in raw.items()}
    return {name: 100 - score for name, score in scaled.items()} if reverse else scaled


def _both(raw: Scores, normal: Scores) -> dict[str, tuple[int, int]]:
    return {name: (raw[name], normal[name]) for name in raw}


def score_taints(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Count the PreferNoSchedule taints that the pod does not tolerate; fewer are better."""
    tolerations = situation.pod["spec"].get("tolerations") or ()
    raw = {
        name_of(node): sum(
            taint["effect"] == "PreferNoSchedule" and not tolerates(tolerations, taint)
            for taint in node["spec"].get("taints") or ()
        )
        for node in feasible
    }
    return _both(raw, by_highest(raw, reverse=True))


def score_node_affinity(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Sum the weights of the preferred terms that match; skipped where there are none."""
    affinity = (situation.pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution")
    if not terms:
        return None
    raw = {
        name_of(node): sum(term["weight"] for term in terms if term_allows(term["preference"], node))
        for node in feasible
    }
    return _both(raw, by_highest(raw, reverse=False))


def score_spread(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Score by the soft constraints; skipped where there are none."""
    if not situation.soft:
        return None
    raw, ignored = oracle_spread.raw_scores(situation, list(feasible))
    return _both(raw, oracle_spread.normalized(raw, ignored))


def score_pod_affinity(_: Situation, around: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Score by preferred terms, the pod's own and those of running pods."""
    raw = oracle_affinity.raw_scores(around, feasible)
    return None if raw is None else _both(raw, oracle_affinity.normalized(raw))


def score_least_allocated(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Average the free share of CPU and of memory once the pod is there, each in whole percent."""
    raw = {}
    for node in feasible:
        shares = []
        pods = [*situation.pods_on[name_of(node)], situation.pod]
        for resource in ASSUMED:
            total = sum(assumed_requests(pod)[resource] for pod in pods)
            if capacity := allocatable(node).get(resource, 0):
                shares.append(max(capacity - total, 0) * 100 // capacity)
        raw[name_of(node)] = sum(shares) // len(shares) if shares else 0
    return _both(raw, raw)


def score_balance(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Score how much more evenly CPU and memory are used with the pod; skipped if it asks for neither."""
    asked = requested(situation.pod)
    if not any(asked.get(resource) for resource in ASSUMED):
        return None
    raw = {}
    for node in feasible:
        used = [requested(pod) for pod in situation.pods_on[name_of(node)]]
        before = {name: sum(amounts.get(name, 0) for amounts in used) for name in ASSUMED}
        after = {name: before[name] + asked.get(name, 0) for name in ASSUMED}
        gain = 50 + evenness(after, node) - evenness(before, node)
        raw[name_of(node)] = 50 + int(gain / 2)
    return _both(raw, raw)


def evenness(used: Mapping[str, int], node: Object) -> int:
    """Return 100 less the standard deviation of the used shares, in percent."""
    room = allocatable(node)
    shares = [min(amount / room[name], 1.0) for name, amount in used.items() if room.get(name)]
    deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
    return int((1 - deviation) * 100.0)


def score_images(situation: Situation, _: Neighborhood, feasible: Iterable[Object]) -> Any:
    """Score the sizes of the images that a node has, each scaled by the share of the nodes that have it."""
    size: dict[str, int] = {}
    holders: dict[str, set[str]] = {}
    for node in situation.nodes:
        for image in (node.get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                size.setdefault(name, image.get("sizeBytes", 0))
                holders.setdefault(name, set()).add(name_of(node))
    spec = situation.pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    low, high = 23 * MEGABYTE, 1000 * MEGABYTE * len(containers)
    raw = {}
    for node in feasible:
        total = 0
        for container in containers:
            name = with_tag(container.get("image") or "")
            if name_of(node) in holders.get(name, ()):
                total += int(size[name] * (len(holders[name]) / len(situation.nodes)))
        raw[name_of(node)] = 100 * (min(max(total, low), high) - low) // (high - low)
    return _both(raw, raw)


def with_tag(image: str) -> str:
    """Return an image's name as nodes list it, with ``:latest`` where no tag is written."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


Score = Callable[[Situation, Neighborhood, Iterable[Object]], Any]
#: The score plugins that may say something about a pod without claims, in the profile's order.
SCORES: dict[str, Score] = {
    "TaintToleration": score_taints,
    "NodeAffinity": score_node_affinity,
    "NodeResourcesFit": score_least_allocated,
    "PodTopologySpread": score_spread,
    "InterPodAffinity": score_pod_affinity,
    "NodeResourcesBalancedAllocation": score_balance,
    "ImageLocality": score_images,
}
