"""The nodes that Karpenter removes, or replaces with a cheaper one, round after round.

A round is empty nodes, or as many as go together, or one: what comes first. Source:
``disruption/{controller,emptiness,multinodeconsolidation,singlenodeconsolidation}.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Final

from planning.autoscaler.karpenter.candidates import (
    DISRUPTED,
    ConsolidationCandidate,
    candidate,
    replaced,
    unmoved,
)
from planning.autoscaler.karpenter.node_pool import InstanceType, NodePool
from planning.autoscaler.karpenter.provisioning import NewClaim, Provisioner, launched
from planning.simulation.autoscaled import KeptNode, RemovedNode, WhyKept, WhyRemoved
from planning.simulation.cluster_simulation import QueuedPod, never
from planning.simulation.node_source import Budgets, NodePod, Removal
from policies.model.cluster_kinds import POD
from policies.model.scaling import KARPENTER_NODE_LABEL
from policies.scheduler.binding import TieBreaker
from policies.scheduler.index import ClusterIndex

#: The reasons for which nodes go, as budgets of NodePools name them.
_EMPTY: Final = "Empty"
_UNDERUTILIZED: Final = "Underutilized"
#: The most nodes that are tried together.
_MOST_TOGETHER: Final = 100


@dataclass(slots=True)
class Consolidations:
    """The nodes that Karpenter removes, round after round."""

    #: Names of what else it looks at.
    not_modeled: ClassVar = (
        "drift, the expiration of nodes and consolidateAfter, all of which take time",
        "budgets of NodePools with a schedule",
        "SpotToSpotConsolidation, which is off by default",
    )

    pools: Sequence[NodePool]  #: The NodePools, in the order in which they are tried.
    types: Sequence[InstanceType]  #: All instance types there are.
    choose: TieBreaker  #: Chooses one of several domains or zones that are equally good.
    left: int  #: How many more pods are tried elsewhere.

    def next(self, cluster: ClusterIndex, pods: Mapping[str, Sequence[NodePod]], budgets: Budgets) -> Removal:
        """Return which nodes are removed next: see ``NodeRemovals``."""
        kept, candidates = list[KeptNode](), list[ConsolidationCandidate]()
        for node in sorted(cluster.nodes.listed(), key=lambda node: node.name):
            found = candidate(node, pods.get(node.name, ()), self.pools, budgets)
            if isinstance(found, KeptNode):
                kept.append(found)
            else:
                candidates.append(found)
        candidates.sort(key=lambda each: each.cost)
        empty = [each for each in candidates if not each.moving]
        taken = self._within_budget(empty, cluster, _EMPTY)
        if taken:
            return self._removal(taken, WhyRemoved.EMPTY, kept, None, cluster)
        kept += (each.kept(WhyKept.BUDGET) for each in empty)
        full = list[ConsolidationCandidate]()
        for each in candidates:
            if each.moving:
                why = unmoved(each)
                full.append(each) if why is None else kept.append(each.kept(why))
        within = self._within_budget(full, cluster, _UNDERUTILIZED)
        together, claim = self._together(within[:_MOST_TOGETHER], cluster)
        if together:
            return self._removal(together, WhyRemoved.MULTI_NODE, kept, claim, cluster)
        allowed = self._allowed(cluster, _UNDERUTILIZED)
        for each in _interleaved(full):
            if not allowed[each.pool.name]:
                kept.append(each.kept(WhyKept.BUDGET))
                continue
            result = self._consolidate([each], cluster)
            if not isinstance(result, WhyKept):
                return self._removal([each], WhyRemoved.SINGLE_NODE, kept, result, cluster)
            kept.append(each.kept(result))
        return Removal(nodes=(), kept=kept, taint=DISRUPTED)

    def _allowed(self, cluster: ClusterIndex, reason: str) -> dict[str, int]:
        """Return how many nodes of each NodePool may go at once, by its name."""
        nodes = Counter(each.labels.get(KARPENTER_NODE_LABEL) for each in cluster.nodes.listed())
        return {pool.name: pool.disruption.allowed(nodes[pool.name], reason) for pool in self.pools}

    def _within_budget(
        self, candidates: Sequence[ConsolidationCandidate], cluster: ClusterIndex, reason: str
    ) -> list[ConsolidationCandidate]:
        """Return those of some nodes that may go at once."""
        left = self._allowed(cluster, reason)
        found = list[ConsolidationCandidate]()
        for each in candidates:
            if left[each.pool.name] > 0:
                left[each.pool.name] -= 1
                found.append(each)
        return found

    def _together(
        self, candidates: Sequence[ConsolidationCandidate], cluster: ClusterIndex
    ) -> tuple[Sequence[ConsolidationCandidate], NewClaim | None]:
        """Return the most of the first nodes that may go together, two or none, with their replacement."""
        found, claim = candidates[:0], None
        low, high = 1, len(candidates) - 1
        while low <= high:
            middle = (low + high) // 2
            tried = candidates[: middle + 1]
            result = self._consolidate(tried, cluster)
            if isinstance(result, WhyKept):
                high = middle - 1
            else:
                found, claim, low = tried, result, middle + 1
        return found, claim

    def _consolidate(
        self, candidates: Sequence[ConsolidationCandidate], cluster: ClusterIndex
    ) -> NewClaim | WhyKept | None:
        """Return the replacement of nodes, None if they need none, or why they stay."""
        if self.left <= 0:
            return WhyKept.NOT_TRIED
        left = cluster.fork("")
        pods = [pod for each in candidates for pod in each.moving]
        for each in candidates:
            for pod in left.pods_on([each.node.name]):
                left.remove(*POD, pod.namespace, pod.name)
            left.nodes.remove(each.node.name)
        self.left -= len(pods)
        waiting = [QueuedPod(pod.pod.name, pod.request, pod.owner) for pod in pods if pod.request is not None]
        found = Provisioner(left, waiting, self.pools, self.types, self.choose).run(never)
        if found.failed or len(found.present) + sum(len(each.pods) for each in found.claims) < len(waiting):
            return WhyKept.NO_PLACE
        if not found.claims:
            return None
        if len(found.claims) > 1:
            return WhyKept.TOO_MANY_NEW
        return replaced(candidates, found.claims[0])

    def _removal(
        self,
        candidates: Sequence[ConsolidationCandidate],
        why: WhyRemoved,
        kept: Sequence[KeptNode],
        claim: NewClaim | None,
        cluster: ClusterIndex,
    ) -> Removal:
        """Return the removal of nodes, with what comes in their place."""
        coming = launched([] if claim is None else [claim], cluster, self.choose)
        return Removal(
            nodes=tuple(
                RemovedNode(
                    name=each.node.name,
                    group=each.pool.name,
                    why=why,
                    pods=tuple(pod.name for pod in each.moving),
                )
                for each in candidates
            ),
            kept=kept,
            taint=DISRUPTED,
            replacement=next(iter(coming), None),
        )


def _interleaved(candidates: Sequence[ConsolidationCandidate]) -> Iterator[ConsolidationCandidate]:
    """Yield nodes of one NodePool after another in turn, by the names of these."""
    of_pool: dict[str, list[ConsolidationCandidate]] = {}
    for each in candidates:
        of_pool.setdefault(each.pool.name, []).append(each)
    for row in zip_longest(*(of_pool[name] for name in sorted(of_pool))):
        yield from (each for each in row if each is not None)
