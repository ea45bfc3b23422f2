"""Which nodes are eligible: take part in the counts of a constraint. The one place that decides it.

A set of nodes is whatever holds one: a mask over all of them in the engine, the names in the rules, which
run without numpy.

Source: ``matchNodeInclusionPolicies`` and ``nodeLabelsMatchSpreadConstraints``,
``podtopologyspread/common.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

from policies.model.constraint import Constraint, NodeInclusionPolicy, WhenUnsatisfiable
from policies.scheduler.release_changes import Behavior
from policies.scheduler.request import in_release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A set of nodes.
NodeSet_co = TypeVar("NodeSet_co", "frozenset[str]", "NDArray[np.bool_]", covariant=True)


class NodesOfPod(Protocol[NodeSet_co]):
    """The nodes of a cluster, and how they meet one pod."""

    def with_labels(self, keys: frozenset[str]) -> NodeSet_co:
        """Return the nodes that have every one of some labels."""

    @property
    def matches_affinity(self) -> NodeSet_co:
        """The nodes that match the pod's nodeSelector and required node affinity."""

    @property
    def tolerates_taints(self) -> NodeSet_co:
        """The nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""


def eligible_nodes(
    constraint: Constraint, nodes: NodesOfPod[NodeSet_co], *, keys: frozenset[str], behavior: Behavior
) -> NodeSet_co:
    """Return the nodes that take part in a constraint's counts.

    Of a ScheduleAnyway constraint over ``kubernetes.io/hostname`` the scheduler reads no counts of domains,
    but those of each feasible node (``calPreScoreState``).

    Args:
        constraint: The constraint.
        nodes: The nodes, for a pod with that constraint.
        keys: The topology keys that a node must have (``required_keys``).
        behavior: What the release does: one without inclusion policies honors affinity and ignores taints.
    """
    constraint = in_release(constraint, behavior)
    eligible = nodes.with_labels(keys)
    if constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
        eligible = eligible & nodes.matches_affinity
    if constraint.node_taints_policy is NodeInclusionPolicy.HONOR:
        eligible = eligible & nodes.tolerates_taints
    return eligible


def required_keys(constraints: Iterable[Constraint], when: WhenUnsatisfiable) -> frozenset[str]:
    """Return the keys that a node must have to take part in the counts of any constraint of a kind.

    The hard constraints of a pod are taken together, and so are the soft ones but for the system defaults.
    """
    return frozenset([entry.topology_key for entry in constraints if entry.when_unsatisfiable is when])
