"""Clusters and questions for the tests of the engine, from raw API objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath
from policies.model.cluster_kinds import LISTS, STORAGE_LISTS
from policies.model.constraint import Constraint
from policies.model.pod import read_pod
from policies.model.version import KNOWN_VERSION
from policies.model.workload import Workload
from policies.model.workload_kinds import POD_KIND
from policies.scheduler.configuration import build_profile
from policies.scheduler.defaults import NoConstraints, default_constraints, own_constraints
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.profile import DEFAULT_PROFILE, Plugin, Profile
from policies.scheduler.release_changes import Behavior
from policies.scheduler.releases import behavior_of
from policies.scheduler.request import ConstraintOrigin, SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: The names under which the recorded cases tell what each plugin says.
RECORDED_PLUGINS = {
    Plugin.NODE_UNSCHEDULABLE: "nodeUnschedulable",
    Plugin.NODE_NAME: "nodeName",
    Plugin.TAINT_TOLERATION: "taintToleration",
    Plugin.NODE_AFFINITY: "nodeAffinity",
    Plugin.NODE_RESOURCES_FIT: "nodeResourcesFit",
    Plugin.POD_TOPOLOGY_SPREAD: "podTopologySpread",
    Plugin.NODE_PORTS: "nodePorts",
    Plugin.VOLUME_RESTRICTIONS: "volumeRestrictions",
    Plugin.NODE_VOLUME_LIMITS: "nodeVolumeLimits",
    Plugin.VOLUME_BINDING: "volumeBinding",
    Plugin.VOLUME_ZONE: "volumeZone",
    Plugin.INTER_POD_AFFINITY: "interPodAffinity",
}


def a_node(
    name: str, labels: Mapping[str, str] | None = None, *, taints: Iterable[str] = (), **spec: Any
) -> dict[str, Any]:
    """Return a node with its hostname label; a taint is ``key=value:effect``."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {**spec, "taints": [a_taint(text) for text in taints]},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def a_taint(text: str) -> dict[str, str]:
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def a_pod(
    name: str,
    node: str = "",
    labels: Mapping[str, str] | None = None,
    *,
    spread: Iterable[Mapping[str, Any]] = (),
    cpu: str = "1m",
    **spec: Any,
) -> dict[str, Any]:
    """Return a pod of the namespace shop, bound to a node or pending, labeled ``app: web`` unless told."""
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": {"app": "web"} if labels is None else labels,
        },
        "spec": {
            "nodeName": node,
            "containers": [container],
            "topologySpreadConstraints": list(spread),
            **spec,
        },
        "status": {"phase": "Running" if node else "Pending"},
    }


def a_constraint(key: str = "zone", action: str = "DoNotSchedule", **fields: Any) -> dict[str, Any]:
    """Return a constraint over the pods labeled ``app: web``."""
    selector = {"matchLabels": {"app": "web"}}
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": action,
        "labelSelector": selector,
        **fields,
    }


def zones(**sizes: int) -> list[dict[str, Any]]:
    """Return a node for each zone, named and labeled after it, with so many web pods on it."""
    nodes = [a_node(zone, {"zone": zone}) for zone in sizes]
    return nodes + [a_pod(f"{zone}-{n}", zone) for zone, size in sizes.items() for n in range(size)]


def fitting(verdict: SchedulingResult) -> list[str]:
    """Return the names of the feasible nodes."""
    return [name for name, fits in zip(verdict.names, verdict.feasible, strict=True) if fits]


def reasons(verdict: SchedulingResult) -> dict[str, tuple[str, str]]:
    """Return the reason and the code of each plugin that rejects the first node."""
    numbered = ((each, int(each.of_node[0])) for each in verdict.rejections)
    found = ((each.plugin, each.reasons[number - 1]) for each, number in numbered if number)
    return {plugin: (str(reason), str(reason.code)) for plugin, reason in found}


def scores(verdict: SchedulingResult) -> dict[str, int]:
    """Return the score of each feasible node."""
    assert verdict.scores is not None
    rows = zip(verdict.names, verdict.scores.tolist(), verdict.feasible, strict=True)
    return {name: score for name, score, fits in rows if fits}


def ask(
    objects: Iterable[Mapping[str, Any]],
    pod: Mapping[str, Any],
    behavior: Behavior | None = None,
    args: Mapping[str, Any] | None = None,
) -> SchedulingResult:
    """Return the engine's result for a pod."""
    index = an_index(objects)
    return evaluate(a_request(pod, args or {}, index, behavior), index)


def an_index(objects: Iterable[Mapping[str, Any]]) -> ClusterIndex:
    """Return the index of some objects, every one of which must be in order."""
    index = ClusterIndex()
    for obj in objects:
        assert [] == index.apply(obj)
    return index


def objects_of(case: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all objects of a recorded case's cluster."""
    return [_with_kind(obj, name) for name in LISTS for obj in case.get(name) or ()]


def _with_kind(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if "kind" in obj:
        return obj
    api_version, kind = LISTS[name]
    return {"apiVersion": api_version, "kind": kind, **obj}


def with_storage(objects: Iterable[Mapping[str, Any]]) -> ClusterIndex:
    """Return the index of some objects, to which all storage of the cluster belongs."""
    index = an_index(objects)
    index.list_kinds(STORAGE_LISTS.values())
    return index


def a_request(
    pod: Mapping[str, Any],
    args: Mapping[str, Any],
    index: ClusterIndex,
    behavior: Behavior | None = None,
    profile: Profile = DEFAULT_PROFILE,
) -> SchedulingRequest:
    """Return the request for a pod under PodTopologySpreadArgs."""
    behavior = behavior or behavior_of(KNOWN_VERSION)
    found = ErrorList()
    pending = read_pod(pod, FieldPath(), found, reading=behavior.reading)
    assert [] == found.errors
    raw = pod["spec"].get("topologySpreadConstraints")
    if raw:
        own = map(Constraint.parse, raw)
        constraints = own_constraints(own, pending.labels, origin=ConstraintOrigin.POD, behavior=behavior)
    else:
        read = Workload.read(pod, POD_KIND, pending.namespace)
        given = default_constraints(read, build_profile(args), index.snapshot, behavior=behavior)
        constraints = () if isinstance(given, NoConstraints) else given
    return SchedulingRequest(pod=pending, constraints=constraints, behavior=behavior, profile=profile)


def as_recorded(verdict: SchedulingResult) -> dict[str, Any]:
    """Return a result in the shape of ``expected`` of the recorded cases."""
    nodes: dict[str, dict[str, Any]] = {}
    for position, name in enumerate(verdict.names):
        entry: dict[str, Any] = {"feasible": bool(verdict.feasible[position])}
        for rejected in verdict.rejections:
            if number := int(rejected.of_node[position]):
                reason = rejected.reasons[number - 1]
                entry[RECORDED_PLUGINS[rejected.plugin]] = str(reason)
                if rejected.plugin is Plugin.POD_TOPOLOGY_SPREAD:
                    entry["podTopologySpreadCode"] = str(reason.code)
        if verdict.raw_scores is not None and verdict.scores is not None and entry["feasible"]:
            entry |= {
                "rawScore": int(verdict.raw_scores[position]),
                "score": int(verdict.scores[position]),
            }
        nodes[name] = entry
    return {"preFilter": str(verdict.pre_filter), "preScore": str(verdict.pre_score), "nodes": nodes}


def judged(
    case: Mapping[str, Any], behavior: Behavior | None = None, index: ClusterIndex | None = None
) -> dict[str, Any]:
    """Return the engine's result for a recorded case, in the shape of ``expected``."""
    index = index or an_index(objects_of(case))
    return as_recorded(evaluate(a_request(case["pod"], case["args"], index, behavior), index))
