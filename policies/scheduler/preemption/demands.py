"""The conditions of filter plugins that depend on the pods of a node, as sums over these pods.

A demand has a value on every node, to which each pod of the node adds its weight, and is met or not by that
value. So pods can be removed from all nodes at once and given back one by one, as ``RemovePod`` and
``AddPod`` of the plugins do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from policies.model.interpod_terms import InterPodTerm
from policies.model.pod_reading import in_older_release
from policies.model.pod_volumes import InlineDisk, PodVolumes
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.interpodaffinity import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING,
    InterPodCounts,
    in_domain,
)
from policies.scheduler.plugins.nodeports import NO_FREE_PORTS, conflicting
from policies.scheduler.plugins.noderesources import TOO_MANY_PODS, compared_requests, insufficient
from policies.scheduler.plugins.nodevolumelimits import TOO_MANY_VOLUMES, VolumeRoom, volume_rooms
from policies.scheduler.plugins.podtopologyspread.filtering import SKEW_TOO_LARGE
from policies.scheduler.plugins.volumerestrictions import IN_USE, NO_DISK, disk_holders
from policies.scheduler.pod_holding import Holding, Numbers, PodBatch
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, FilterResult, Reason

#: Which of some nodes something holds for, shape ``(k,)``.
Mask = NDArray[np.bool_]


class NodeDemand(ABC):
    """A condition of one plugin.

    Attributes:
        plugin: The plugin.
        reason: Why a node is rejected that does not meet it.
        value: What it is on every node now, shape ``(n,)``.
    """

    def __init__(self, plugin: Plugin, reason: Reason, value: Numbers) -> None:
        self.plugin, self.reason, self.value = plugin, reason, value

    @abstractmethod
    def weigh(self, pods: PodBatch) -> Numbers:
        """Return the amount that each pod adds to the value of its node, shape ``(p,)``."""

    def too_small(self, nodes: NDArray[np.intp]) -> Mask:
        """Return which of some nodes cannot meet the condition without any pods, shape ``(k,)``."""
        return np.zeros(len(nodes), np.bool_)

    @abstractmethod
    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return which nodes do not meet the condition.

        Args:
            value: What the value of each would be, shape ``(k,)``.
            nodes: Their positions, shape ``(k,)``.
        """


class ResourceDemand(NodeDemand):
    """Enough of a resource must be left."""

    def __init__(self, view: NodeView, name: str, amount: int, text: str) -> None:
        self._allocatable, used = view.resource(name)
        super().__init__(Plugin.NODE_RESOURCES_FIT, Reason((text,), Code.UNSCHEDULABLE), used)
        self._amount = amount
        self._names = frozenset((name, in_older_release(name, view.reading)))

    def weigh(self, pods: PodBatch) -> Numbers:
        """Return the amount that each pod requests, shape ``(p,)``."""
        if PODS in self._names:
            return np.ones(len(pods.nodes), np.int64)
        return pods.by_holding(
            lambda holding: sum(amount for name, amount in holding.requests if name in self._names)
        )

    def too_small(self, nodes: NDArray[np.intp]) -> Mask:
        """Return which nodes are smaller than the request."""
        return self._amount > self._allocatable[nodes]

    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return where too little is left."""
        return self._amount > self._allocatable[nodes] - value


class NoneLeft(NodeDemand):
    """Nothing that conflicts with the pod may be there; where the condition does not apply, it is met."""

    def __init__(
        self,
        plugin: Plugin,
        reason: Reason,
        value: Numbers,
        weigh: Callable[[PodBatch], Numbers],
        applies: Mask | None = None,
    ) -> None:
        super().__init__(plugin, reason, value)
        self._weigh, self._applies = weigh, applies

    def weigh(self, pods: PodBatch) -> Numbers:
        """Return how many conflicts each pod is."""
        return self._weigh(pods)

    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return where a conflict is left."""
        conflicts = value > 0
        return conflicts if self._applies is None else conflicts & self._applies[nodes]


class AttachDemand(NodeDemand):
    """A node must have room for the volumes of a CSI driver.

    A volume that several pods of a node use counts with the first of them alone.
    """

    def __init__(self, view: NodeView, room: VolumeRoom) -> None:
        super().__init__(Plugin.NODE_VOLUME_LIMITS, TOO_MANY_VOLUMES, room.attached + room.new)
        self._view, self._room = view, room

    def weigh(self, pods: PodBatch) -> Numbers:
        """Return how many volumes of the driver each pod alone has attached."""
        weights, counted = np.zeros(len(pods.nodes), np.int64), set()
        for position, volumes in pods.volumes.items():
            node = int(pods.nodes[position])
            for volume in self._room.counted(self._view, volumes):
                if (node, volume) not in counted:
                    counted.add((node, volume))
                    weights[position] += 1
        return weights

    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return where there are too many volumes with those of the pod."""
        return (value > self._room.most[nodes]) & (self._room.new[nodes] > 0)


class SpreadDemand(NodeDemand):
    """A hard constraint: the skew of the node's domain must stay within ``maxSkew``.

    Only the count of that domain changes with the pods of the node. One that is being deleted did not count,
    yet is taken off when it is removed, as in ``updateWithPod``.
    """

    def __init__(self, request: SchedulingRequest, check: FilterResult) -> None:
        domains = check.domains
        matching = np.append(domains.matching, 0)[domains.of_node]
        super().__init__(Plugin.POD_TOPOLOGY_SPREAD, SKEW_TOO_LARGE, matching)
        self._check, self._namespace = check, request.pod.namespace
        self._others = _least_of_others(check)
        self._exists = np.append(domains.exists, False)[domains.of_node]
        self._too_few = np.count_nonzero(domains.exists) < check.applied.constraint.min_domains

    def weigh(self, pods: PodBatch) -> Numbers:
        """Return 1 for each pod that the constraint counts."""
        selector = self._check.applied.selector
        if selector is None or pods.namespace != self._namespace:
            return np.zeros(len(pods.nodes), np.int64)
        return (pods.selected(selector) & self._check.domains.eligible.counted[pods.nodes]).astype(np.int64)

    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return where the skew is too large."""
        others = self._others[nodes]
        least = np.where(self._exists[nodes], np.minimum(others, value), others)
        minimum = np.zeros_like(value) if self._too_few else least
        applied = self._check.applied
        return value + applied.self_match - minimum > applied.constraint.max_skew


class AffinityDemand(NodeDemand):
    """Pods that the required affinity selects must be in the domains of the node, or nowhere yet.

    The value counts the selected pods that were added to the node, below zero those that were removed.
    """

    def __init__(self, view: NodeView, terms: Sequence[InterPodTerm], counts: InterPodCounts) -> None:
        super().__init__(Plugin.INTER_POD_AFFINITY, AFFINITY, np.zeros(len(view.slots), np.int64))
        self._terms = terms
        pods = counts.selected_by_all(list(terms))
        labels = [view.label(term.topology_key) for term in terms]
        self._in_domain = [in_domain(label, pods) for label in labels]
        self._entries = sum(int(pods[label.present].sum()) for label in labels)
        self._carrying = view.with_labels(frozenset(term.topology_key for term in terms))
        self._selects_itself = counts.selects_itself(terms)

    def weigh(self, pods: PodBatch) -> Numbers:
        """Return 1 for each pod that all terms select."""
        selected = np.ones(len(pods.nodes), np.bool_)
        for term in self._terms:
            selected &= _selected(term, pods)
        return selected.astype(np.int64)

    def unmet(self, value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        """Return where a domain has no selected pod, though the pod is not the first of its group."""
        near = np.ones(len(nodes), np.bool_)
        for pods in self._in_domain:
            near &= pods[nodes] + value > 0
        is_first = self._entries + value * len(self._terms) == 0
        allowed: Mask = (near | (is_first & self._selects_itself)) & self._carrying[nodes]
        return ~allowed


def demands_of(
    view: NodeView, request: SchedulingRequest, checks: Iterable[FilterResult], nominated: Iterable[Holding]
) -> list[NodeDemand]:
    """Return the demands of a pod, in the order in which its profile runs their plugins.

    Args:
        view: The nodes.
        request: The pod.
        checks: Its hard constraints, as they are now.
        nominated: What the pods hold that wait for room on some node: they may be added to it.
    """
    makers: dict[Plugin, Callable[[], Iterable[NodeDemand]]] = {
        Plugin.NODE_PORTS: lambda: _of_ports(view, request),
        Plugin.NODE_RESOURCES_FIT: lambda: _of_resources(view, request),
        Plugin.VOLUME_RESTRICTIONS: lambda: _of_disks(view, request),
        Plugin.NODE_VOLUME_LIMITS: lambda: (AttachDemand(view, room) for room in volume_rooms(view)),
        Plugin.POD_TOPOLOGY_SPREAD: lambda: (SpreadDemand(request, check) for check in checks),
        Plugin.INTER_POD_AFFINITY: lambda: _of_affinity(view, request, nominated),
    }
    return [demand for plugin in request.profile.filters if plugin in makers for demand in makers[plugin]()]


def _of_ports(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    wanted, sidecars = request.pod.ports, request.pod.reading.sidecar_ports
    if wanted:
        slots = view.index.nodes.slots
        value = view.index.ports.count(wanted, slots, sidecars=sidecars)[view.slots]

        def weigh(pods: PodBatch) -> Numbers:
            return pods.by_holding(lambda held: conflicting(wanted, held.ports, sidecars=sidecars))

        yield NoneLeft(Plugin.NODE_PORTS, NO_FREE_PORTS, value, weigh)


def _of_resources(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    yield ResourceDemand(view, PODS, 1, TOO_MANY_PODS)
    for name, amount in compared_requests(request).items():
        yield ResourceDemand(view, name, amount, insufficient(name))


def _of_disks(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    index, disks = view.index, request.pod.volumes.disks
    if disks:
        wanted = frozenset(holder for disk in disks for holder in disk_holders(disk))
        value = np.zeros(index.nodes.slots, np.int64)
        for disk in wanted:
            value += index.volumes.disks.by_slot(disk, index.nodes.slots)

        def weigh(pods: PodBatch) -> Numbers:
            return pods.by_volumes(lambda volumes: _count_disks(volumes, wanted))

        yield NoneLeft(Plugin.VOLUME_RESTRICTIONS, NO_DISK, value[view.slots], weigh)
    exclusive = view.claims.of_one_pod if view.knows_claims else frozenset()
    in_use = sum(bool(index.volumes.claims.holders(claim)) for claim in exclusive)
    if disks or in_use:
        names = frozenset(claim.name for claim in exclusive)
        users = np.full(len(view.slots), in_use, np.int64)

        # The scheduler compares no namespaces here, and counts every use of a claim that it counted once.
        def weigh_claims(pods: PodBatch) -> Numbers:
            return pods.by_volumes(
                lambda volumes: sum(not claim.ephemeral and claim.name in names for claim in volumes.claims)
            )

        yield NoneLeft(Plugin.VOLUME_RESTRICTIONS, IN_USE, users, weigh_claims)


def _count_disks(volumes: PodVolumes, wanted: frozenset[InlineDisk]) -> int:
    return sum(disk in wanted for disk in volumes.disks)


def _of_affinity(
    view: NodeView, request: SchedulingRequest, nominated: Iterable[Holding]
) -> Iterator[NodeDemand]:
    """Yield the demands of InterPodAffinity; it does not run where no required term is about the pod."""
    counts, terms = InterPodCounts(view, request), request.pod.terms
    existing: defaultdict[str, Numbers] = defaultdict(lambda: np.zeros(len(view.slots), np.int64))
    for term, pods in counts.of_running(view.index.anti_affinity):
        existing[term.topology_key] += in_domain(view.label(term.topology_key), pods)
    if not (terms.affinity or terms.anti_affinity or any(pods.any() for pods in existing.values())):
        return
    if terms.affinity:
        yield AffinityDemand(view, counts.resolved(terms.affinity), counts)
    own: defaultdict[str, list[InterPodTerm]] = defaultdict(list)
    for term in counts.resolved(terms.anti_affinity):
        own[term.topology_key].append(term)
    for key, of_key in own.items():
        yield _own_anti_affinity(view, key, of_key, counts)
    for holding in nominated:
        for term in holding.terms.anti_affinity:
            existing[term.topology_key] += 0
    for key, pods in existing.items():
        yield _existing_anti_affinity(view, key, pods, counts)


def _own_anti_affinity(
    view: NodeView, key: str, terms: list[InterPodTerm], counts: InterPodCounts
) -> NodeDemand:
    label = view.label(key)
    value = np.zeros(len(view.slots), np.int64)
    for term in terms:
        value += in_domain(label, counts.selected_by_all([term]))

    def weigh(pods: PodBatch) -> Numbers:
        return sum(
            (_selected(term, pods).astype(np.int64) for term in terms), np.zeros(len(pods.nodes), np.int64)
        )

    return NoneLeft(Plugin.INTER_POD_AFFINITY, ANTI_AFFINITY, value, weigh, label.present)


def _existing_anti_affinity(view: NodeView, key: str, value: Numbers, counts: InterPodCounts) -> NodeDemand:
    def weigh(pods: PodBatch) -> Numbers:
        return pods.by_holding(
            lambda holding: sum(
                term.topology_key == key and counts.is_selected_by(term)
                for term in holding.terms.anti_affinity
            )
        )

    present = view.label(key).present
    return NoneLeft(Plugin.INTER_POD_AFFINITY, EXISTING, value, weigh, present)


def _selected(term: InterPodTerm, pods: PodBatch) -> Mask:
    """Return which pods a term of the incoming pod selects, its namespaces resolved; shape ``(p,)``."""
    if term.selector is None or not term.covers(pods.namespace, {}):
        return np.zeros(len(pods.nodes), np.bool_)
    return pods.selected(term.selector)


def _least_of_others(check: FilterResult) -> Numbers:
    """Return the smallest count of the domains but the node's own, shape ``(n,)``; a huge one without any."""
    domains = check.domains
    counts = np.where(domains.exists, domains.matching, np.iinfo(np.int64).max)
    lowest = np.partition(counts, min(1, len(counts) - 1))[:2] if len(counts) else counts
    least = int(lowest.min(initial=np.iinfo(np.int64).max))
    second = int(lowest[1]) if len(lowest) > 1 else np.iinfo(np.int64).max
    per_domain = np.where(counts == least, second if np.count_nonzero(counts == least) == 1 else least, least)
    return np.append(per_domain, least)[domains.of_node]
