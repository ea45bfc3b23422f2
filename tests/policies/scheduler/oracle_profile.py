"""A whole profile's verdict on a pod, by plain loops; shares no code with ``policies``.

Source: ``pkg/scheduler/framework/plugins`` and ``pkg/scheduler/schedule_one.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.policies.scheduler import oracle_affinity, oracle_arguments, oracle_spread
from tests.policies.scheduler.oracle import refusals, situate
from tests.policies.scheduler.oracle_affinity import PREFERRED, Neighborhood
from tests.policies.scheduler.oracle_configuration import DEFAULT, Settings
from tests.policies.scheduler.oracle_constraints import Behavior
from tests.policies.scheduler.oracle_matching import Object, labels_of, name_of, term_allows, tolerates
from tests.policies.scheduler.oracle_spread import Situation

MEGABYTE = 1024 * 1024

Scores = dict[str, int]


def evaluate(case: Mapping[str, Any], settings: Settings = DEFAULT) -> dict[str, Any]:
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
        reasons = oracle_arguments.filtered(reasons, situation, node, settings)
        answers[name_of(node)] = {"feasible": not reasons, "refusals": reasons}
    feasible = [node for node in situation.nodes if answers[name_of(node)]["feasible"]]
    skipped = []
    for plugin in settings.at["score"]:
        if plugin not in SCORES or (plugin in NEED_PRESCORE and not settings.runs(plugin, "preScore")):
            continue
        scores = SCORES[plugin](situation, around, feasible, settings) if feasible else None
        if scores is None:
            skipped.append(plugin)
            continue
        for name, (raw, normal) in scores.items():
            entry = {"raw": raw, "normalized": normal, "weighted": normal * settings.weights[plugin]}
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


def score_taints(situation: Situation, _: Neighborhood, feasible: Iterable[Object], __: Settings) -> Any:
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


def score_node_affinity(
    situation: Situation, _: Neighborhood, feasible: Iterable[Object], settings: Settings
) -> Any:
    """Sum the weights of the preferred terms that match; skipped where there are none."""
    affinity = (situation.pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = oracle_arguments.added_affinity(settings).get(PREFERRED) or []
    terms = terms + (affinity.get(PREFERRED) or [])
    if not terms:
        return None
    raw = {
        name_of(node): sum(term["weight"] for term in terms if term_allows(term["preference"], node))
        for node in feasible
    }
    return _both(raw, by_highest(raw, reverse=False))


def score_spread(situation: Situation, _: Neighborhood, feasible: Iterable[Object], __: Settings) -> Any:
    """Score by the soft constraints; skipped where there are none."""
    if not situation.soft:
        return None
    raw, ignored = oracle_spread.raw_scores(situation, list(feasible))
    return _both(raw, oracle_spread.normalized(raw, ignored))


def score_pod_affinity(
    _: Situation, around: Neighborhood, feasible: Iterable[Object], settings: Settings
) -> Any:
    """Score by preferred terms, the pod's own and those of running pods."""
    args = settings.args.get("InterPodAffinity", {})
    own = around.own("podAffinity", PREFERRED) + around.own("podAntiAffinity", PREFERRED)
    if args.get("ignorePreferredTermsOfExistingPods") and not own:
        return None
    weight = args.get("hardPodAffinityWeight")
    raw = oracle_affinity.raw_scores(around, feasible, 1 if weight is None else weight)
    return None if raw is None else _both(raw, oracle_affinity.normalized(raw))


def score_images(situation: Situation, _: Neighborhood, feasible: Iterable[Object], __: Settings) -> Any:
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


Score = Callable[[Situation, Neighborhood, Iterable[Object], Settings], Any]
#: The plugins whose Score fails without PreScore.
NEED_PRESCORE = ("TaintToleration", "PodTopologySpread", "InterPodAffinity")
#: The score plugins that may say something about a pod without claims.
SCORES: dict[str, Score] = {
    "TaintToleration": score_taints,
    "NodeAffinity": score_node_affinity,
    "NodeResourcesFit": oracle_arguments.score_fit,
    "PodTopologySpread": score_spread,
    "InterPodAffinity": score_pod_affinity,
    "NodeResourcesBalancedAllocation": oracle_arguments.score_balance,
    "ImageLocality": score_images,
}
