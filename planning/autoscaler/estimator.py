"""How many nodes of one group Cluster Autoscaler takes to be needed: its binpacking estimator.

Source: ``estimator/binpacking_estimator.go`` and ``estimator/decreasing_pod_orderer.go``, Cluster Autoscaler
1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packing import Packing
from planning.autoscaler.pod_groups import PendingPod, PodGroup
from policies.model.topology_keys import HOSTNAME


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionOption:
    """One way to scale up: nodes of one group, and the pods that they help."""

    group: ScaledGroup  #: The node group.
    nodes: int  #: How many.
    pods: tuple[PendingPod, ...]  #: The pods.
    similar: tuple[ScaledGroup, ...] = ()  #: The groups that the nodes may be shared with.


def estimate(
    packing: Packing, group: ScaledGroup, numbers: Iterable[int], pods: Sequence[PodGroup], most: int
) -> tuple[int, tuple[PendingPod, ...]]:
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
        self.scheduled: list[PendingPod] = []

    def pack(self, number: int) -> None:
        """Put the pods of a group on the new nodes, and add nodes for the others."""
        pods = self._pods[number].pods
        left = self._fill(number, pods)
        if not self._full:
            self._extend(number, left)

    def _fill(self, number: int, pods: list[PendingPod]) -> list[PendingPod]:
        """Put pods on the new nodes that there are, until one fits on none; return those that are left."""
        for position, pod in enumerate(pods):
            spot = self._packing.find(number, since=self._first)
            if spot is None:
                return pods[position:]
            self._put(number, [pod], spot)
        return []

    def _extend(self, number: int, pods: list[PendingPod]) -> None:
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

    def _put(self, number: int, pods: list[PendingPod], spot: int) -> None:
        self._packing.put(number, [pod.name for pod in pods], spot)
        # Nodes that are there already count too where pods of a spread over nodes went back to one.
        self.used.add(spot)
        self.scheduled += pods
