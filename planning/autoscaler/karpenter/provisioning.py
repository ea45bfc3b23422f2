"""One round of Karpenter: pending pods on the nodes there are, and on nodes that it will add.

Source: ``scheduling/scheduler.go``, ``nodeclaim.go`` and ``queue.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

from planning.autoscaler.karpenter.node_pool import (
    NODES,
    InstanceType,
    KnownLabels,
    NodePool,
    allowed_types,
    cheapest,
    node_labels,
)
from planning.autoscaler.karpenter.pending import Wishes, in_queue
from planning.autoscaler.karpenter.present_nodes import PresentNode, PresentNodes
from planning.autoscaler.karpenter.requirements import (
    LabelRequirement,
    Requirements,
    combine,
    conflict,
    one_of,
)
from planning.autoscaler.karpenter.topology import CountedGroup, DomainUniverse, narrowed, tolerates
from planning.autoscaler.karpenter.topology_groups import TopologyGroups
from planning.simulation.autoscaled import NewNode
from planning.simulation.cluster_simulation import QueuedPod
from policies.manifests.words import IN_SENTENCE, listed
from policies.model.node import Node
from policies.model.resources import HostPort
from policies.model.scaling import KARPENTER_NODE_LABEL
from policies.model.taints import TaintEffect
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.plugins.nodeports import conflicting

#: Why a NodePool adds no node for a pod.
_TAINTED: Final = "its taints are not tolerated"
_LIMITED: Final = "its limits are reached"
_TOO_SMALL: Final = "no instance type has room for the pod"
_NOT_OFFERED: Final = "no instance type with room for the pod is offered as the NodePool and the pod require"
#: Why nothing is added where there is no NodePool whose requirements any instance type meets.
NO_POOL: Final = "no instance type meets the requirements of a NodePool"


@dataclass(slots=True, eq=False)
class NewClaim:
    """A node that Karpenter will add, while it is not known which it will be."""

    number: int  #: Its number: 1 of the first that was wanted.
    pool: NodePool  #: Its NodePool.
    labels: dict[str, LabelRequirement]  #: What its labels may be; pods narrow them.
    types: Sequence[InstanceType]  #: The instance types that it may have.
    amounts: dict[str, int] = field(default_factory=dict)  #: What its pods take.
    ports: list[HostPort] = field(default_factory=list)  #: The ports that they take.
    pods: list[int] = field(default_factory=list)  #: The numbers of its pods.


class _Fitting(NamedTuple):
    """A new node with one pod more: its possible labels and instance types, and the requests of its pods."""

    labels: dict[str, LabelRequirement]
    types: list[InstanceType]
    amounts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """The end of a round."""

    claims: tuple[NewClaim, ...]  #: The nodes that are added, in the order in which they were first wanted.
    #: The node of the cluster that each other pod is taken to fit, by the number of the pod.
    present: Mapping[int, str]
    wishes: Mapping[int, Wishes]  #: What each pod that was put somewhere still wanted, by its number.
    #: Why each NodePool adds no node for a pod, by the number of the pod.
    failed: Mapping[int, Mapping[str, str]]
    stopped: bool  #: Whether it was to stop before all pods were tried.


class Provisioner:
    """Puts pending pods on nodes, as Karpenter takes it that they will be.

    Args:
        cluster: The cluster, which stays as it is.
        pods: The pods, of which alike ones share a request.
        pools: The NodePools, in the order in which they are tried.
        types: All instance types there are.
        choose: Chooses one of several domains that are equally good.
    """

    def __init__(
        self,
        cluster: ClusterIndex,
        pods: Sequence[QueuedPod],
        pools: Sequence[NodePool],
        types: Sequence[InstanceType],
        choose: Callable[[Sequence[str]], str],
    ) -> None:
        self._choose, self._known = choose, KnownLabels.of(types)
        self._pools = [pool for pool in pools if pool.types]
        soft = any(taint.effect == TaintEffect.PREFER_NO_SCHEDULE for pool in pools for taint in pool.taints)
        made: dict[int, Wishes] = {}
        self.wishes = [made.setdefault(id(pod.request), Wishes.of(pod.request, softens=soft)) for pod in pods]
        self._present = PresentNodes(cluster, pods[0].request.pod)
        self._groups = TopologyGroups(cluster, DomainUniverse(pools, types), self._present)
        self._claims: list[NewClaim] = []
        self._left = _left(pools, types, cluster)
        for wishes in made.values():
            self._groups.of(wishes)
        for node in self._present.listed:
            self._groups.register_host(_host(node.labels))

    def run(self, stop: Callable[[], bool]) -> Provisioned:
        """Return where the pods are put; those that fit nowhere are tried again while others come.

        Args:
            stop: Whether to end before the next pod.
        """
        queue = deque(in_queue(self.wishes))
        tried: dict[int, int] = {}
        failed: dict[int, Mapping[str, str]] = {}
        present: dict[int, str] = {}
        ended: dict[int, Wishes] = {}
        stopped = False
        while queue and tried.get(queue[0]) != len(queue):
            stopped = stop()
            if stopped:
                break
            number = queue.popleft()
            wishes: Wishes | None = self.wishes[number]
            while wishes is not None:
                found = self._add(number, wishes)
                if isinstance(found, PresentNode):
                    present[number] = found.name
                elif found is not None:
                    failed[number] = found
                    wishes = wishes.relaxed
                    continue
                ended[number] = wishes
                failed.pop(number, None)
                break
            else:
                queue.append(number)
                tried[number] = len(queue)
        claims = tuple(sorted(self._claims, key=lambda claim: claim.number))
        return Provisioned(claims=claims, present=present, wishes=ended, failed=failed, stopped=stopped)

    def _add(self, number: int, wishes: Wishes) -> PresentNode | Mapping[str, str] | None:
        """Put a pod somewhere.

        Returns:
            The node of the cluster; None if it is one that is added; why no NodePool adds one.
        """
        groups = [*self._groups.of(wishes), *self._groups.keeping_away(wishes.pod)]
        node = self._present.take(wishes, groups, self._choose)
        if node is not None:
            self._groups.record(wishes, node.taints, node.labels)
            return node
        self._claims.sort(key=lambda claim: len(claim.pods))
        for claim in self._claims:
            if not isinstance(found := self._fit(claim, wishes, groups), str):
                self._put(claim, number, wishes, found)
                return None
        why: dict[str, str] = {}
        for pool in self._pools:
            left = self._left[pool.name]
            types = [kind for kind in pool.types if _within(kind, left)]
            if not types:
                why[pool.name] = _LIMITED
                continue
            number_of = len(self._claims) + 1
            # No node has a name with a space.
            labels = {**pool.requirements, HOSTNAME: one_of(f"new {number_of}")}
            claim = NewClaim(number_of, pool, labels, types)
            found = self._fit(claim, wishes, groups)
            if isinstance(found, str):
                why[pool.name] = found
                continue
            self._claims.append(claim)
            self._put(claim, number, wishes, found)
            for name in left:
                most = max((1 if name == NODES else kind.capacity.get(name, 0)) for kind in claim.types)
                left[name] -= most
            return None
        return why or {"": NO_POOL}

    def _fit(self, claim: NewClaim, wishes: Wishes, groups: Sequence[CountedGroup]) -> _Fitting | str:
        """Return the possible labels and instance types of a new node with a pod, else why there are none."""
        pool, pod = claim.pool, wishes.pod
        if not tolerates(pool.taints, wishes.tolerations):
            return _TAINTED
        if why := conflict(claim.labels, wishes.requirements, self._known):
            return why
        amounts = {
            name: claim.amounts.get(name, 0) + wishes.amounts.get(name, 0)
            for name in (*claim.amounts, *wishes.amounts)
        }
        roomy = [kind for kind in claim.types if kind.holds(amounts)]
        if not roomy or conflicting(pod.ports, claim.ports, sidecars=True):
            return _TOO_SMALL
        labels = combine(claim.labels.items(), wishes.requirements.items())
        labels, against = narrowed(
            groups, pod, wishes.strict, labels=labels, known=self._known, choose=self._choose
        )
        if against is not None:
            return _unsatisfied(against)
        types = allowed_types(roomy, labels)
        if not types:
            within = {group.key: labels[group.key] for group in groups if group.key != HOSTNAME}
            return "; ".join([_NOT_OFFERED, *(f"{key} {each}" for key, each in within.items())])
        return _Fitting(labels, types, amounts)

    def _put(self, claim: NewClaim, number: int, wishes: Wishes, found: _Fitting) -> None:
        claim.labels, claim.types, claim.amounts = found
        claim.ports.extend(wishes.pod.ports)
        claim.pods.append(number)
        self._groups.register_host(_host(claim.labels))
        self._groups.record(wishes, claim.pool.taints, claim.labels)


def _host(labels: Requirements) -> str:
    return next(iter(labels[HOSTNAME].values))


def _within(kind: InstanceType, left: Mapping[str, int]) -> bool:
    """Return whether a node of an instance type is within what limits leave."""
    return all((1 if name == NODES else kind.capacity.get(name, 0)) <= rest for name, rest in left.items())


def _left(
    pools: Iterable[NodePool], types: Iterable[InstanceType], cluster: ClusterIndex
) -> dict[str, dict[str, int]]:
    """Return the rest of each NodePool's limits beside the nodes that it has."""
    capacities = {kind.name: kind.capacity for kind in types}
    left = {pool.name: dict(pool.limits) for pool in pools}
    for node in cluster.nodes.listed():
        rest = left.get(node.labels.get(KARPENTER_NODE_LABEL, ""))
        if rest:
            capacity = capacities.get(node.labels.get(INSTANCE_TYPE, ""), node.allocatable)
            for name in rest:
                rest[name] -= 1 if name == NODES else capacity.get(name, 0)
    return left


def _unsatisfied(group: CountedGroup) -> str:
    counts = sorted(group.domains.items(), key=lambda entry: (entry[1], entry[0]))
    if group.key == HOSTNAME or not counts:
        return f"{group.kind.value} over {group.key}"
    shown = listed([f"{domain} {count:,}" for domain, count in counts], IN_SENTENCE)
    return f"{group.kind.value} over {group.key}: {shown}"


def launched(
    claims: Iterable[NewClaim], cluster: ClusterIndex, choose: Callable[[Sequence[str]], str]
) -> Iterator[NewNode]:
    """Yield the node that each claim becomes."""
    numbers = defaultdict[str, Iterator[int]](lambda: count(1))
    for claim in claims:
        pool = claim.pool
        kind, offerings = cheapest(claim.types, claim.labels)
        by_zone = {offering.zone: offering for offering in offerings}
        zones = sorted(by_zone)
        offering = by_zone[zones[0] if len(zones) == 1 else choose(zones)]
        names = (f"{pool.name}-new-{number}" for number in numbers[pool.name])
        name = next(name for name in names if cluster.nodes.find(name) is None)
        labels = node_labels(pool, kind, offering, claim.labels, name)
        node = Node(name, labels, pool.taints, unschedulable=False, allocatable=dict(kind.allocatable))
        yield NewNode(node=node, group=pool.name, price=offering.price)
