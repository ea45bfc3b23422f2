"""DoNotSchedule constraints: which nodes PodTopologySpread's Filter refuses.

Source: ``podtopologyspread/filtering.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from policies.model.constraint import NodeInclusionPolicy
from policies.scheduler.node_table import MISSING
from policies.scheduler.node_view import NodeView
from policies.scheduler.podtopologyspread.counting import PodCounts, by_node, count_domains
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.result import Code, DomainCounts, FilterResult, Plugin, Reason, Rejections

#: The reasons of the plugin: ``ErrReasonConstraintsNotMatch`` and ``ErrReasonNodeLabelNotMatch``,
#: ``podtopologyspread/plugin.go``, Kubernetes 1.36.
SKEW_TOO_LARGE = Reason(("node(s) didn't match pod topology spread constraints",), Code.UNSCHEDULABLE)
MISSING_KEY = Reason(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), Code.UNRESOLVABLE
)


def check_hard(
    hard: list[AppliedConstraint], view: NodeView, counts: PodCounts, *, pinned: bool = False
) -> list[FilterResult]:
    """Check every node against each hard constraint.

    ``skew = matching + self match - minimum``, and a node satisfies the constraint if it has the key and
    ``skew <= maxSkew``. Every node is checked, also one that the inclusion policies left out of the counts.
    Where a pod is made for each node, with an affinity to it that is honored, that node alone counts for it.
    """
    carriers = view.having([applied.constraint.topology_key for applied in hard])
    results = []
    for applied in hard:
        label = view.label(applied.constraint.topology_key)
        taking_part = view.taking_part(applied.constraint, carriers)
        domains = count_domains(label, taking_part, counts.on_nodes(applied.selector))
        minimum = global_minimum(domains, applied.constraint.min_domains)
        if pinned and applied.constraint.node_affinity_policy is NodeInclusionPolicy.HONOR:
            # What a node has counts against it only where its one domain is fewer than minDomains.
            here = counts.on_nodes(applied.selector)
            domains, minimum = replace(domains, matching=np.zeros_like(domains.matching)), 0
            skew = applied.self_match + (here if applied.constraint.min_domains > 1 else np.zeros_like(here))
        else:
            skew = by_node(domains.matching, domains.of_node) + applied.self_match - minimum
        satisfied = (skew <= applied.constraint.max_skew) & label.present
        results.append(
            FilterResult(applied=applied, domains=domains, minimum=minimum, skew=skew, satisfied=satisfied)
        )
    return results


def global_minimum(domains: DomainCounts, min_domains: int) -> int:
    """Return the smallest count over the existing domains, 0 if there are fewer than ``minDomains``."""
    if np.count_nonzero(domains.exists) < min_domains:
        return 0
    return int(domains.matching[domains.exists].min())


def spread_rejections(results: list[FilterResult], size: int) -> Rejections:
    """Return what the plugin says of ``size`` nodes: the first constraint that is not satisfied decides."""
    of_node = np.zeros(size, np.intp)
    for result in results:
        lacking = result.domains.of_node == MISSING
        verdict = np.where(lacking, 2, np.where(result.satisfied, 0, 1))
        of_node = np.where(of_node == 0, verdict, of_node)
    return Rejections(Plugin.POD_TOPOLOGY_SPREAD, (SKEW_TOO_LARGE, MISSING_KEY), of_node)
