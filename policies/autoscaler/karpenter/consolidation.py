"""The nodes that Karpenter removes, or replaces with a cheaper one, round after round.

A round is empty nodes, or as many as go together, or one: what comes first. Source:
``disruption/{controller,emptiness,multinodeconsolidation,singlenodeconsolidation,consolidation}.go``,
Karpenter 1.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import inf
from typing import Final, NamedTuple

from policies.autoscaler.karpenter.node_pool import (
    CAPACITY_TYPES,
    WHEN_EMPTY,
    WHEN_UNDERUTILIZED,
    InstanceType,
    NodePool,
    allowed_types,
)
from policies.autoscaler.karpenter.provisioning import NewClaim, Provisioner, launched
from policies.autoscaler.node_group import ScaledGroup
from policies.autoscaler.pod_groups import PendingPod
from policies.autoscaler.removal import (
    Budgets,
    KeptNode,
    LeavingNode,
    NodePod,
    Removal,
    WhyKept,
    WhyRemoved,
)
from policies.model.cluster_kinds import POD
from policies.model.disruption_facts import DO_NOT_DISRUPT
from policies.model.node import Node
from policies.model.scaling import CAPACITY_TYPE, KARPENTER_NODE_LABEL
from policies.model.taints import Taint, TaintEffect
from policies.model.topology_keys import INSTANCE_TYPE, ZONE
from policies.scheduler.index import ClusterIndex

#: The taint of a node that Karpenter removes.
DISRUPTED: Final = Taint("karpenter.sh/disrupted", "", TaintEffect.NO_SCHEDULE.value)
#: The reasons for which nodes go, as budgets of NodePools name them.
_EMPTY: Final = "Empty"
_UNDERUTILIZED: Final = "Underutilized"
#: The most nodes that are tried together.
_MOST_TOGETHER: Final = 100
#: What a pod costs besides 1: its deletion cost and its priority in shares of these.
_OF_COST: Final = 2.0**27
_OF_PRIORITY: Final = 2.0**25
_MOST_COST: Final = 10.0
_SPOT: Final = "spot"
#: What Karpenter looks at besides, and is not part of this.
_NOT_MODELED: Final = (
    "drift, the expiration of nodes and consolidateAfter, all of which take time",
    "budgets of NodePools with a schedule",
    "SpotToSpotConsolidation, which is off by default",
)


class _Candidate(NamedTuple):
    """A node that may go.

    Attributes:
        node: The node.
        pool: Its NodePool.
        kind: Its instance type; None if it is not known.
        moving: The pods that would go elsewhere.
        cost: What its pods cost to evict.
    """

    node: Node
    pool: NodePool
    kind: InstanceType | None
    moving: tuple[NodePod, ...]
    cost: float

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """Nodes that go together, and what comes in their place; or why they stay."""

    why: WhyKept | None = None
    claim: NewClaim | None = None


@dataclass(slots=True)
class Consolidations:
    """The nodes that Karpenter removes, round after round.

    Attributes:
        pools: The NodePools, in the order in which they are tried.
        types: All instance types there are.
        choose: Chooses one of several domains or zones that are equally good.
        left: How many more pods are tried elsewhere.
    """

    pools: Sequence[NodePool]
    types: Sequence[InstanceType]
    choose: Callable[[Sequence[str]], str]
    left: int

    @property
    def not_modeled(self) -> tuple[str, ...]:
        """Names of what else it looks at."""
        return _NOT_MODELED

    def next(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]], budgets: Budgets) -> Removal:
        """Return which nodes are removed next, of a cluster that has lost those of the rounds before.

        Args:
            cluster: The cluster, which stays as it is.
            pods: The pods of each node.
            budgets: What PodDisruptionBudgets allow.
        """
        kept, candidates = list[KeptNode](), list[_Candidate]()
        for node in sorted(cluster.nodes.listed(), key=lambda node: node.name):
            found = self._candidate(node, pods.get(node.name, ()), budgets)
            if isinstance(found, KeptNode):
                kept.append(found)
            else:
                candidates.append(found)
        candidates.sort(key=lambda each: each.cost)
        empty = [each for each in candidates if not each.moving]
        taken = self._within_budget(empty, cluster, _EMPTY)
        if taken:
            return _removal(taken, WhyRemoved.EMPTY, kept, None)
        kept += (_kept(each, WhyKept.BUDGET) for each in empty)
        full = list[_Candidate]()
        for each in candidates:
            if each.moving:
                why = _unmoved(each)
                full.append(each) if why is None else kept.append(_kept(each, why))
        within = self._within_budget(full, cluster, _UNDERUTILIZED)
        together, command = self._together(within[:_MOST_TOGETHER], cluster)
        if together:
            return _removal(together, WhyRemoved.MULTI_NODE, kept, self._launched(command, cluster))
        allowed = self._allowed(cluster, _UNDERUTILIZED)
        for each in _interleaved(full):
            if not allowed[each.pool.name]:
                kept.append(_kept(each, WhyKept.BUDGET))
                continue
            command = self._consolidate([each], cluster)
            if command.why is None:
                return _removal([each], WhyRemoved.SINGLE_NODE, kept, self._launched(command, cluster))
            kept.append(_kept(each, command.why))
        return Removal(nodes=(), kept=kept, taint=DISRUPTED)

    def _candidate(self, node: Node, pods: Sequence[NodePod], budgets: Budgets) -> _Candidate | KeptNode:
        """Return a node that may go, or why it may not."""
        name = node.labels.get(KARPENTER_NODE_LABEL, "")
        pool = next((each for each in self.pools if each.name == name), None)
        if pool is None:
            return KeptNode(name=node.name, group=name, why=WhyKept.NOT_IN_GROUP)
        why, blocking = _keeps(node, pool), ""
        for pod in pods if why is None else ():
            why = _blocks(pod, budgets)
            if why is not None:
                blocking = pod.name
                break
        if why is not None:
            return KeptNode(name=node.name, group=name, why=why, pod=blocking)
        kind = next((each for each in pool.types if each.name == node.labels.get(INSTANCE_TYPE)), None)
        moving = tuple(pod for pod in pods if not pod.is_tied)
        return _Candidate(node, pool, kind, moving, sum(map(_cost, pods)))

    def _allowed(self, cluster: ClusterIndex, reason: str) -> dict[str, int]:
        """Return how many nodes of each NodePool may go at once, by its name."""
        nodes = Counter(each.labels.get(KARPENTER_NODE_LABEL) for each in cluster.nodes.listed())
        return {pool.name: pool.disruption.allowed(nodes[pool.name], reason) for pool in self.pools}

    def _within_budget(
        self, candidates: Sequence[_Candidate], cluster: ClusterIndex, reason: str
    ) -> list[_Candidate]:
        """Return those of some nodes that may go at once."""
        left = self._allowed(cluster, reason)
        found = list[_Candidate]()
        for each in candidates:
            if left[each.pool.name] > 0:
                left[each.pool.name] -= 1
                found.append(each)
        return found

    def _together(
        self, candidates: Sequence[_Candidate], cluster: ClusterIndex
    ) -> tuple[Sequence[_Candidate], _Command]:
        """Return as many of the first nodes as may go together, two at least; none if none may."""
        found, command = candidates[:0], _Command()
        low, high = 1, len(candidates) - 1
        while low <= high:
            middle = (low + high) // 2
            tried = candidates[: middle + 1]
            result = self._consolidate(tried, cluster)
            if result.why is None:
                found, command, low = tried, result, middle + 1
            else:
                high = middle - 1
        return found, command

    def _consolidate(self, candidates: Sequence[_Candidate], cluster: ClusterIndex) -> _Command:
        """Return the replacement of nodes, or why they stay."""
        if self.left <= 0:
            return _Command(why=WhyKept.NOT_TRIED)
        left = cluster.fork("")
        pods = [pod for each in candidates for pod in each.moving]
        for each in candidates:
            for pod in left.pods_on([each.node.name]):
                left.remove(*POD, pod.namespace, pod.name)
            left.nodes.remove(each.node.name)
        self.left -= len(pods)
        waiting = [
            PendingPod(pod.pod.name, pod.request, pod.owner) for pod in pods if pod.request is not None
        ]
        found = Provisioner(left, waiting, self.pools, self.types, self.choose).run(lambda: False)
        if found.failed or len(found.present) + sum(len(each.pods) for each in found.claims) < len(waiting):
            return _Command(why=WhyKept.NO_PLACE)
        if not found.claims:
            return _Command()
        if len(found.claims) > 1:
            return _Command(why=WhyKept.TOO_MANY_NEW)
        return _replaced(candidates, found.claims[0])

    def _launched(self, command: _Command, cluster: ClusterIndex) -> tuple[Node, ScaledGroup] | None:
        """Return the node that comes; None if none does."""
        claims = [] if command.claim is None else [command.claim]
        return next(iter(launched(claims, cluster, self.choose)), None)


def _keeps(node: Node, pool: NodePool) -> WhyKept | None:
    """Return why a node stays, whatever its pods are; None if nothing speaks against it yet."""
    if DO_NOT_DISRUPT in node.kept_by:
        return WhyKept.ANNOTATED
    if pool.disruption.never:
        return WhyKept.CONSOLIDATION_OFF
    return None


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


def _unmoved(candidate: _Candidate) -> WhyKept | None:
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


def _replaced(candidates: Sequence[_Candidate], claim: NewClaim) -> _Command:
    """Return nodes that are replaced with one that is cheaper than all of them, or why they stay."""
    allowed = claim.labels.get(CAPACITY_TYPE)
    may_be_spot = allowed is None or allowed.allows(_SPOT)
    if may_be_spot and all(each.node.labels.get(CAPACITY_TYPE) == _SPOT for each in candidates):
        return _Command(why=WhyKept.SPOT)
    prices = [each.price for each in candidates]
    known = [price for price in prices if price is not None]
    offered = (offering.price for kind in claim.types for offering in kind.offered(claim.labels))
    if len(known) < len(prices) or None in offered:
        return _Command(why=WhyKept.PRICE_UNKNOWN)
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
        return _Command(why=WhyKept.NOT_CHEAPER)
    return _Command(claim=replace(claim, types=types))


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


def _interleaved(candidates: Sequence[_Candidate]) -> Iterator[_Candidate]:
    """Yield nodes of one NodePool after another in turn, by the names of these."""
    of_pool: dict[str, list[_Candidate]] = {}
    for each in candidates:
        of_pool.setdefault(each.pool.name, []).append(each)
    for row in zip_longest(*(of_pool[name] for name in sorted(of_pool))):
        yield from (each for each in row if each is not None)


def _kept(candidate: _Candidate, why: WhyKept) -> KeptNode:
    return KeptNode(name=candidate.node.name, group=candidate.pool.name, why=why)


def _removal(
    candidates: Sequence[_Candidate],
    why: WhyRemoved,
    kept: Sequence[KeptNode],
    replacement: tuple[Node, ScaledGroup] | None,
) -> Removal:
    return Removal(
        nodes=tuple(
            LeavingNode(
                name=each.node.name,
                group=each.pool.name,
                why=why,
                utilization=None,
                moved=tuple(pod.name for pod in each.moving),
            )
            for each in candidates
        ),
        kept=kept,
        taint=DISRUPTED,
        replacement=replacement,
    )
