"""NodeResourcesFit and NodeResourcesBalancedAllocation: what the pod requests, and what is left of a node.

Source: ``noderesources/{fit,least_allocated,balanced_allocation}.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.resources import ASSUMED_NAMES
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import MAX_SCORE, NodeScores
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Plugin, Reason, Rejections

TOO_MANY_PODS: Final = "Too many pods"
#: The resources that are compared first, in this order; the others follow by name.
FIRST_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


#: The resources that nodes are scored by.
COMPARED: Final = ("cpu", "memory")


class NodeResourcesFitPlugin:
    """Rejects nodes with less left of a resource than the pod requests, and scores them by what is free."""

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return what the plugin rejects: ``fitsRequest``."""
        behavior, requests = request.behavior, dict(request.pod.requests)
        compared = {name: requests.get(name, 0) for name in FIRST_RESOURCES} if requests else {}
        if behavior.zero_requests_fit:
            compared = {name: amount for name, amount in compared.items() if amount}
        compared |= {name: requests[name] for name in sorted(requests.keys() - compared.keys())}
        allocatable, used = view.resource(PODS)
        texts, insufficient = [TOO_MANY_PODS], [used + 1 > allocatable]
        too_small = np.zeros(len(view.slots), np.bool_)
        for name, amount in compared.items():
            allocatable, used = view.resource(name)
            texts.append(f"Insufficient {name}")
            insufficient.append(amount > allocatable - used)
            if behavior.oversized_requests_are_unresolvable:
                too_small |= amount > allocatable
        return _rejections(texts, insufficient, too_small)

    def score(self, view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]) -> NodeScores:
        """Average the free share of CPU and of memory with the pod, in whole percent: LeastAllocated."""
        assumed = dict(request.pod.assumed)
        total, weights = np.zeros(len(view.slots), np.int64), np.zeros(len(view.slots), np.int64)
        for name in COMPARED:
            allocatable, _ = view.resource(name)
            _, used = view.resource(ASSUMED_NAMES[name])
            requested = used + assumed.get(ASSUMED_NAMES[name], 0)
            present = allocatable != 0
            free = np.where(requested > allocatable, 0, allocatable - requested)
            total += np.where(present, free * MAX_SCORE // np.where(present, allocatable, 1), 0)
            weights += present
        scores = np.where(weights > 0, total // np.maximum(weights, 1), 0)
        return NodeScores(scores, scores)


class BalancedAllocationPlugin:
    """Scores nodes by how evenly CPU and memory are used (NodeResourcesBalancedAllocation)."""

    def score(
        self, view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]
    ) -> NodeScores | None:
        """Return 75 and how much more even it is with the pod; None for a pod that requests neither."""
        requests = dict(request.pod.requests)
        if not any(requests.get(name) for name in COMPARED):
            return None
        half = MAX_SCORE // 2
        gain = half + _evenness(view, requests) - _evenness(view, {})
        scores = half + gain // 2
        return NodeScores(scores, scores)


def _evenness(view: NodeView, requests: dict[str, int]) -> NDArray[np.int64]:
    """Return 100 less the standard deviation of the used shares of two resources, in percent."""
    shares, present = [], []
    for name in COMPARED:
        allocatable, used = view.resource(name)
        present.append(allocatable != 0)
        share = (used + requests.get(name, 0)) / np.where(allocatable != 0, allocatable, 1)
        shares.append(np.minimum(share, 1.0))
    deviation = np.where(present[0] & present[1], np.abs((shares[0] - shares[1]) / 2), 0.0)
    return ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)


def _rejections(
    texts: list[str], insufficient: list[NDArray[np.bool_]], too_small: NDArray[np.bool_]
) -> Rejections:
    """Return a reason for each combination of insufficient resources.

    Args:
        texts: The reason for each resource.
        insufficient: Where there is too little of it, each of shape ``(n,)``.
        too_small: Where even an empty node has too little, shape ``(n,)``.
    """
    of_node = np.zeros(len(too_small), np.intp)
    # Most nodes have enough of everything.
    rejected = np.flatnonzero(np.logical_or.reduce(insufficient))
    combination, examples = _combinations([lacks[rejected] for lacks in (*insufficient, too_small)])
    of_node[rejected] = combination + 1
    reasons = []
    for example in rejected[examples].tolist():
        found = tuple(text for text, lacks in zip(texts, insufficient, strict=True) if lacks[example])
        reasons.append(Reason(found, Code.UNRESOLVABLE if too_small[example] else Code.UNSCHEDULABLE))
    return Rejections(Plugin.NODE_RESOURCES_FIT, tuple(reasons), of_node)


def _combinations(conditions: list[NDArray[np.bool_]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the combinations of conditions on some nodes, which all have the same shape.

    Returns:
        The number of each node's combination, in that shape, and a node that has each.
    """
    numbers = np.zeros(len(conditions[0]), np.intp)
    examples = np.zeros(0, np.intp)
    for condition in conditions:
        codes = 2 * numbers + condition
        size = int(codes.max(initial=-1)) + 1
        example = np.full(size, -1, np.intp)
        example[codes] = np.arange(len(codes))
        occurring = np.flatnonzero(example >= 0)
        rank = np.zeros(size, np.intp)
        rank[occurring] = np.arange(len(occurring))
        numbers, examples = rank[codes], example[occurring]
    return numbers, examples
