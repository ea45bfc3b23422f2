"""How many nodes kube-scheduler looks at for each pod: it stops when it has found enough feasible ones.

From 100 nodes on. The next pod's search starts where the last one stopped. The scheduler checks nodes with 16
threads, so which ones it finds varies a little; here they are checked one after another. Source:
``findNodesThatPassFilters`` and ``numFeasibleNodesToFind``, ``pkg/scheduler/schedule_one.go``, and ``list``,
``pkg/scheduler/backend/cache/node_tree.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.topology_keys import REGION, RENAMED, ZONE
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest

#: The percentage that means one that falls with the number of nodes: the scheduler's default.
ADAPTIVE: Final = 0
#: The number of feasible nodes that are always looked for: ``minFeasibleNodesToFind``.
FEWEST_NODES: Final = 100
#: The names that labels of zones and regions had before; they are looked at first.
_OLD_NAMES: Final = {new: old for old, new in RENAMED.items()}
#: The least percentage that the adaptive one falls to: ``minFeasibleNodesPercentageToFind``.
LEAST_PERCENT: Final = 5


def nodes_to_find(percentage: int, nodes: int) -> int:
    """Return the number of feasible nodes after which kube-scheduler stops looking.

    Args:
        percentage: ``percentageOfNodesToScore``, or ``ADAPTIVE``.
        nodes: How many nodes there are.

    >>> [nodes_to_find(ADAPTIVE, nodes) for nodes in (99, 100, 300, 1000, 5000, 6000)]
    [99, 100, 144, 420, 500, 300]
    >>> nodes_to_find(30, 1000)
    300
    """
    if nodes < FEWEST_NODES:
        return nodes
    if percentage == ADAPTIVE:
        percentage = max(50 - nodes // 125, LEAST_PERCENT)
    return max(nodes * percentage // 100, FEWEST_NODES)


class NodeSampler:
    """Which feasible nodes are found, for one pod after another."""

    def __init__(self, percentage: int) -> None:
        """Start at the first node, as a scheduler that was just started.

        Args:
            percentage: ``percentageOfNodesToScore``, or ``ADAPTIVE``.
        """
        self._percentage = percentage
        self._start = 0
        self._slots: NDArray[np.intp] | None = None
        self._order = np.zeros(0, np.intp)

    def find(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which feasible nodes are found for a pod, and start the next search behind them.

        Args:
            view: The nodes.
            request: The pod.
            feasible: The nodes that pass every filter, shape ``(n,)``.
        """
        order = self._in_order(view)
        named = request.narrowed_to
        if named is not None:
            order = order[view.named(named)[order]]
        if request.is_gated or not len(order):
            # No search was begun.
            return feasible
        turned = np.roll(order, -(self._start % len(order)))
        hits = np.flatnonzero(feasible[turned])
        limit = nodes_to_find(self._percentage, len(order))
        looked_at, found = len(order), feasible
        if len(hits) > limit:
            # The search ends at the first node that is too many.
            looked_at, found = int(hits[limit]), np.zeros_like(feasible)
            found[turned[hits[:limit]]] = True
        self._start = (self._start + looked_at) % len(view.names)
        return found

    def _in_order(self, view: NodeView) -> NDArray[np.intp]:
        """Return the positions of the nodes as the scheduler's snapshot has them: one of each zone in turn.

        Zones come in the order of their first nodes, and the nodes of each by name, which is the order in
        which a scheduler that starts gets to know them.
        """
        if self._slots is not view.slots:
            zones: dict[tuple[str, str], list[int]] = {}
            for position, zone in enumerate(_zones(view)):
                zones.setdefault(zone, []).append(position)
            rounds = zip_longest(*zones.values())
            in_turn = [position for positions in rounds for position in positions if position is not None]
            self._slots, self._order = view.slots, np.array(in_turn, np.intp)
        return self._order


def _zones(view: NodeView) -> Iterator[tuple[str, str]]:
    """Yield the region and the zone of each node: ``GetZoneKey``, ``component-helpers/node/topology``."""
    return zip(_values(view, REGION), _values(view, ZONE), strict=True)


def _values(view: NodeView, key: str) -> list[str]:
    """Return each node's value of a label, by its old name where the node has that."""
    old, new = (view.label(name) for name in (_OLD_NAMES[key], key))
    numbers = np.where(old.present, old.numbers, np.where(new.present, new.numbers + len(old.texts), -1))
    texts = [*old.texts, *new.texts, ""]
    return [texts[number] for number in numbers.tolist()]
