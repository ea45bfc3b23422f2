"""A cluster with nodes and pods that came to it, for pods that go through all filters of the scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policies.autoscaler.packed_domains import FirstRejection, first_rejection
from policies.model.node import Node
from policies.model.pod import Pod
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Rejections


class FilteredCluster:
    """A cluster that is copied, and gets what came, once the filters are run of it.

    Args:
        cluster: The cluster as it was, which stays so.
    """

    def __init__(self, cluster: ClusterIndex) -> None:
        self._cluster, self._changed = cluster, False
        self._nodes: list[Node] = []
        self._pods: list[tuple[Pod, Sequence[str], str]] = []

    def fork(self) -> FilteredCluster:
        """Return a copy that goes its own way."""
        twin = FilteredCluster(self._cluster.fork("") if self._changed else self._cluster)
        twin._changed, twin._nodes, twin._pods = self._changed, list(self._nodes), list(self._pods)
        return twin

    def add(self, node: Node) -> None:
        """Add a node."""
        self._nodes.append(node)

    def bind(self, pod: Pod, names: Sequence[str], node: str) -> None:
        """Put pods that are alike on a node, by their names."""
        self._pods.append((pod, names, node))

    def rejection(self, request: SchedulingRequest, node: str) -> FirstRejection | None:
        """Return why a node takes no pod of a request; None if it does."""
        return first_rejection(self._rejections(request), self._cluster.nodes.positions()[node])

    def feasible(self, request: SchedulingRequest) -> set[str]:
        """Return the names of the nodes that all filters let pass."""
        feasible = np.logical_and.reduce([each.of_node == 0 for each in self._rejections(request)])
        names = self._cluster.nodes.names()
        return {names[position] for position in np.flatnonzero(feasible).tolist()}

    def _rejections(self, request: SchedulingRequest) -> tuple[Rejections, ...]:
        """Return what the filters reject, of the cluster with all nodes and pods that came."""
        if not self._changed:
            self._cluster, self._changed = self._cluster.fork(""), True
        for node in self._nodes:
            self._cluster.nodes.put(node)
        for pod, names, place in self._pods:
            for name in names:
                self._cluster.bind(pod, f"/{name}", place)
        self._nodes, self._pods = [], []
        with self._cluster.reading():
            view = NodeView(self._cluster, request.pod)
            return filter_nodes(view, request, pre_filter(view, request)).rejections
