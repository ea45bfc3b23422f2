"""DoNotSchedule constraints: which nodes PodTopologySpread's Filter rejects.

Source: ``podtopologyspread/filtering.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from policies.model.constraint import NodeInclusionPolicy, WhenUnsatisfiable
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import AppliedConstraint, SchedulingRequest
from policies.scheduler.resource_view import Identity
from policies.scheduler.result import (
    Code,
    DomainCounts,
    EligibleDomains,
    FilterResult,
    Reason,
    Rejections,
)
from policies.scheduler.skew import global_minimum
from policies.scheduler.workload_topology import eligible_nodes, required_keys

#: The reasons of the plugin: ``ErrReasonConstraintsNotMatch`` and ``ErrReasonNodeLabelNotMatch``,
#: ``podtopologyspread/plugin.go``, Kubernetes 1.36.
SKEW_TOO_LARGE = Reason(("node(s) didn't match pod topology spread constraints",), Code.UNSCHEDULABLE)
MISSING_KEY = Reason(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), Code.UNRESOLVABLE
)


@dataclass(frozen=True, slots=True)
class SpreadRejections(Rejections):
    """The nodes that the plugin rejects, and the counts that it compared."""

    checks: tuple[FilterResult, ...]  #: What each hard constraint is made of, in their order.


def check_nodes(view: NodeView, request: SchedulingRequest) -> tuple[FilterResult, ...]:
    """Check every node against each hard constraint, in their order."""
    hard = [applied for applied in request.constraints if applied.is_hard]
    keys = required_keys([applied.constraint for applied in hard], WhenUnsatisfiable.DO_NOT_SCHEDULE)
    return tuple([_check(applied, view, request, keys) for applied in hard])


def filter_nodes(
    view: NodeView, request: SchedulingRequest, checks: tuple[FilterResult, ...] | None = None
) -> SpreadRejections:
    """Return what hard constraints reject; the first that is not satisfied gives the reason.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        checks: What ``check_nodes`` returned, if it was called.
    """
    checks = check_nodes(view, request) if checks is None else checks
    of_node = np.zeros(len(view.slots), np.intp)
    for check in reversed(checks):
        of_node = np.where(check.satisfied, of_node, 1 + (check.domains.of_node == MISSING))
    return SpreadRejections(Plugin.POD_TOPOLOGY_SPREAD, (SKEW_TOO_LARGE, MISSING_KEY), of_node, checks)


def _check(
    applied: AppliedConstraint, view: NodeView, request: SchedulingRequest, keys: frozenset[str]
) -> FilterResult:
    """Check every node, also those that are not eligible.

    ``skew = matching + self match - minimum``, and a node satisfies the constraint if it has the key and
    ``skew <= maxSkew``. Where a pod is made for each node, with an affinity to it that is honored, that node
    alone is eligible for it.
    """
    constraint, label = applied.constraint, view.label(applied.constraint.topology_key)
    policies = constraint.node_affinity_policy, constraint.node_taints_policy
    eligible = view.derive(
        ("eligible", constraint.topology_key, *policies, keys, Identity(request.behavior), *view.eligibility),
        lambda: EligibleDomains.of(
            label, eligible_nodes(constraint, view, keys=keys, behavior=request.behavior)
        ),
    )
    on_nodes = view.count_pods(applied.counted)
    domains = DomainCounts(eligible=eligible, of_node=label.numbers, on_nodes=on_nodes)
    minimum = global_minimum(applied, domains.matching[domains.exists])
    if request.pinned and constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
        domains, minimum = replace(domains, on_nodes=np.zeros_like(on_nodes)), 0
        # The pods of a node count against it only where its one domain is fewer than minDomains.
        skew = applied.self_match + (on_nodes if constraint.min_domains > 1 else np.zeros_like(on_nodes))
    else:
        skew = label.by_node(domains.matching) + (applied.self_match - minimum)
    satisfied = (skew <= constraint.max_skew) & label.present
    return FilterResult(applied=applied, domains=domains, minimum=minimum, skew=skew, satisfied=satisfied)
