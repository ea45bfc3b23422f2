"""One label of every node, and the requirements of node affinity on it, vectorized over the nodes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from policies.model.node_affinity import NodeOperator, NodeRequirement, parse_int64
from policies.scheduler.node_table import MISSING


@dataclass(frozen=True)
class LabelView:
    """One label of every node."""

    #: The number of each node's value, ``MISSING`` without the label; shape ``(n,)``.
    numbers: NDArray[np.int32]
    texts: tuple[str, ...]  #: The value of each number; may hold values that no node has any more.
    number_of: dict[str, int]  #: The number of each value.

    @cached_property
    def integers(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The values as integers, and which of them are some; both of shape ``(values + 1,)``.

        The last entry, none, answers for ``MISSING``.
        """
        parsed = [*map(parse_int64, self.texts), None]
        numbers = np.array([0 if number is None else number for number in parsed], np.int64)
        return numbers, np.array([number is not None for number in parsed], np.bool_)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which nodes carry the label, shape ``(n,)``."""
        return np.not_equal(self.numbers, MISSING)

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """The same as ``numbers``, of the type that numpy converts positions to each time; shape ``(n,)``."""
        return self.numbers.astype(np.intp)

    def nodes_with(self, value: str) -> NDArray[np.intp]:
        """Return the positions of the nodes with a value."""
        number = self.number_of.get(value, len(self.texts))
        order, begins = self._ordered
        return order[begins[number] : begins[number + 1]]

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.intp], list[int]]:
        """The positions of nodes by their values, and where those of each number begin; none are the last."""
        order = np.argsort(self.numbers, kind="stable")
        begins = np.searchsorted(self.numbers[order], np.arange(len(self.texts) + 2))
        return order, begins.tolist()

    @cached_property
    def everywhere(self) -> bool:
        """Whether all nodes carry the label."""
        return bool(self.present.all())

    def count_values(self, nodes: NDArray[np.bool_]) -> int:
        """Return how many values some nodes have, shape ``(n,)``, all of which carry the label.

        Pods that come one after another mostly ask for the same nodes, so the last answer is kept.
        """
        counted = self._counted
        last, count = counted[-1] if counted else (None, 0)
        if last is None or not np.array_equal(last, nodes):
            count = int(np.count_nonzero(np.bincount(self.positions[nodes])))
            counted[:] = [(nodes.copy(), count)]
        return count

    @cached_property
    def _counted(self) -> list[tuple[NDArray[np.bool_], int]]:
        """The last nodes of ``count_values``, if there are any, with the answer."""
        return []

    def by_node(self, per_value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return each node's entry of its value, 0 without the label; shape ``(n,)``.

        >>> LabelView(np.array([1, -1, 0], np.int32), ("a", "b"), {"a": 0, "b": 1}).by_node(np.array([5, 7]))
        array([7, 0, 5])
        """
        # The last entry is that of MISSING, -1.
        return (per_value if self.everywhere else np.append(per_value, 0))[self.positions]


def satisfying(label: LabelView, requirement: NodeRequirement) -> NDArray[np.bool_]:
    """Return which nodes satisfy a requirement on the label, shape ``(n,)``."""
    match requirement.operator:
        case NodeOperator.IN:
            return among(label, requirement.values)
        case NodeOperator.NOT_IN:
            return ~among(label, requirement.values)
        case NodeOperator.EXISTS:
            return label.present
        case NodeOperator.DOES_NOT_EXIST:
            return ~label.present
        case NodeOperator.GREATER_THAN | NodeOperator.LESS_THAN:
            return _compared(label, requirement)


def _compared(label: LabelView, requirement: NodeRequirement) -> NDArray[np.bool_]:
    limit = parse_int64(requirement.values[0])
    if limit is None:
        return np.zeros(len(label.numbers), np.bool_)
    integers, valid = label.integers
    greater = requirement.operator is NodeOperator.GREATER_THAN
    passing = valid & (integers > limit if greater else integers < limit)
    return passing[label.numbers]


def among(label: LabelView, values: Collection[str]) -> NDArray[np.bool_]:
    """Return which nodes have one of some values, shape ``(n,)``."""
    listed = np.zeros(len(label.texts) + 1, np.bool_)
    for value in values:
        if value in label.number_of:
            listed[label.number_of[value]] = True
    return listed[label.numbers]
