"""Which nodes take part in a constraint's counts, for one node or for a column of them. Knows no numpy.

Source: ``matchNodeInclusionPolicies``, ``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from policies.model.constraint import Constraint, NodeInclusionPolicy

if TYPE_CHECKING:
    # Rules judge nodes without numpy.
    import numpy as np
    from numpy.typing import NDArray

#: A truth, or a column of them.
Truth = TypeVar("Truth", bool, "NDArray[np.bool_]")


def eligible(
    constraint: Constraint,
    carries_keys: Truth,
    *,
    wanted: Callable[[], Truth],
    tolerated: Callable[[], Truth],
) -> Truth:
    """Return whether a node takes part, as the inclusion policies have it.

    Args:
        constraint: The constraint, as the release knows it (``in_release``).
        carries_keys: Whether the node has every topology key that is considered together.
        wanted: Tells whether the pod's node affinity admits it.
        tolerated: Tells whether the pod tolerates its taints.
    """
    if constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
        carries_keys = carries_keys & wanted()
    if constraint.node_taints_policy is NodeInclusionPolicy.HONOR:
        carries_keys = carries_keys & tolerated()
    return carries_keys
