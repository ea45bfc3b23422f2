"""One loop of Cluster Autoscaler: which pods fit what is coming, and which nodes it adds for the others.

Source: ``core/podlistprocessor/filter_out_schedulable.go``, ``core/scaleup/orchestrator`` and
``expander/{waste,mostpods,leastnodes,priority,factory}``; of how many nodes a group would need,
``estimator/binpacking_estimator.go`` and ``estimator/decreasing_pod_orderer.go``; Cluster Autoscaler 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from planning.autoscaler.balancing import balance, similar
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packed_cluster import FirstRejection
from planning.autoscaler.packing import Packing
from planning.autoscaler.pod_groups import LOWEST_PRIORITY, PodGroup
from planning.simulation.cluster_simulation import QueuedPod
from policies.config.node_groups import AutoscalerSettings, Expander, GroupPriority, matches
from policies.model.topology_keys import HOSTNAME


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionOption:
    """One way to scale up: nodes of one group, and the pods that they help."""

    group: ScaledGroup  #: The node group.
    nodes: int  #: How many.
    pods: tuple[QueuedPod, ...]  #: The pods.
    similar: tuple[ScaledGroup, ...] = ()  #: The groups that the nodes may be shared with.


def estimate(
    packing: Packing, group: ScaledGroup, numbers: Iterable[int], pods: Sequence[PodGroup], most: int
) -> tuple[int, tuple[QueuedPod, ...]]:
    """Return how many new nodes of a group get pods, and these pods.

    Args:
        packing: The cluster with what is coming, which stays as it is.
        group: The node group.
        numbers: The groups of pods that its nodes may take.
        pods: All groups of pods, with those of their pods that are pending.
        most: How many nodes may be added.
    """
    run = _Estimation(packing.fork(), group, pods, most)
    ordered = sorted(numbers, key=lambda number: -_score(pods[number], group))
    for number in ordered:
        run.pack(number)
    return len(run.used), tuple(run.scheduled)


def _score(pods: PodGroup, group: ScaledGroup) -> float:
    """Return how large a pod is: its share of a node's cpu and of its memory, added up."""
    requests, allocatable = dict(pods.request.pod.requests), group.template.allocatable
    return sum(
        requests.get(name, 0) / allocatable[name]
        for name in ("cpu", "memory")
        if allocatable.get(name, 0) > 0
    )


class _Estimation:
    """One estimate. Pods go to the nodes in turn."""

    def __init__(self, packing: Packing, group: ScaledGroup, pods: Sequence[PodGroup], most: int) -> None:
        self._packing, self._group, self._pods, self._most = packing, group, pods, most
        self._first = packing.spots
        self._names = packing.new_names(group)
        self._last: int | None = None
        self._full = False
        self.used: set[int] = set()
        self.scheduled: list[QueuedPod] = []

    def pack(self, number: int) -> None:
        """Put the pods of a group on the new nodes, and add nodes for the others."""
        pods = self._pods[number].pods
        left = self._fill(number, pods)
        if not self._full:
            self._extend(number, left)

    def _fill(self, number: int, pods: list[QueuedPod]) -> list[QueuedPod]:
        """Put pods on the new nodes that there are, until one fits on none; return those that are left."""
        for position, pod in enumerate(pods):
            spot = self._packing.find(number, since=self._first)
            if spot is None:
                return pods[position:]
            self._put(number, [pod], spot)
        return []

    def _extend(self, number: int, pods: list[QueuedPod]) -> None:
        constraints = self._pods[number].request.constraints
        by_host = any(each.constraint.topology_key == HOSTNAME for each in constraints)
        start = 0
        while start < len(pods):
            spot = self._on_last(number, by_host=by_host)
            if spot is None:
                if self._last is not None and self._last not in self.used:
                    # It would not fit on another empty node either.
                    return
                if self._packing.spots - self._first >= self._most:
                    self._full = True
                    return
                self._last = self._packing.add(self._group, next(self._names))
                if self._packing.check(number, self._last) is not None:
                    return
                spot = self._last
            end = start + self._packing.most(number, spot)
            self._put(number, pods[start:end], spot)
            start = end

    def _on_last(self, number: int, *, by_host: bool) -> int | None:
        """Return the node that was added last if it takes a pod, or another one if its spread rejects it."""
        if self._last is None:
            return None
        rejection = self._packing.check(number, self._last)
        if rejection is None:
            return self._last
        if by_host and rejection.by_skew:
            return self._packing.find(number, but=self._last)
        return None

    def _put(self, number: int, pods: list[QueuedPod], spot: int) -> None:
        self._packing.put(number, [pod.name for pod in pods], spot)
        # Nodes that are there already count too where pods of a spread over nodes went back to one.
        self.used.add(spot)
        self.scheduled += pods


#: How many nodes one scale-up adds at most: the default of ``--max-nodes-per-scaleup``.
MOST_NODES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """State of a loop before an option is taken."""

    #: The groups of pods, with those of their pods that fit nowhere; some have none.
    left: Sequence[PodGroup]
    options: tuple[ExpansionOption, ...]  #: What could be scaled up, in the order of the node groups.
    matching: Mapping[str, tuple[int, ...]]  #: The groups of pods that each node group may take, by its name.
    #: Why a node group takes no pod of a group of pods, by the number of that and the name.
    rejected: Mapping[int, Mapping[str, FirstRejection]]


def consider(
    packing: Packing,
    pods: Sequence[PodGroup],
    groups: Sequence[ScaledGroup],
    settings: AutoscalerSettings,
) -> Considered:
    """Return the options of a loop.

    Args:
        packing: The cluster, with the nodes that are coming; gets the pods that fit.
        pods: The groups of pods that are pending.
        groups: The node groups.
        settings: How Cluster Autoscaler is started.
    """
    left = _left(packing, pods)
    growing = [group for group in groups if group.size < group.max_size]
    matching: dict[str, tuple[int, ...]] = {}
    rejected: dict[int, dict[str, FirstRejection]] = {
        number: {} for number, each in enumerate(left) if each.pods
    }
    for group in growing if rejected else ():
        for number, why in rejected.items():
            rejection = packing.check_new(number, group)
            if rejection is not None:
                why[group.name] = rejection
        matching[group.name] = tuple(number for number, why in rejected.items() if group.name not in why)
    options = []
    for group in growing:
        if matching.get(group.name):
            alike = similar_groups(group, groups, matching, settings)
            most = _most(packing, (group, *alike), settings)
            nodes, pods_of = estimate(packing, group, matching[group.name], left, most)
            if pods_of:
                options.append(ExpansionOption(group=group, nodes=nodes, pods=pods_of, similar=alike))
    return Considered(left=left, options=tuple(options), matching=matching, rejected=rejected)


def _left(packing: Packing, pods: Sequence[PodGroup]) -> list[PodGroup]:
    """Put pods where they fit, the highest priority first; return the groups with those that fit nowhere."""
    queue = [
        (group.request.pod.priority, number, pod)
        for number, group in enumerate(pods)
        if group.request.pod.priority >= LOWEST_PRIORITY
        for pod in group.pods
    ]
    failed: set[int] = set()
    names: set[tuple[int, str]] = set()
    for _, number, pod in sorted(queue, key=lambda entry: -entry[0]):
        spot = None if number in failed else packing.find(number)
        if spot is None:
            # Nothing is tried twice for pods of one controller that are alike.
            if pods[number].owner:
                failed.add(number)
            names.add((number, pod.name))
        else:
            packing.put(number, (pod.name,), spot)
    return [
        PodGroup(group.request, group.owner, [pod for pod in group.pods if (number, pod.name) in names])
        for number, group in enumerate(pods)
    ]


def _most(packing: Packing, groups: Sequence[ScaledGroup], settings: AutoscalerSettings) -> int:
    """Return how many nodes an option may have that is shared among groups."""
    most = min(MOST_NODES, sum(group.room for group in groups))
    if settings.max_nodes_total:
        most = min(most, settings.max_nodes_total - len(packing.facts.nodes))
    return max(most, 0)


def similar_groups(
    group: ScaledGroup,
    groups: Sequence[ScaledGroup],
    matching: Mapping[str, tuple[int, ...]],
    settings: AutoscalerSettings,
) -> tuple[ScaledGroup, ...]:
    """Return the groups that are similar to one and take all the pods that it takes."""
    if not settings.balance_similar_node_groups:
        return ()
    wanted = set(matching[group.name])
    return tuple(
        other
        for other in groups
        if other is not group
        and other.name in matching
        and wanted <= set(matching[other.name])
        and similar(group, other, settings.cloud_provider)
    )


def scale_up(option: ExpansionOption, nodes: int, settings: AutoscalerSettings) -> dict[str, int]:
    """Return how many nodes each group gets if an option is taken.

    Args:
        option: The option.
        nodes: How many nodes the cluster has.
        settings: How Cluster Autoscaler is started.
    """
    wanted = option.nodes
    if settings.max_nodes_total:
        wanted = min(wanted, settings.max_nodes_total - nodes)
    return balance((option.group, *option.similar), wanted)


def best_options(
    expanders: Sequence[Expander], options: Sequence[ExpansionOption], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    """Return the options of which one is taken at random.

    Args:
        expanders: Each narrows down what those before it left.
        options: All options, at least one.
        priorities: For the priority expander.
    """
    left = tuple(options)
    for expander in expanders:
        if len(left) == 1:
            break
        left = _best(expander, left, priorities)
    return left


def _best(
    expander: Expander, options: tuple[ExpansionOption, ...], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    match expander:
        case Expander.RANDOM:
            return options
        case Expander.MOST_PODS:
            most = max(len(option.pods) for option in options)
            return tuple(option for option in options if len(option.pods) == most)
        case Expander.LEAST_NODES:
            least = min(option.nodes for option in options)
            return tuple(option for option in options if option.nodes == least)
        case Expander.PRIORITY:
            return _first_by_priority(options, priorities)
    wasted = [waste(option) for option in options]
    return tuple(option for option, each in zip(options, wasted, strict=True) if each == min(wasted))


def waste(option: ExpansionOption) -> float:
    """Return the shares of cpu and memory of the new nodes that the pods leave, added up."""
    total = 0.0
    for name in ("cpu", "memory"):
        available = option.group.capacity.get(name, 0) * option.nodes
        requested = sum(dict(pod.request.pod.requests).get(name, 0) for pod in option.pods)
        total += (available - requested) / available if available else math.inf
    return total


def _first_by_priority(
    options: tuple[ExpansionOption, ...], priorities: Sequence[GroupPriority]
) -> tuple[ExpansionOption, ...]:
    """Return the options of the highest priority whose patterns match any; all where none does."""
    highest_first = sorted(priorities, key=lambda entry: -entry.priority)
    for _, entries in groupby(highest_first, key=lambda entry: entry.priority):
        patterns = [pattern for entry in entries for pattern in entry.names]
        found = tuple(
            option for option in options if any(matches(pattern, option.group.name) for pattern in patterns)
        )
        if found:
            return found
    return options
