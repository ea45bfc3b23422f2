"""How many more pods like one fit, without placing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.capacity import MOST_ON_A_NODE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING, PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.result import FilterResult, SchedulingResult

#: The plugins whose rejection depends on how many pods were placed before.
_COUNTING = frozenset({Plugin.NODE_RESOURCES_FIT, Plugin.POD_TOPOLOGY_SPREAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """How many more pods fit."""

    pods: int  #: How many; exact with one DoNotSchedule constraint or none, an upper bound with more.
    #: The position of the constraint that limits them; None where only the room of nodes does.
    constraint: int | None = None
    #: The domain that can take no more, so that the others may not; empty without a constraint, and where
    #: there are fewer domains than ``minDomains``, which holds all of them back.
    domain: str = ""


def headroom(result: SchedulingResult, index: ClusterIndex) -> Headroom:
    """Return how many more pods like the one that was evaluated fit.

    Args:
        result: Of the pod.
        index: The cluster that was evaluated, unchanged since: use one ``ClusterIndex.reading`` for both.
    """
    room = _room(result, index)
    least = Headroom(pods=int(room.sum()))
    for position, each in enumerate(result.results):
        if isinstance(each, FilterResult):
            pods, domain = _within(each, room)
            if pods < least.pods:
                least = Headroom(pods=pods, constraint=position, domain=domain)
    return least


def _room(result: SchedulingResult, index: ClusterIndex) -> NDArray[np.int64]:
    """Return how many more pods each node has room for, whatever the spread, shape ``(n,)``."""
    pod, profile = result.request.pod, result.request.profile
    view = NodeView(index, pod)
    takes_ports = pod.ports and Plugin.NODE_PORTS in profile.filters
    room = np.full(len(result.names), 1 if takes_ports else MOST_ON_A_NODE, np.int64)
    fits = Plugin.NODE_RESOURCES_FIT in profile.filters
    for resource, requested in ((PODS, 1), *pod.requests) if fits else ():
        if requested > 0 and not profile.fit.ignores(resource):
            allocatable, used = view.resource(resource)
            room = np.minimum(room, np.maximum(allocatable - used, 0) // requested)
    for rejected in result.rejections:
        if rejected.plugin not in _COUNTING:
            room[rejected.of_node > 0] = 0
    return room


def _within(result: FilterResult, room: NDArray[np.int64]) -> tuple[int, str]:
    """Return how many more pods a constraint lets in, and the domain that keeps the minimum down, if any.

    The minimum rises until one domain is full; the others may then hold ``maxSkew`` more than it.
    """
    domains, constraint = result.domains, result.applied.constraint
    if not result.applied.self_match:
        return int(room[result.satisfied].sum()), ""
    labeled = domains.of_node != MISSING
    reachable = domains.matching.copy()
    np.add.at(reachable, domains.of_node[labeled], room[labeled])
    existing = np.flatnonzero(domains.exists)
    lowest = int(existing[np.argmin(reachable[existing])]) if len(existing) else None
    if len(existing) < constraint.min_domains:
        lowest = None
    minimum = 0 if lowest is None else int(reachable[lowest])
    most = np.minimum(reachable, minimum + constraint.max_skew)
    return int(np.maximum(most - domains.matching, 0).sum()), "" if lowest is None else domains.values[lowest]
