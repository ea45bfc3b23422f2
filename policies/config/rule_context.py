"""What rules are given besides an object under review: the cluster's nodes, domains, and what adds nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from policies.model.autoscalers import Tool
from policies.model.repository import Repository
from policies.model.topology import ClusterTopology
from policies.rules.base import Context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policies.config.context import AdmissionContext
    from policies.config.spread_policy import SpreadPolicy
    from policies.model.node import Node

#: The label with which Karpenter marks the nodes that it made: ``karpenter.sh/v1``, Karpenter 1.
KARPENTER_NODE: Final = "karpenter.sh/nodepool"
#: Constraints for which is kept what was derived from the nodes: the next workload may ask the same. With
#: 5,000 nodes it can be a megabyte for each.
MAX_JUDGED: Final = 64


class RuleContexts:
    """Keeps what was gathered last, until a node changes. One for each context.

    There is no other workload, autoscaler of pods or disruption budget in it: nobody follows those of the
    cluster, so rules are asked as of an object that stands alone.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[Node, ...] | None, Context] | None = None
        self._judged = 0

    def make_room(self, context: AdmissionContext, constraints: int) -> None:
        """Forget what was derived from the nodes for constraints, once those and some more are too many."""
        self._judged += constraints
        inventory = self.rule_context(context).inventory
        if inventory is not None and self._judged > MAX_JUDGED:
            inventory.memo.clear()
            self._judged = constraints

    def rule_context(self, context: AdmissionContext) -> Context:
        """Return what rules are given in a context, which is always the same one."""
        nodes = None
        if context.cluster is not None:
            with context.cluster.reading():
                nodes = context.cluster.nodes.listed()
        last = self._last
        if last is None or last[0] is not nodes:
            last = self._last = nodes, _gathered(nodes, context)
        return last[1]


def _gathered(nodes: tuple[Node, ...] | None, context: AdmissionContext) -> Context:
    domains = listed_domains(context.policies)
    known = bool(nodes) or bool(domains)
    tools = {Tool.KARPENTER} if any(KARPENTER_NODE in node.labels for node in nodes or ()) else set()
    return Context(
        version=context.kubernetes_version,
        repository=Repository(tools=tools),
        # A cluster without nodes has yet to get some: of those nothing is known.
        inventory=ClusterTopology(nodes=nodes or None, domains=domains) if known else None,
    )


def listed_domains(policies: Iterable[SpreadPolicy]) -> dict[str, tuple[str, ...]]:
    """Return the domains that policies list, those of one key together."""
    merged: dict[str, tuple[str, ...]] = {}
    for policy in policies:
        for key, values in policy.topology.domains.items():
            merged[key] = tuple(dict.fromkeys((*merged.get(key, ()), *values)))
    return merged
