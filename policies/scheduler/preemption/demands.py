"""The conditions of filter plugins that depend on the pods of a node, as sums over these pods.

A demand has a value on every node, to which each pod of the node adds its weight, and is met or not by that
value. So pods can be removed from all nodes at once and given back one by one, as ``RemovePod`` and
``AddPod`` of the plugins do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.interpod_terms import InterPodTerm
from policies.model.pod_reading import in_older_release
from policies.scheduler.holdings import Holding
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import LabelView, NodeView
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
from policies.scheduler.preemption.victims import Numbers, PodBatch
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, FilterResult, Reason

#: Which of some nodes something holds for, shape ``(k,)``.
Mask = NDArray[np.bool_]


class NodeDemand(NamedTuple):
    """A condition of one plugin."""

    plugin: Plugin  #: The plugin.
    reason: Reason  #: Why a node is rejected that does not meet it.
    value: Numbers  #: What it is on every node now, shape ``(n,)``.
    #: Returns the amount that each pod of a batch adds to the value of its node, shape ``(p,)``.
    weigh: Callable[[PodBatch], Numbers]
    #: Returns which of some nodes do not meet the condition, from what the value of each would be and their
    #: positions; all of shape ``(k,)``.
    unmet: Callable[[Numbers, NDArray[np.intp]], Mask]
    #: Which nodes cannot meet the condition without any pods, shape ``(n,)``; None for none.
    too_small: Mask | None = None


def _conflicts(value: Numbers, _nodes: NDArray[np.intp]) -> Mask:
    """Return where something is left that conflicts with the pod."""
    return value > 0


def _conflicts_within(label: LabelView) -> Callable[[Numbers, NDArray[np.intp]], Mask]:
    """Return the same for nodes with a label alone; on others the condition is met."""
    return lambda value, nodes: (value > 0) & label.present[nodes]


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
        Plugin.NODE_VOLUME_LIMITS: lambda: (_of_room(view, room) for room in volume_rooms(view)),
        Plugin.POD_TOPOLOGY_SPREAD: lambda: (_of_skew(request, check) for check in checks),
        Plugin.INTER_POD_AFFINITY: lambda: _of_affinity(view, request, nominated),
    }
    return [demand for plugin in request.profile.filters if plugin in makers for demand in makers[plugin]()]


def _of_ports(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    wanted, sidecars = request.pod.ports, request.pod.reading.sidecar_ports
    if wanted:
        index = view.index
        taken = index.ports.count(wanted, index.nodes.slots, index.steps, sidecars=sidecars)

        def weigh(pods: PodBatch) -> Numbers:
            return pods.by_holding(lambda held: conflicting(wanted, held.ports, sidecars=sidecars))

        yield NodeDemand(Plugin.NODE_PORTS, NO_FREE_PORTS, taken[view.slots], weigh, _conflicts)


def _of_resources(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    yield _of_resource(view, PODS, 1, TOO_MANY_PODS)
    for name, amount in compared_requests(request).items():
        yield _of_resource(view, name, amount, insufficient(name))


def _of_resource(view: NodeView, name: str, amount: int, text: str) -> NodeDemand:
    """Return the demand that enough of a resource is left."""
    allocatable, used = view.resource(name)
    names = frozenset((name, in_older_release(name, view.reading)))

    def weigh(pods: PodBatch) -> Numbers:
        if name == PODS:
            return np.ones(len(pods.nodes), np.int64)
        return pods.by_holding(
            lambda holding: sum(amount for resource, amount in holding.requests if resource in names)
        )

    def unmet(value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        return amount > allocatable[nodes] - value

    reason = Reason((text,), Code.UNSCHEDULABLE)
    return NodeDemand(Plugin.NODE_RESOURCES_FIT, reason, used, weigh, unmet, amount > allocatable)


def _of_disks(view: NodeView, request: SchedulingRequest) -> Iterator[NodeDemand]:
    index, disks = view.index, request.pod.volumes.disks
    if disks:
        wanted = frozenset(holder for disk in disks for holder in disk_holders(disk))
        value = np.zeros(index.nodes.slots, np.int64)
        for disk in wanted:
            value += index.volumes.disks.by_slot(disk, index.nodes.slots)

        def weigh(pods: PodBatch) -> Numbers:
            return pods.by_volumes(lambda volumes: sum(disk in wanted for disk in volumes.disks))

        yield NodeDemand(Plugin.VOLUME_RESTRICTIONS, NO_DISK, value[view.slots], weigh, _conflicts)
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

        yield NodeDemand(Plugin.VOLUME_RESTRICTIONS, IN_USE, users, weigh_claims, _conflicts)


def _of_room(view: NodeView, room: VolumeRoom) -> NodeDemand:
    """Return the demand that a node has room for the volumes of a CSI driver.

    A volume that several pods of a node use counts with the first of them alone.
    """

    def weigh(pods: PodBatch) -> Numbers:
        weights, counted = np.zeros(len(pods.nodes), np.int64), set()
        for position, volumes in pods.volumes.items():
            node = int(pods.nodes[position])
            for volume in room.counted(view, volumes):
                if (node, volume) not in counted:
                    counted.add((node, volume))
                    weights[position] += 1
        return weights

    def unmet(value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        return (value > room.most[nodes]) & (room.new[nodes] > 0)

    value = room.attached + room.new
    return NodeDemand(Plugin.NODE_VOLUME_LIMITS, TOO_MANY_VOLUMES, value, weigh, unmet)


def _of_skew(request: SchedulingRequest, check: FilterResult) -> NodeDemand:
    """Return the demand of a hard constraint: the skew of the node's domain stays within ``maxSkew``.

    Only the count of that domain changes with the pods of the node. One that is being deleted did not count,
    yet is taken off when it is removed, as in ``updateWithPod``.
    """
    applied, domains = check.applied, check.domains
    matching = np.append(domains.matching, 0)[domains.of_node]
    others, exists = _least_of_others(check), np.append(domains.exists, False)[domains.of_node]
    too_few = np.count_nonzero(domains.exists) < applied.constraint.min_domains

    def weigh(pods: PodBatch) -> Numbers:
        if applied.selector is None or pods.namespace != request.pod.namespace:
            return np.zeros(len(pods.nodes), np.int64)
        return (pods.selected(applied.selector) & domains.eligible.counted[pods.nodes]).astype(np.int64)

    def unmet(value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        least = np.where(exists[nodes], np.minimum(others[nodes], value), others[nodes])
        minimum = np.zeros_like(value) if too_few else least
        return value + applied.self_match - minimum > applied.constraint.max_skew

    return NodeDemand(Plugin.POD_TOPOLOGY_SPREAD, SKEW_TOO_LARGE, matching, weigh, unmet)


def _of_affinity(
    view: NodeView, request: SchedulingRequest, nominated: Iterable[Holding]
) -> Iterator[NodeDemand]:
    """Yield the demands of InterPodAffinity; it does not run where no required term is about the pod."""
    counts, terms = InterPodCounts(view, request), request.pod.terms
    existing: defaultdict[str, Numbers] = defaultdict(lambda: np.zeros(len(view.slots), np.int64))
    for held in counts.of_running(view.index.anti_affinity):
        existing[held.key] += in_domain(view.label(held.key), held.pods)
    if not (terms.affinity or terms.anti_affinity or any(pods.any() for pods in existing.values())):
        return
    if terms.affinity:
        yield _own_affinity(view, counts.resolved(terms.affinity), counts)
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


def _own_affinity(view: NodeView, terms: list[InterPodTerm], counts: InterPodCounts) -> NodeDemand:
    """Return the demand that pods which the terms select are in the domains of the node, or nowhere yet.

    The value counts the selected pods that were added to the node, below zero those that were removed.
    """
    pods_now = counts.selected_by_all(terms)
    labels = [view.label(term.topology_key) for term in terms]
    in_domains = [in_domain(label, pods_now) for label in labels]
    entries = sum(int(pods_now[label.present].sum()) for label in labels)
    carrying = view.with_labels(frozenset(term.topology_key for term in terms))
    selects_itself = counts.selects_itself(terms)

    def weigh(pods: PodBatch) -> Numbers:
        selected = np.ones(len(pods.nodes), np.bool_)
        for term in terms:
            selected &= _selected(term, pods)
        return selected.astype(np.int64)

    def unmet(value: Numbers, nodes: NDArray[np.intp]) -> Mask:
        near = np.ones(len(nodes), np.bool_)
        for pods in in_domains:
            near &= pods[nodes] + value > 0
        is_first = entries + value * len(terms) == 0
        allowed: Mask = (near | (is_first & selects_itself)) & carrying[nodes]
        return ~allowed

    value = np.zeros(len(view.slots), np.int64)
    return NodeDemand(Plugin.INTER_POD_AFFINITY, AFFINITY, value, weigh, unmet)


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

    return NodeDemand(Plugin.INTER_POD_AFFINITY, ANTI_AFFINITY, value, weigh, _conflicts_within(label))


def _existing_anti_affinity(view: NodeView, key: str, value: Numbers, counts: InterPodCounts) -> NodeDemand:
    def weigh(pods: PodBatch) -> Numbers:
        return pods.by_holding(
            lambda holding: sum(
                term.topology_key == key and counts.is_selected_by(term)
                for term in holding.terms.anti_affinity
            )
        )

    return NodeDemand(Plugin.INTER_POD_AFFINITY, EXISTING, value, weigh, _conflicts_within(view.label(key)))


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
