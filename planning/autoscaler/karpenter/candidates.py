"""Nodes that Karpenter may remove: what keeps them, and the cheaper node that may come in their place.

Source: ``disruption/consolidation.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

from planning.autoscaler.karpenter.node_pool import (
    CAPACITY_TYPES,
    WHEN_EMPTY,
    WHEN_UNDERUTILIZED,
    InstanceType,
    NodePool,
    allowed_types,
)
from planning.autoscaler.karpenter.provisioning import NewClaim
from planning.simulation.autoscaled import KeptNode, WhyKept
from planning.simulation.node_source import Budgets, NodePod
from policies.model.deletion_facts import DO_NOT_DISRUPT
from policies.model.node import Node
from policies.model.scaling import CAPACITY_TYPE, KARPENTER_NODE_LABEL
from policies.model.taints import Taint, TaintEffect
from policies.model.topology_keys import INSTANCE_TYPE, ZONE

#: The taint of a node that Karpenter removes.
DISRUPTED: Final = Taint("karpenter.sh/disrupted", "", TaintEffect.NO_SCHEDULE.value)
#: What a pod costs besides 1: its deletion cost and its priority in shares of these.
_OF_COST: Final = 2.0**27
_OF_PRIORITY: Final = 2.0**25
_MOST_COST: Final = 10.0
_SPOT: Final = "spot"


class ConsolidationCandidate(NamedTuple):
    """A node that may go."""

    node: Node  #: The node.
    pool: NodePool  #: Its NodePool.
    kind: InstanceType | None  #: Its instance type; None if it is not known.
    moving: tuple[NodePod, ...]  #: The pods that would go elsewhere.
    cost: float  #: What its pods cost to evict.

    @property
    def price(self) -> float | None:
        """Its price an hour; 0 where it is not offered any more, None if nobody said."""
        labels = self.node.labels
        if self.kind is None:
            return None
        offered = [
            each.price
            for each in self.kind.offerings
            if each.zone in ("", labels.get(ZONE)) and each.capacity_type == labels.get(CAPACITY_TYPE)
        ]
        return (
            None if None in offered else min((price for price in offered if price is not None), default=0.0)
        )

    def kept(self, why: WhyKept) -> KeptNode:
        """Return it as a node that stays."""
        return KeptNode(name=self.node.name, group=self.pool.name, why=why)


def candidate(
    node: Node, pods: Sequence[NodePod], pools: Sequence[NodePool], budgets: Budgets
) -> ConsolidationCandidate | KeptNode:
    """Return a node that may go, or why it may not.

    Args:
        node: The node.
        pods: Its pods.
        pools: The NodePools.
        budgets: What PodDisruptionBudgets allow.
    """
    name = node.labels.get(KARPENTER_NODE_LABEL, "")
    pool = next((each for each in pools if each.name == name), None)
    if pool is None:
        return KeptNode(name=node.name, group=name, why=WhyKept.NOT_IN_GROUP)
    if DO_NOT_DISRUPT in node.kept_by:
        return KeptNode(name=node.name, group=name, why=WhyKept.ANNOTATED)
    if pool.disruption.never:
        return KeptNode(name=node.name, group=name, why=WhyKept.CONSOLIDATION_OFF)
    for pod in pods:
        if (why := _blocks(pod, budgets)) is not None:
            return KeptNode(name=node.name, group=name, why=why, pod=pod.name)
    kind = next((each for each in pool.types if each.name == node.labels.get(INSTANCE_TYPE)), None)
    moving = tuple(pod for pod in pods if not pod.is_tied)
    return ConsolidationCandidate(node, pool, kind, moving, sum(map(_cost, pods)))


def _blocks(pod: NodePod, budgets: Budgets) -> WhyKept | None:
    """Return why a pod keeps its node; None if it does not."""
    if pod.facts.do_not_disrupt:
        return WhyKept.POD_ANNOTATED
    if pod.static:
        return None
    if pod.request is None:
        return WhyKept.POD_UNKNOWN
    tolerates = any(toleration.tolerates(DISRUPTED) for toleration in pod.request.pod.tolerations)
    if not tolerates and (budgets.block(pod) or len(budgets.of(pod)) > 1):
        return WhyKept.POD_BUDGET
    return None


def unmoved(candidate: ConsolidationCandidate) -> WhyKept | None:
    """Return why a node with pods stays, wherever these could go; None if nothing speaks against it yet."""
    policy, labels = candidate.pool.disruption.policy, candidate.node.labels
    if policy == WHEN_EMPTY:
        return WhyKept.NOT_EMPTY
    if policy != WHEN_UNDERUTILIZED:
        return WhyKept.POLICY_NOT_MODELED
    if candidate.kind is None or CAPACITY_TYPE not in labels or ZONE not in labels:
        return WhyKept.TYPE_UNKNOWN
    return None


def _cost(pod: NodePod) -> float:
    """Return the cost of a pod's eviction: ``EvictionCost``."""
    cost = 1.0 + pod.facts.cost / _OF_COST + pod.priority / _OF_PRIORITY
    return min(max(cost, -_MOST_COST), _MOST_COST)


def replaced(candidates: Sequence[ConsolidationCandidate], claim: NewClaim) -> NewClaim | WhyKept:
    """Return the node that replaces some, cheaper than all of them together, or why they stay."""
    allowed = claim.labels.get(CAPACITY_TYPE)
    may_be_spot = allowed is None or allowed.allows(_SPOT)
    if may_be_spot and all(each.node.labels.get(CAPACITY_TYPE) == _SPOT for each in candidates):
        return WhyKept.SPOT
    prices = [each.price for each in candidates]
    known = [price for price in prices if price is not None]
    offered = (offering.price for kind in claim.types for offering in kind.offered(claim.labels))
    if len(known) < len(prices) or None in offered:
        return WhyKept.PRICE_UNKNOWN
    types = _cheaper(claim, claim.types, sum(known))
    if len(candidates) > 1:
        # One node of a type that goes would be as good as keeping the cheapest of that type.
        own = dict[str, float]()
        for each, price in zip(candidates, known, strict=True):
            name = each.node.labels[INSTANCE_TYPE]
            own[name] = min(own.get(name, inf), price)
        types = _cheaper(
            claim, types, min((own[kind.name] for kind in types if kind.name in own), default=inf)
        )
    if not types:
        return WhyKept.NOT_CHEAPER
    return replace(claim, types=types)


def _cheaper(claim: NewClaim, types: Sequence[InstanceType], price: float) -> list[InstanceType]:
    """Return the instance types for a node that cost less, in whatever zone they come."""
    return allowed_types([kind for kind in types if _worst_price(claim, kind) < price], claim.labels)


def _worst_price(claim: NewClaim, kind: InstanceType) -> float:
    """Return the most that an instance type costs as it would be bought: ``WorstLaunchPrice``."""
    offered = kind.offered(claim.labels)
    for capacity_type in CAPACITY_TYPES:
        prices = [each.price or 0.0 for each in offered if each.capacity_type == capacity_type]
        if prices:
            return max(prices)
    return inf
