"""A cluster in which an autoscaler tries whether pods of nodes that it would remove fit elsewhere."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from planning.autoscaler.pod_groups import filtered_request
from planning.simulation.node_source import NodePod
from policies.model.cluster_kinds import POD
from policies.model.taints import Taint, TaintEffect
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.request import SchedulingRequest

#: The taint of a node that Cluster Autoscaler removes.
TO_BE_DELETED: Final = Taint("ToBeDeletedByClusterAutoscaler", "", TaintEffect.NO_SCHEDULE.value)


class EvictionTrial:
    """A cluster in which pods are put elsewhere by the filters of the scheduler alone.

    Source: ``simulator/{cluster,scheduling/hinting_simulator}.go``, Cluster Autoscaler 1.36.
    """

    def __init__(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]]) -> None:
        """Start with a cluster, which stays as it is, and the pods of its nodes."""
        self._cluster = cluster.fork("")
        self.pods = {node: list(found) for node, found in pods.items()}
        #: How many pods were tried elsewhere.
        self.tried = 0
        # The position at which the last pod was put; the search goes on after it.
        self._last = 0
        self._requests: dict[int, SchedulingRequest] = {}

    def move(self, name: str, pods: Sequence[NodePod]) -> dict[str, str] | None:
        """Remove a node and put pods of it elsewhere; return where each goes, by its name.

        None if one fits nowhere: the cluster is then as before. Until all have a place the node is there,
        empty and tainted, so that its domain counts on.
        """
        trial, node = self._cluster.fork("") if pods else self._cluster, self._cluster.nodes.find(name)
        for pod in self.pods.get(name, ()):
            trial.remove(*POD, pod.pod.namespace, pod.pod.name)
        places: dict[str, str] = {}
        if pods and node is not None:
            trial.nodes.put(node._replace(taints=(*node.taints, TO_BE_DELETED)))
            for pod in pods:
                place = self._place(trial, pod, name)
                if place is None:
                    return None
                places[pod.name] = place
        trial.nodes.remove(name)
        self._cluster = trial
        self.pods.pop(name, None)
        for pod in pods:
            self.pods.setdefault(places[pod.name], []).append(pod)
        return places

    def _place(self, cluster: ClusterIndex, pod: NodePod, left: str) -> str | None:
        """Return the node that a pod is put on; None if it fits on none but the one that it left."""
        if pod.request is None:
            return None
        request = self._requests.get(id(pod.request))
        if request is None:
            request = self._requests[id(pod.request)] = filtered_request(pod.request)
        self.tried += 1
        with cluster.reading():
            view = NodeView(cluster, request.pod)
            feasible = filter_nodes(view, request, pre_filter(view, request)).feasible.copy()
            names = view.names
            feasible &= ~cluster.nodes.cordoned()[view.slots]
        feasible[cluster.nodes.positions()[left]] = False
        may = np.flatnonzero(feasible).tolist()
        if not may:
            return None
        after = bisect_left(may, (self._last + 1) % len(names))
        self._last = may[after % len(may)]
        cluster.bind(request.pod, pod.pod.name, names[self._last])
        return names[self._last]
