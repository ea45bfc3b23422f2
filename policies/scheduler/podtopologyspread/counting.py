"""How many matching pods stand on every node, and in every domain.

Source: ``countPodsMatchSelector``, ``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import DomainCounts


class PodCounts:
    """Matching pods on every node; constraints that select alike are counted once."""

    def __init__(self, question: SchedulingRequest, index: ClusterIndex, view: NodeView) -> None:
        self._pods = index.pods_of(question.pod.namespace)
        self._slots = index.nodes.slots
        self._view = view
        self._behavior = question.behavior
        self._counted: dict[LabelSelector, NDArray[np.int64]] = {}

    def on_nodes(self, selector: LabelSelector | None) -> NDArray[np.int64]:
        """Return the pods of the incoming pod's namespace that a selector counts, shape ``(n,)``.

        No selector counts none. An empty one counts none either in the releases that take it for no selector
        at all (kubernetes/kubernetes#141339).
        """
        if (
            selector is None
            or self._pods is None
            or (selector.empty and not self._behavior.empty_selector_counts)
        ):
            return np.zeros(len(self._view.slots), np.int64)
        counted = self._counted.get(selector)
        if counted is None:
            counted = self._pods.count_by_node(selector, slots=self._slots)[self._view.slots]
            self._counted[selector] = counted
        return counted


def count_domains(
    label: LabelView, taking_part: NDArray[np.bool_], on_nodes: NDArray[np.int64]
) -> DomainCounts:
    """Sum up nodes by the value of a label.

    Args:
        label: The topology key's values.
        taking_part: The nodes that count, shape ``(n,)``; those without the label never do.
        on_nodes: Matching pods, shape ``(n,)``.
    """
    size = len(label.texts)
    counted = taking_part & label.present
    values = label.numbers[counted]
    nodes = np.bincount(values, minlength=size)
    # bincount adds as float64, exact up to 2**53 pods.
    matching = np.bincount(values, weights=on_nodes[counted], minlength=size).astype(np.int64)
    return DomainCounts(
        values=tuple(label.texts), of_node=label.numbers, exists=nodes > 0, matching=matching, nodes=nodes
    )


def by_node(per_domain: NDArray[np.int64], of_node: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return each node's entry of its domain, 0 without the label; shape ``(n,)``.

    >>> by_node(np.array([5, 7]), np.array([1, -1, 0], np.int32))
    array([7, 0, 5])
    """
    # The last entry answers for MISSING, -1.
    return np.append(per_domain, 0)[of_node]
