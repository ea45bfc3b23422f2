"""How many matching pods there are on every node, and in every domain.

Source: ``countPodsMatchSelector``, ``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.label_view import LabelView
from policies.scheduler.node_view import NodeView
from policies.scheduler.releases import Behavior
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import DomainCounts


def count_on_nodes(applied: AppliedConstraint, view: NodeView, behavior: Behavior) -> NDArray[np.int64]:
    """Return the matching pods of a constraint on each node, shape ``(n,)``."""
    if applied.selector is None or applied.counts_nothing(behavior):
        return np.zeros(len(view.slots), np.int64)
    return view.count_pods(applied.selector)


@dataclass(frozen=True, slots=True)
class EligibleDomains:
    """The domains of a constraint, whatever pods there are.

    Attributes:
        label: The topology key's values.
        counted: The nodes that take part and have the label, shape ``(n,)``.
        values: The position of the value of each of these.
        nodes: How many of these have each value, shape ``(d,)``.
    """

    label: LabelView
    counted: NDArray[np.bool_]
    values: NDArray[np.intp]
    nodes: NDArray[np.int64]


def eligible_domains(label: LabelView, eligible: NDArray[np.bool_]) -> EligibleDomains:
    """Return the domains of the nodes that take part; those without the label never do.

    Args:
        label: The topology key's values.
        eligible: The nodes that take part, shape ``(n,)``.
    """
    counted = eligible & label.present
    # Positions, as bincount has them, so that it need not convert them each time.
    values = label.numbers[counted].astype(np.intp)
    return EligibleDomains(label, counted, values, np.bincount(values, minlength=len(label.texts)))


def count_domains(domains: EligibleDomains, on_nodes: NDArray[np.int64]) -> DomainCounts:
    """Sum up nodes by the value of a label.

    Args:
        domains: The domains.
        on_nodes: Matching pods, shape ``(n,)``.
    """
    return DomainCounts(
        values=domains.label.texts,
        of_node=domains.label.numbers,
        nodes=domains.nodes,
        count=lambda: _count(domains, on_nodes),
    )


def _count(domains: EligibleDomains, on_nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    # bincount adds as float64, exact up to 2**53 pods.
    weights = on_nodes if len(domains.values) == len(on_nodes) else on_nodes[domains.counted]
    size = len(domains.nodes)
    return np.bincount(domains.values, weights=weights, minlength=size).astype(np.int64)
