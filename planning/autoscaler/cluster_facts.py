"""How groups of pods meet the nodes of a cluster as it is, and those of node groups.

What follows from the nodes is computed by the scheduler's own filters, once for each group of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packed_cluster import Domain, FirstRejection, PodTally, SkewLimit, first_rejection
from planning.autoscaler.pod_groups import PodGroup
from policies.model.constraint import WhenUnsatisfiable
from policies.model.interpod_terms import InterPodTerm
from policies.model.node import Node
from policies.model.pod_reading import EVERY_AMOUNT
from policies.model.pod_volumes import NO_VOLUMES
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.plugins.interpodaffinity import InterPodCounts
from policies.scheduler.plugins.noderesources import compared_requests
from policies.scheduler.plugins.podtopologyspread.filtering import SKEW_TOO_LARGE
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.workload_topology import eligible_nodes, required_keys

#: The plugins of which an empty node alone tells nothing.
_COUNTED: Final = frozenset({Plugin.POD_TOPOLOGY_SPREAD, Plugin.INTER_POD_AFFINITY})


#: The most domains by which open nodes are grouped: each is looked at in every search.
_MOST_GROUPED: Final = 16


class OnNewNodes(NamedTuple):
    """How the nodes of a node group meet a group of pods."""

    rejection: FirstRejection | None  #: Why they take none, whatever comes; None if they may.
    counted: tuple[bool, ...]  #: Whether pods on them count, for each constraint.


class PodGroupFacts:
    """Facts about a group of pods on the nodes of a cluster as it is.

    Attributes:
        group: The group.
        compared: What a node must have left.
        taken: What a pod takes of its node.
        domains: The matching pods by domain, of each constraint.
        by_filters: Whether each pod goes through all filters.
        open: The positions of the nodes that may take some, but for the skew.
        closed: The domains that anti-affinity closes: terms of the pod itself, and those of running pods.
        counted: On which nodes pods count, for each constraint.
        limits: Of each constraint.
        grouped: The constraint by whose few domains open nodes are grouped; None for none.
    """

    def __init__(self, group: PodGroup, cluster: ClusterIndex) -> None:
        self.group = group
        request = group.request
        self.limits = [
            SkewLimit(
                applied.constraint.topology_key,
                applied.constraint.max_skew - applied.self_match,
                max(applied.constraint.min_domains, 1),
            )
            for applied in request.constraints
        ]
        self.compared = {PODS: 1, **compared_requests(request)}
        self.taken = {PODS: 1, **dict(request.pod.requests)}
        with cluster.reading():
            view = NodeView(cluster, request.pod)
            counts = InterPodCounts(view, request)
            self.by_filters = _needs_filters(view, request)
            self.domains = [PodTally(each.domains.by_value()) for each in count_spread(request, cluster)]
            self.counted = _counted(view, request)
            self.open = [] if self.by_filters else _open_nodes(view, request)
            self.terms = counts.resolved(request.pod.terms.anti_affinity)
            running = counts.of_running(cluster.anti_affinity)
            self.closed = (
                _closed(view, ((term.topology_key, counts.selected_by_all([term])) for term in self.terms)),
                _closed(view, ((held.key, held.pods) for held in running)),
            )
        few = (
            position
            for position, each in enumerate(self.limits)
            if each.key != HOSTNAME and len(self.domains[position].counts) <= _MOST_GROUPED
        )
        self.grouped = min(few, key=lambda position: len(self.domains[position].counts), default=None)

    def matched_by(self, other: PodGroup) -> list[int]:
        """Return the positions of the constraints that count the pods of another group."""
        request, pod = self.group.request, other.request.pod
        if request.pod.namespace != pod.namespace:
            return []
        return [
            position
            for position, applied in enumerate(request.constraints)
            if applied.counted is not None and applied.counted.matches(pod.labels)
        ]


def _needs_filters(view: NodeView, request: SchedulingRequest) -> bool:
    """Return whether more changes for a pod as others come than what is counted."""
    pod = request.pod
    if pod.terms.affinity or pod.ports or pod.volumes is not NO_VOLUMES:
        return True
    return pod.reading.amounts != EVERY_AMOUNT or bool(view.index.nominated_pods())


def _closed(view: NodeView, counted: Iterable[tuple[str, NDArray[np.int64]]]) -> frozenset[Domain]:
    """Return the domains of topology keys with any of the pods that are counted for each by node."""
    found = set[Domain]()
    for key, pods in counted:
        label = view.label(key)
        numbers = np.unique(label.numbers[label.present & (pods > 0)])
        found |= {(key, label.texts[number]) for number in numbers.tolist()}
    return frozenset(found)


def _counted(view: NodeView, request: SchedulingRequest) -> list[list[bool]]:
    """Return on which nodes pods count, for each constraint."""
    constraints = [applied.constraint for applied in request.constraints]
    keys = required_keys(constraints, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    found = (eligible_nodes(each, view, keys=keys, behavior=request.behavior) for each in constraints)
    return [nodes.tolist() for nodes in found]


def _open_nodes(view: NodeView, request: SchedulingRequest) -> list[int]:
    """Return the positions of the nodes that every filter lets pass, but for the skew."""
    rejections, _ = filter_nodes(view, request, pre_filter(view, request))
    passed = np.ones(len(view.slots), np.bool_)
    for each in rejections:
        skewed = each.reasons.index(SKEW_TOO_LARGE) + 1 if SKEW_TOO_LARGE in each.reasons else 0
        passed &= (each.of_node == 0) | ((each.of_node == skewed) & (skewed > 0))
    return np.flatnonzero(passed).tolist()


class Effect(NamedTuple):
    """Changes that a pod of a group brings to others where it comes."""

    counted: list[tuple[int, int]]  #: The constraints that count it, as group and position.
    #: The groups to which it closes a domain, with the topology key and whether by their own terms.
    closes: list[tuple[int, str, bool]]


class Arrival(NamedTuple):
    """Changes that a new node of a node group brings to groups of pods."""

    open: tuple[int, ...]  #: The groups of pods that it may take.
    #: The constraints that count pods on it, as group and position, with the topology key.
    counted: tuple[tuple[int, int, str], ...]


class ClusterFacts:
    """A cluster as it is, and how groups of pods meet its nodes.

    Attributes:
        cluster: The cluster, which must not change.
        pods: Of each group.
        nodes: The nodes.
        labels: The labels of each.
    """

    def __init__(self, cluster: ClusterIndex, groups: Sequence[PodGroup]) -> None:
        self.cluster = cluster
        self.pods = [PodGroupFacts(group, cluster) for group in groups]
        self.nodes = cluster.nodes.listed()
        self.labels = [node.labels for node in self.nodes]
        self.resources = sorted({name for facts in self.pods for name in (*facts.compared, *facts.taken)})
        self._namespaces = {name: namespace.labels for name, namespace in cluster.snapshot.namespaces.items()}
        self._open: dict[int, dict[str, list[int]]] = {}
        self._effects: dict[int, Effect] = {}
        self._free: list[list[int]] = []
        self._alone: dict[str, ClusterIndex] = {}
        self._on: dict[tuple[int, str], OnNewNodes] = {}
        self._arrivals: dict[str, Arrival] = {}
        self._samples: dict[str, Node] = {}

    def room(self, position: int) -> dict[str, int]:
        """Return a node's free amounts of the resources that pods request."""
        if not self._free:
            view = NodeView(self.cluster, self.pods[0].group.request.pod)
            for name in self.resources:
                allocatable, used = view.resource(name)
                self._free.append((allocatable - used).tolist())
        return {name: free[position] for name, free in zip(self.resources, self._free, strict=True)}

    def open_by_domain(self, number: int) -> dict[str, list[int]]:
        """Return the positions of the nodes that may take pods of a group, by the domain that groups them.

        It is the same each time, and not to be changed.
        """
        if number not in self._open:
            facts, found = self.pods[number], dict[str, list[int]]()
            for position in facts.open:
                labels = self.labels[position]
                domain = "" if facts.grouped is None else labels[facts.limits[facts.grouped].key]
                found.setdefault(domain, []).append(position)
            self._open[number] = found
        return self._open[number]

    def on(self, number: int, group: ScaledGroup) -> OnNewNodes:
        """Return how new nodes of a group meet a group of pods."""
        found = self._on.get((number, group.name))
        if found is None:
            request = self.pods[number].group.request
            view = NodeView(self._only_node(group), request.pod)
            rejections, _ = filter_nodes(view, request)
            lasting = [each for each in rejections if each.plugin not in _COUNTED]
            counted = tuple(each[0] for each in _counted(view, request))
            found = self._on[number, group.name] = OnNewNodes(first_rejection(lasting, 0), counted)
        return found

    def arrival(self, group: ScaledGroup) -> Arrival:
        """Return the changes that a new node of a group brings."""
        found = self._arrivals.get(group.name)
        if found is None:
            met = [self.on(number, group) for number in range(len(self.pods))]
            by_counts = (number for number, facts in enumerate(self.pods) if not facts.by_filters)
            found = self._arrivals[group.name] = Arrival(
                open=tuple(number for number in by_counts if met[number].rejection is None),
                counted=tuple(
                    (number, position, limit.key)
                    for number, facts in enumerate(self.pods)
                    for position, limit in enumerate(facts.limits)
                    if met[number].counted[position]
                ),
            )
        return found

    def sample(self, group: ScaledGroup) -> Node:
        """Return a node of a group, of a name that no other has, also of those that are added."""
        node = self._samples.get(group.name)
        if node is None:
            name = f"{group.name}-new-0"
            while self.cluster.nodes.find(name) is not None:
                name += "0"
            node = self._samples[group.name] = group.node(name)
        return node

    def _only_node(self, group: ScaledGroup) -> ClusterIndex:
        alone = self._alone.get(group.name)
        if alone is None:
            alone = self._alone[group.name] = ClusterIndex()
            alone.nodes.put(group.node(group.name))
        return alone

    def effect(self, number: int) -> Effect:
        """Return the changes that a pod of a group brings to others, and to those of its own group."""
        found = self._effects.get(number)
        if found is None:
            placed = self.pods[number]
            found = self._effects[number] = Effect([], [])
            for other, facts in enumerate(self.pods):
                found.counted.extend((other, position) for position in facts.matched_by(placed.group))
                own = self._selecting(facts.terms, placed.group)
                running = self._selecting(placed.terms, facts.group)
                found.closes.extend((other, term.topology_key, True) for term in own)
                found.closes.extend((other, term.topology_key, False) for term in running)
        return found

    def _selecting(self, terms: Iterable[InterPodTerm], group: PodGroup) -> Iterator[InterPodTerm]:
        pod = group.request.pod
        labels = self._namespaces.get(pod.namespace, {})
        return (term for term in terms if term.selects(pod.namespace, labels, pod.labels))
