"""One round of Karpenter: pending pods on the nodes there are, and on nodes that it will add.

Source: ``scheduling/scheduler.go``, ``nodeclaim.go``, ``existingnode.go`` and ``queue.go``, Karpenter 1.9.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.autoscaler.karpenter.node_pool import (
    NODES,
    InstanceType,
    KnownLabels,
    NodePool,
    allowed_types,
)
from policies.autoscaler.karpenter.pending import Wishes, in_queue
from policies.autoscaler.karpenter.requirements import (
    LabelRequirement,
    Requirements,
    combine,
    conflict,
    of_labels,
    one_of,
)
from policies.autoscaler.karpenter.topology import (
    EVERY_NODE,
    CountedGroup,
    DomainUniverse,
    GroupKind,
    KarpenterTopology,
    tolerates,
)
from policies.autoscaler.pod_groups import PendingPod
from policies.manifests.words import IN_SENTENCE, listed
from policies.model.container_needs import HostPort
from policies.model.interpod_terms import InterPodTerm
from policies.model.labels import LabelSelector
from policies.model.pod import Pod
from policies.model.scaling import KARPENTER_NODE_LABEL
from policies.model.taints import CORDON_TAINT, Taint, TaintEffect
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.nodeports import conflicting
from policies.scheduler.request import AppliedConstraint

#: Why a NodePool adds no node for a pod.
_TAINTED: Final = "its taints are not tolerated"
_LIMITED: Final = "its limits are reached"
_TOO_SMALL: Final = "no instance type has room for the pod"
_NOT_OFFERED: Final = "no instance type with room for the pod is offered as the NodePool and the pod require"
#: Why nothing is added where there is no NodePool whose requirements any instance type meets.
NO_POOL: Final = "no instance type meets the requirements of a NodePool"


@dataclass(slots=True, eq=False)
class PresentNode:
    """A node of the cluster.

    Attributes:
        name: Its name.
        position: Its position in the cluster.
        taints: Its taints.
        labels: What its labels are.
        ports: The ports that pods take that were put on it.
    """

    name: str
    position: int
    taints: tuple[Taint, ...]
    labels: Requirements
    ports: list[HostPort] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NewClaim:
    """A node that Karpenter will add, while it is not known which it will be.

    Attributes:
        number: Its number: 1 of the first that was wanted.
        pool: Its NodePool.
        labels: What its labels may be; pods narrow them.
        types: The instance types that it may have.
        amounts: What its pods take.
        ports: The ports that they take.
        pods: The numbers of its pods.
    """

    number: int
    pool: NodePool
    labels: dict[str, LabelRequirement]
    types: Sequence[InstanceType]
    amounts: dict[str, int] = field(default_factory=dict)
    ports: list[HostPort] = field(default_factory=list)
    pods: list[int] = field(default_factory=list)


class _Fitting(NamedTuple):
    """What a new node may be with one pod more: its labels, its instance types, and what its pods take."""

    labels: dict[str, LabelRequirement]
    types: list[InstanceType]
    amounts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """The end of a round.

    Attributes:
        claims: The nodes that are added, in the order in which they were first wanted.
        present: The node of the cluster that each other pod is taken to fit, by the number of the pod.
        wishes: What each pod that was put somewhere still wanted, by its number.
        failed: Why each NodePool adds no node for a pod, by the number of the pod.
        stopped: Whether it was to stop before all pods were tried.
    """

    claims: tuple[NewClaim, ...]
    present: Mapping[int, str]
    wishes: Mapping[int, Wishes]
    failed: Mapping[int, Mapping[str, str]]
    stopped: bool


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
        pods: Sequence[PendingPod],
        pools: Sequence[NodePool],
        types: Sequence[InstanceType],
        choose: Callable[[Sequence[str]], str],
    ) -> None:
        self._cluster, self._choose, self._known = cluster, choose, KnownLabels.of(types)
        self._pools = [pool for pool in pools if pool.types]
        self._topology = KarpenterTopology(DomainUniverse(pools, types))
        self._namespaces = {name: space.labels for name, space in cluster.snapshot.namespaces.items()}
        soft = any(taint.effect == TaintEffect.PREFER_NO_SCHEDULE for pool in pools for taint in pool.taints)
        made: dict[int, Wishes] = {}
        self.wishes = [made.setdefault(id(pod.request), Wishes.of(pod.request, softens=soft)) for pod in pods]
        self._nodes = self._present_nodes()
        self._view = NodeView(cluster, pods[0].request.pod)
        self._room: dict[str, NDArray[np.int64]] = {}
        self._open: dict[int, NDArray[np.bool_]] = {}
        self._groups: dict[int, list[CountedGroup]] = {}
        self._owned: dict[int, list[CountedGroup]] = {}
        self._claims: list[NewClaim] = []
        self._left = _left(pools, types, cluster)
        for group_term in cluster.anti_affinity.counts.items():
            self._keep_away(*group_term)
        for wishes in made.values():
            self._groups_of(wishes)
        for node in self._nodes:
            self._topology.register_host(_host(node.labels))

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
        groups = [*self._groups_of(wishes), *self._topology.keeping_away(wishes.pod)]
        node = self._present(wishes, groups)
        if node is not None:
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
        """Return what the labels and the instance types of a new node may be with a pod, else why not."""
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
        labels, against = self._topology.narrowed(
            groups, pod, wishes.strict, labels=labels, known=self._known, choose=self._choose
        )
        if against is not None:
            return _unsatisfied(against)
        types = allowed_types(roomy, labels)
        if not types:
            narrowed = {group.key: labels[group.key] for group in groups if group.key != HOSTNAME}
            return "; ".join([_NOT_OFFERED, *(f"{key} {each}" for key, each in narrowed.items())])
        return _Fitting(labels, types, amounts)

    def _put(self, claim: NewClaim, number: int, wishes: Wishes, found: _Fitting) -> None:
        claim.labels, claim.types, claim.amounts = found
        claim.ports.extend(wishes.pod.ports)
        claim.pods.append(number)
        self._topology.register_host(_host(claim.labels))
        self._topology.record(wishes.pod, self._owned_by(wishes), claim.pool.taints, claim.labels)

    def _present(self, wishes: Wishes, groups: Sequence[CountedGroup]) -> PresentNode | None:
        """Return the first node of the cluster that takes a pod, and put it there; None if none does."""
        pod = wishes.pod
        fitting = self._open_to(wishes).copy()
        for name, amount in wishes.amounts.items():
            if amount:
                fitting &= self._room_of(name) >= amount
        told: dict[tuple[int, str], bool] = {}
        for place in np.flatnonzero(fitting).tolist():
            node = self._nodes[place]
            if node.ports and conflicting(pod.ports, node.ports, sidecars=True):
                continue
            if all(self._allows(group, wishes, node, told) for group in groups):
                for name, amount in wishes.amounts.items():
                    self._room_of(name)[place] -= amount
                node.ports.extend(pod.ports)
                self._topology.record(pod, self._owned_by(wishes), node.taints, node.labels)
                return node
        return None

    def _allows(
        self, group: CountedGroup, wishes: Wishes, node: PresentNode, told: dict[tuple[int, str], bool]
    ) -> bool:
        """Return whether a group lets a pod on a node of the cluster, once for each domain."""
        label = node.labels.get(group.key)
        if label is None:
            return False
        domain = next(iter(label.values))
        found = told.get((id(group), domain))
        if found is None:
            of_pod = wishes.strict.get(group.key, LabelRequirement(complement=True))
            allowed = group.allowed(wishes.pod, of_pod, label, self._choose)
            found = told[id(group), domain] = allowed.allows(domain)
        return found

    def _open_to(self, wishes: Wishes) -> NDArray[np.bool_]:
        """Return the nodes whose taints and labels let a pod on, and whose ports are free."""
        found = self._open.get(id(wishes))
        if found is None:
            index, pod = self._cluster, wishes.pod
            with index.reading():
                taken = index.ports.count(pod.ports, index.nodes.slots, sidecars=True)[self._view.slots] > 0
            found = self._open[id(wishes)] = np.array(
                [
                    not taken[node.position]
                    and tolerates(node.taints, wishes.tolerations)
                    and not conflict(node.labels, wishes.requirements)
                    for node in self._nodes
                ],
                np.bool_,
            )
        return found

    def _room_of(self, name: str) -> NDArray[np.int64]:
        """Return what each node has left of a resource, in the order of the nodes."""
        found = self._room.get(name)
        if found is None:
            allocatable, used = self._view.resource(name)
            found = self._room[name] = (allocatable - used)[[node.position for node in self._nodes]]
        return found

    def _present_nodes(self) -> list[PresentNode]:
        nodes = []
        for position, node in enumerate(self._cluster.nodes.listed()):
            labels = {HOSTNAME: node.name, **node.labels}
            taints = (*node.taints, CORDON_TAINT) if node.unschedulable else node.taints
            nodes.append(PresentNode(node.name, position, taints, of_labels(labels)))
        return sorted(nodes, key=lambda node: node.name)

    def _groups_of(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of a pod; those that no pod had before are counted in the cluster as it is."""
        found = self._groups.get(id(wishes))
        if found is None:
            found = [self._spread(wishes, applied) for applied in wishes.constraints]
            terms = wishes.pod.terms
            near, apart = (*terms.affinity, *wishes.near), (*terms.anti_affinity, *wishes.apart)
            found += [self._of_term(GroupKind.AFFINITY, wishes, term) for term in near]
            found += [self._of_term(GroupKind.ANTI_AFFINITY, wishes, term) for term in apart]
            # A constraint that stands twice counts once.
            found = self._groups[id(wishes)] = list(dict.fromkeys(found))
            self._owned_by(wishes)
        return found

    def _spread(self, wishes: Wishes, applied: AppliedConstraint) -> CountedGroup:
        constraint, selector, namespace = applied.constraint, applied.selector, wishes.pod.namespace

        def selects(pod: Pod) -> bool:
            return selector is not None and pod.namespace == namespace and selector.matches(pod.labels)

        def make() -> CountedGroup:
            passes = wishes.counted_nodes(applied)
            domains = self._topology.universe.domains(constraint.topology_key, passes.tolerations)
            group = CountedGroup(
                GroupKind.SPREAD, constraint.topology_key, selects, passes, domains,
                max_skew=constraint.max_skew, min_domains=constraint.min_domains,
            )  # fmt: skip
            # Without a selector it counts every pod of the namespace that is there, and none that comes.
            table, slots = self._cluster.pods_of(namespace), self._cluster.nodes.slots
            counts = (
                None
                if table is None
                else table.count_by_node(selector or LabelSelector.parse({}), slots=slots)
            )
            self._count_present(group, None if counts is None else counts[self._view.slots])
            return group

        return self._topology.group(wishes.counted_key(applied), make)

    def _of_term(self, kind: GroupKind, wishes: Wishes, term: InterPodTerm) -> CountedGroup:
        def make() -> CountedGroup:
            group = self._term_group(kind, term, wishes)
            slots, counts = self._cluster.nodes.slots, np.zeros(self._cluster.nodes.slots, np.int64)
            for namespace, table in self._cluster.pod_tables():
                covered = term.covers(namespace, self._namespaces.get(namespace, {}))
                if covered and term.selector is not None:
                    counts += table.count_by_node(term.selector, slots=slots)
            self._count_present(group, counts[self._view.slots])
            return group

        return self._topology.group((kind, _alike(term)), make)

    def _term_group(self, kind: GroupKind, term: InterPodTerm, wishes: Wishes | None) -> CountedGroup:
        """Return the group of a term, without any pod: of affinity, taints narrow the domains."""

        def selects(pod: Pod) -> bool:
            return term.selects(pod.namespace, self._namespaces.get(pod.namespace, {}), pod.labels)

        tolerations = () if wishes is None else wishes.tolerations
        domains = self._topology.universe.domains(term.topology_key, tolerations)
        return CountedGroup(kind, term.topology_key, selects, EVERY_NODE, domains)

    def _count_present(self, group: CountedGroup, counts: NDArray[np.int64] | None) -> None:
        """Count the pods of the cluster, and add the domains of its nodes."""
        for node in self._nodes:
            label = node.labels.get(group.key)
            if label is None or not group.passes.passes(node.taints, node.labels):
                continue
            domain = next(iter(label.values))
            group.count(domain, 0 if counts is None else int(counts[node.position]))

    def _owned_by(self, wishes: Wishes) -> list[CountedGroup]:
        """Return the groups of the pods that have the anti-affinity terms of a pod."""
        terms = wishes.pod.terms.anti_affinity
        found = self._owned.get(id(terms))
        if found is None:
            kind = GroupKind.ANTI_AFFINITY
            found = self._owned[id(terms)] = [
                self._topology.inverse(_alike(term), lambda term=term: self._term_group(kind, term, wishes))  # type: ignore[misc]
                for term in terms
            ]
        return found

    def _keep_away(self, term: InterPodTerm, holders: Mapping[int, int]) -> None:
        """Add the group of the pods of the cluster that have an anti-affinity term."""
        kind = GroupKind.ANTI_AFFINITY
        group = self._topology.inverse(_alike(term), lambda: self._term_group(kind, term, None))
        of_slot = {int(slot): position for position, slot in enumerate(self._view.slots.tolist())}
        by_position = {node.position: node for node in self._nodes}
        for slot, pods in holders.items():
            node = by_position.get(of_slot.get(slot, -1))
            label = None if node is None else node.labels.get(term.topology_key)
            if label is not None:
                group.count(next(iter(label.values)), pods)


def _alike(term: InterPodTerm) -> Hashable:
    """Return what terms have in common that count the same pods."""
    return (term.topology_key, term.selector, term.namespaces, term.namespace_selector)


def _host(labels: Requirements) -> str:
    return next(iter(labels[HOSTNAME].values))


def _within(kind: InstanceType, left: Mapping[str, int]) -> bool:
    """Return whether a node of an instance type is within what limits leave."""
    return all((1 if name == NODES else kind.capacity.get(name, 0)) <= rest for name, rest in left.items())


def _left(
    pools: Iterable[NodePool], types: Iterable[InstanceType], cluster: ClusterIndex
) -> dict[str, dict[str, int]]:
    """Return what the limits of each NodePool leave beside the nodes that it has."""
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
