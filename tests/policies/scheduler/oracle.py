"""kube-scheduler's verdict on a pod, by plain loops over raw API objects; shares no code with ``policies``.

This is what the arrays of the engine are held against, so it is written to be obviously right, not to be
fast: every function is one rule, quoted. Source: ``pkg/scheduler/framework/plugins``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.policies.scheduler.oracle_constraints import Behavior, constraints_in_force
from tests.policies.scheduler.oracle_matching import (
    Object,
    affinity_allows,
    has_untolerated_taint,
    name_of,
    tolerates,
)
from tests.policies.scheduler.oracle_resources import allocatable, requested
from tests.policies.scheduler.oracle_spread import Situation, normalized, raw_scores, spread_refusal


def judge(case: Mapping[str, Any], behavior: Behavior | None = None) -> dict[str, Any]:
    """Return the answers of the scheduler's plugins, in the shape of ``expected`` of the recorded schedules.

    Args:
        case: ``nodes``, ``pods``, ``services``, ``replicationControllers``, ``replicaSets``, ``statefulSets``
            (any may be absent), ``pod`` and ``args`` (PodTopologySpreadArgs).
        behavior: What the release does; Kubernetes 1.36 if None.
    """
    situation = situate(case, behavior or Behavior())
    answers = {name_of(node): refusals(situation, node) for node in situation.nodes}
    feasible = [node for node in situation.nodes if not answers[name_of(node)]]
    for answer in answers.values():
        answer["feasible"] = not answer
    scored = bool(situation.soft and situation.nodes)
    if scored:
        raw, ignored = raw_scores(situation, feasible)
        for name, score in normalized(raw, ignored).items():
            answers[name] |= {"rawScore": raw[name], "score": score}
    return {
        "preFilter": "Success" if situation.hard else "Skip",
        "preScore": "Success" if scored else "Skip",
        "nodes": answers,
    }


def situate(case: Mapping[str, Any], behavior: Behavior) -> Situation:
    """Read a case: who is where, and which constraints are in force."""
    pod, nodes = case["pod"], list(case.get("nodes") or ())
    spreads = constraints_in_force(case, behavior)
    own = bool(pod["spec"].get("topologySpreadConstraints"))
    return Situation(
        pod=pod,
        nodes=nodes,
        pods_on={name_of(node): [p for p in case.get("pods") or () if is_on(p, node)] for node in nodes},
        hard=[spread for spread in spreads if spread.hard],
        soft=[spread for spread in spreads if not spread.hard],
        lenient=not own and case["args"]["defaultingType"] == "System",
        behavior=behavior,
    )


def is_on(pod: Object, node: Object) -> bool:
    """Tell whether a pod is on a node for the scheduler.

    "The scheduler's view holds pods that are bound to a node it knows and whose status.phase is neither
    Succeeded nor Failed."
    """
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return pod["spec"].get("nodeName") == name_of(node) and not finished


def refusals(situation: Situation, node: Object) -> dict[str, Any]:
    """Return the reason of every plugin that refuses a node, "each asked on its own"."""
    pod = situation.pod
    spec = node.get("spec") or {}
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    reasons: dict[str, Any] = {}
    if spec.get("unschedulable") and not tolerates(pod["spec"].get("tolerations") or (), cordon):
        reasons["nodeUnschedulable"] = "node(s) were unschedulable"
    if pod["spec"].get("nodeName") and pod["spec"]["nodeName"] != name_of(node):
        reasons["nodeName"] = "node(s) didn't match the requested node name"
    if has_untolerated_taint(pod, node):
        reasons["taintToleration"] = "node(s) had untolerated taint(s)"
    if not affinity_allows(pod, node):
        reasons["nodeAffinity"] = "node(s) didn't match Pod's node affinity/selector"
    if shortages := lacking(situation, node):
        reasons["nodeResourcesFit"] = ", ".join(shortages)
    return reasons | spread_refusal(situation, node)


def lacking(situation: Situation, node: Object) -> list[str]:
    """Return the resources of which a node has too little for the pod.

    "The pod's requests against allocatable minus the requests of the pods on the node, and the number of
    pods." Of a resource it does not ask for, a pod never lacks any. Go ranges over a map of the resources
    after the first four, so their order here, by name, is ours.
    """
    room, present = allocatable(node), situation.pods_on[name_of(node)]
    reasons = ["Too many pods"] if len(present) + 1 > room.get("pods", 0) else []
    taken = [requested(pod) for pod in present]
    wanted = requested(situation.pod)
    native = [name for name in ("cpu", "memory", "ephemeral-storage") if name in wanted]
    for name in native + sorted(wanted.keys() - set(native)):
        free = room.get(name, 0) - sum(amounts.get(name, 0) for amounts in taken)
        if wanted[name] > 0 and wanted[name] > free:
            reasons.append(f"Insufficient {name}")
    return reasons
