"""Recorded scale-ups as the model takes them, and what it answers in the shape of the recording."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.cluster_facts import ClusterFacts
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packing import Packing
from planning.autoscaler.pod_groups import LOWEST_PRIORITY, group_pods
from planning.autoscaler.scale_up import Considered, best_options, consider, scale_up
from planning.simulation.cluster_simulation import QueuedPod
from planning.simulation.scheduling_queue import queue_pods
from policies.config.context import AdmissionContext
from policies.config.node_groups import AutoscalerSettings, CloudProvider, Expander, GroupPriority
from policies.config.policy_set import PolicySet
from policies.manifests.fields import ErrorList, FieldPath
from policies.model.node import read_node
from policies.model.quantity import read_amounts
from policies.pods.known_pods import UNREAD_PODS
from policies.scheduler.index import ClusterIndex

#: A recording's entry for a node group that has as many nodes as it may have.
SKIPPED = ["skipped", "max node group size reached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCluster:
    """A cluster of a recording, its pending pods and its Cluster Autoscaler."""

    index: ClusterIndex
    pods: list[QueuedPod]
    autoscaler: ClusterAutoscaler


def read_case(case: Mapping[str, Any]) -> RecordedCluster:
    """Return the cluster and the pending pods that a recording starts with."""
    index = ClusterIndex()
    for obj in (*case["nodes"], *case["pods"]):
        assert not index.apply(obj)
    context = AdmissionContext(cluster=index, policies=PolicySet(()))
    requests: dict[str, Any] = {}
    pods = []
    for obj in case["pending"]:
        # Pods that are alike share a request, as replicas do.
        key = json.dumps([obj["metadata"]["labels"], obj["spec"]])
        if key not in requests:
            requests[key] = queue_pods([(FieldPath(), obj)], context, UNREAD_PODS).pods[0].request
        owners = obj["metadata"].get("ownerReferences", [{}])
        pods.append(QueuedPod(obj["metadata"]["name"], requests[key], owners[0].get("uid", "")))
    groups = tuple(_group(group) for group in case["groups"])
    settings = case["settings"]
    autoscaler = ClusterAutoscaler(
        groups=groups,
        settings=AutoscalerSettings(
            balance_similar_node_groups=settings["balanceSimilarNodeGroups"],
            max_nodes_total=settings["maxNodesTotal"],
            cloud_provider=CloudProvider(settings["cloudProvider"]),
            priorities=tuple(
                GroupPriority(priority=int(key), names=tuple(names))
                for key, names in settings["priorities"].items()
            ),
        ),
    )
    return RecordedCluster(index=index, pods=pods, autoscaler=autoscaler)


def _group(raw: Mapping[str, Any]) -> ScaledGroup:
    found = ErrorList()
    template = read_node(raw["template"], found)
    capacity = read_amounts(raw["template"]["status"]["capacity"], FieldPath(), found)
    assert not found.errors
    return ScaledGroup(
        name=raw["name"], template=template, capacity=capacity, size=raw["size"], max_size=raw["maxSize"]
    )


def kinds(pods: Iterable[QueuedPod]) -> dict[str, int]:
    """Return how many pods there are of each kind: the names of those that are alike differ at the end."""
    return dict(sorted(Counter(pod.name.rpartition("-")[0] for pod in pods).items()))


def one_loop(cluster: RecordedCluster) -> dict[str, Any]:
    """Return the result of one loop, in the shape of a recording."""
    autoscaler, settings = cluster.autoscaler, cluster.autoscaler.settings
    grouped = group_pods(cluster.pods)
    found = consider(Packing(ClusterFacts(cluster.index, grouped)), grouped, autoscaler.groups, settings)
    expanders = [Expander.LEAST_WASTE, Expander.MOST_PODS, Expander.LEAST_NODES] if found.options else []
    expanders += [Expander.PRIORITY] if expanders and settings.priorities else []
    best = {str(each): best_options([each], found.options, settings.priorities) for each in expanders}
    nodes = cluster.index.node_count
    return {
        "fits": _fitting(cluster, found),
        "options": [
            {
                "group": option.group.name,
                "nodes": option.nodes,
                "pods": kinds(option.pods),
                "similar": [other.name for other in option.similar],
            }
            for option in found.options
        ],
        "best": {name: sorted(each.group.name for each in options) for name, options in best.items()},
        "added": {option.group.name: scale_up(option, nodes, settings) for option in found.options},
        "rejected": _rejected(cluster, found),
    }


def _fitting(cluster: RecordedCluster, found: Considered) -> dict[str, int]:
    left = {pod.name for group in found.left for pod in group.pods}
    wanted = (pod for pod in cluster.pods if pod.request.pod.priority >= LOWEST_PRIORITY)
    return kinds(pod for pod in wanted if pod.name not in left)


def _rejected(cluster: RecordedCluster, found: Considered) -> dict[str, Any]:
    """Return why pods fit no node group, for those that fit none."""
    full = {group.name: SKIPPED for group in cluster.autoscaler.groups if not group.room}
    return {
        kind: {name: list(each.texts) for name, each in why.items()} | full
        for number, why in found.rejected.items()
        if not any(number in numbers for numbers in found.matching.values())
        for kind in kinds(found.left[number].pods)
    }


def all_loops(cluster: RecordedCluster) -> list[dict[str, int]]:
    """Return the nodes that each loop adds, of which the first option with the least waste is taken."""
    found = cluster.autoscaler.nodes_for(cluster.index, cluster.pods, lambda tied: tied[0])
    return [dict(loop.nodes) for loop in found.loops]
