"""How many matching pods there are on every node, and in every domain.

Source: ``countPodsMatchSelector``, ``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.releases import Behavior
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import DomainCounts


def count_on_nodes(applied: AppliedConstraint, view: NodeView, behavior: Behavior) -> NDArray[np.int64]:
    """Return the matching pods of a constraint on each node, shape ``(n,)``."""
    if applied.selector is None or applied.counts_nothing(behavior):
        return np.zeros(len(view.slots), np.int64)
    return view.count_pods(applied.selector)


def count_domains(label: LabelView, eligible: NDArray[np.bool_], on_nodes: NDArray[np.int64]) -> DomainCounts:
    """Sum up nodes by the value of a label.

    Args:
        label: The topology key's values.
        eligible: The nodes that take part, shape ``(n,)``; those without the label never do.
        on_nodes: Matching pods, shape ``(n,)``.
    """
    size = len(label.texts)
    counted = eligible & label.present
    values = label.numbers[counted]
    nodes = np.bincount(values, minlength=size)
    # bincount adds as float64, exact up to 2**53 pods.
    matching = np.bincount(values, weights=on_nodes[counted], minlength=size).astype(np.int64)
    return DomainCounts(
        values=tuple(label.texts), of_node=label.numbers, exists=nodes > 0, matching=matching, nodes=nodes
    )
