"""The scores of soft constraints, followed while pods come and go, as ``scoring`` computes them anew."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.podtopologyspread.scoring import Soft
from policies.scheduler.pod_table import Followed
from policies.scheduler.result import MAX_SCORE, round_half_away

#: Groups of nodes that score alike for soft constraints; of more, each node is scored.
MOST_GROUPS = 4096
#: How many more pods than any now has a node may get until the groups are numbered again.
_MORE_PODS: Final = 4

_Amounts = NDArray[np.int64]


class _Selected:
    """The pods that a selector selects, which are followed.

    Attributes:
        on_nodes: How many each node has, shape ``(n,)``.
        changed: The position of the node of each pod that came or went with the last step, and 1 or -1; None
            if all were counted anew.
    """

    def __init__(self, selector: LabelSelector | None, view: NodeView) -> None:
        """Count the pods; without a selector there is none."""
        self._selector = selector
        self._read(view)

    def _read(self, view: NodeView) -> None:
        self.changed: list[tuple[int, int]] | None = None
        self._followed: Followed | None = None
        self._until = 0
        selector, table = self._selector, view.index.pods_of(view.namespace)
        if selector is None:
            self.on_nodes: _Amounts = np.zeros(len(view.slots), np.int64)
            return
        self.on_nodes = view.count_pods(selector).copy()
        if table is not None:
            self._followed = table.follow(selector)
            self._until = len(self._followed.changes)

    def follow(self, view: NodeView) -> None:
        """Count the pods that came or went."""
        followed = self._followed
        if self._selector is None:
            self.changed = []
        elif (
            followed is None
            or not followed.current
            or view.index.pods_of(view.namespace) is not followed.table
        ):
            self._read(view)
        else:
            positions = view.positions_of_slots()
            changes = followed.changes[self._until :]
            self.changed = [(positions[slot], amount) for slot, amount in changes if slot in positions]
            self._until = len(followed.changes)
            for position, amount in self.changed:
                self.on_nodes[position] += amount


class _Spread:
    """A soft constraint.

    Attributes:
        soft: The constraint.
        selected: The pods that it counts.
        is_host: Whether the node itself is the domain.
        amounts: The amounts of matching pods that are told apart: of nodes those from 0 to some more than any
            has, else of the nodes that take part by the label's values; shape ``(a,)``.
    """

    def __init__(self, soft: Soft, selected: _Selected) -> None:
        self.soft, self.selected = soft, selected
        self.is_host = soft.applied.constraint.topology_key == HOSTNAME
        self.read()

    def read(self) -> None:
        """Count all pods."""
        on_nodes = self.selected.on_nodes
        if self.is_host:
            self.amounts: _Amounts = np.arange(int(on_nodes.max()) + 1 + _MORE_PODS)
        else:
            self.amounts = self.soft.domains.count(on_nodes)

    def weight(self, scored: NDArray[np.bool_]) -> float:
        """Return the amounts that a matching pod adds, if some nodes are scored, of shape ``(n,)``."""
        size = np.count_nonzero(scored) if self.is_host else self.soft.values.count_values(scored)
        return math.log(int(size) + 2)


class FollowedScores:
    """The soft constraints of a request: groups of nodes that are alike for all of them score alike.

    The nodes of a domain have one amount of pods, and of nodes themselves most have as many as many others:
    of a cluster's thousands there are dozens of groups.

    Attributes:
        few: Whether there are few groups; if not they have no scores.
    """

    def __init__(self, soft: Iterable[Soft], view: NodeView) -> None:
        selected: dict[LabelSelector | None, _Selected] = {}
        self._spreads = list[_Spread]()
        for each in soft:
            selector = each.applied.counted
            if selector not in selected:
                selected[selector] = _Selected(selector, view)
            self._spreads.append(_Spread(each, selected[selector]))
        self._selected = selected.values()
        self._scored = np.zeros(len(view.slots), np.bool_)
        self._group()

    def __len__(self) -> int:
        return len(self._spreads)

    def narrow(self, scored: NDArray[np.bool_]) -> None:
        """Score some nodes from now on, of shape ``(n,)``."""
        self._scored = scored
        self._weights = [each.weight(scored) for each in self._spreads]
        if self.few:
            self._nodes = np.bincount(self._groups[scored], minlength=math.prod(self._sizes))

    def scores(self, view: NodeView) -> _Amounts | None:
        """Return the normalized score of each node, shape ``(n,)``; None where there are many groups.

        Only the scores of nodes that are scored count.
        """
        if self.few:
            self._follow(view)
        if not self.few:
            return None
        # In the same steps as for each node, so that it is rounded alike.
        total = np.zeros(self._sizes)
        for axis, (spread, weight) in enumerate(zip(self._spreads, self._weights, strict=True)):
            scores = spread.amounts * weight
            scores += spread.soft.applied.constraint.max_skew - 1
            total += scores.reshape((-1, *[1] * (len(self._spreads) - axis - 1)))
        raw = round_half_away(total.ravel())
        present = raw[self._nodes > 0]
        worst, best = int(present.max()), int(present.min())
        scores_of_groups = (
            MAX_SCORE * (worst + best - raw) // worst if worst else np.full_like(raw, MAX_SCORE)
        )
        return np.take(scores_of_groups, self._groups)

    def _group(self) -> None:
        """Number the groups: the positions in a table with a dimension for each constraint."""
        self._sizes = [len(each.amounts) for each in self._spreads]
        self.few = math.prod(self._sizes) <= MOST_GROUPS
        if self.few:
            self._steps = [math.prod(self._sizes[axis + 1 :]) for axis in range(len(self._sizes))]
            self._groups = np.zeros(len(self._scored), np.intp)
            for spread, step in zip(self._spreads, self._steps, strict=True):
                of_node = spread.selected.on_nodes if spread.is_host else spread.soft.label.positions
                self._groups += of_node * step

    def _follow(self, view: NodeView) -> None:
        """Count the pods that came or went."""
        for selected in self._selected:
            selected.follow(view)
        known = all(selected.changed is not None for selected in self._selected)
        if not (known and all(map(self._move, self._spreads, self._steps))):
            for spread in self._spreads:
                spread.read()
            self._group()
            self.narrow(self._scored)

    def _move(self, spread: _Spread, step: int) -> bool:
        """Count the pods that came or went for a constraint; return False if a node has too many for it."""
        counted, domain = spread.soft.domains.counted, spread.soft.values.numbers
        for position, amount in spread.selected.changed or ():
            if not spread.is_host:
                if counted[position]:
                    spread.amounts[domain[position]] += amount
                continue
            pods, group = spread.selected.on_nodes[position], self._groups[position]
            if pods >= len(spread.amounts):
                return False
            moved = group + (pods - group // step % len(spread.amounts)) * step
            self._groups[position] = moved
            if self._scored[position]:
                self._nodes[group] -= 1
                self._nodes[moved] += 1
        return True
