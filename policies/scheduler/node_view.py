"""The nodes of one verdict, in the order of their names: what the steps of the scheduler look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from policies.model.constraint import Constraint
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm, parse_int64
from policies.model.pod import PendingPod
from policies.model.taints import SCHEDULING_EFFECTS, Taint, TaintEffect, Toleration, first_untolerated
from policies.scheduler.eligibility import eligible
from policies.scheduler.node_table import MISSING, NodeTable


@dataclass(frozen=True)
class LabelView:
    """One label of every node.

    Attributes:
        numbers: The number of each node's value, ``MISSING`` without the label; shape ``(n,)``.
        texts: The value of each number; may hold values that no node has any more.
        number_of: The number of each value.
    """

    numbers: NDArray[np.int32]
    texts: list[str]
    number_of: dict[str, int]

    @cached_property
    def integers(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The values as integers, and which of them are some; both of shape ``(values + 1,)``.

        The last entry, none, answers for ``MISSING``.
        """
        parsed = [*map(parse_int64, self.texts), None]
        numbers = np.array([0 if number is None else number for number in parsed], np.int64)
        return numbers, np.array([number is not None for number in parsed], np.bool_)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which nodes carry the label, shape ``(n,)``."""
        return np.not_equal(self.numbers, MISSING)


class NodeView:
    """The nodes as one pod meets them. Used under ``ClusterIndex.reading`` alone."""

    def __init__(self, nodes: NodeTable, pod: PendingPod) -> None:
        self._nodes = nodes
        self._pod = pod
        self._labels: dict[str, LabelView] = {}
        #: The slot of each node, shape ``(n,)``.
        self.slots = nodes.order()
        #: The names, sorted.
        self.names = nodes.names()

    def label(self, key: str) -> LabelView:
        """Return the values of a label."""
        found = self._labels.get(key)
        if found is None:
            column = self._nodes.label(key)
            if column is None:
                found = LabelView(np.full(len(self.slots), MISSING, np.int32), [], {})
            else:
                found = LabelView(column.column.data[self.slots], column.texts, column.numbers)
            self._labels[key] = found
        return found

    def having(self, keys: list[str]) -> NDArray[np.bool_]:
        """Return which nodes carry every one of some labels, shape ``(n,)``."""
        present = np.ones(len(self.slots), np.bool_)
        for key in keys:
            present &= self.label(key).present
        return present

    @cached_property
    def cordoned(self) -> NDArray[np.bool_]:
        """Which nodes are unschedulable, shape ``(n,)``."""
        return self._nodes.cordoned()[self.slots]

    @cached_property
    def taint_lists(self) -> list[Taint | None]:
        """The first untolerated taint of each distinct list of taints, None where all are tolerated."""
        tolerations = self._pod.tolerations
        return self._nodes.judge_taints(
            lambda taints: first_untolerated(taints, tolerations, SCHEDULING_EFFECTS)
        )

    @cached_property
    def taint_numbers(self) -> NDArray[np.int32]:
        """The number of each node's list of taints, shape ``(n,)``."""
        return self._nodes.taints()[self.slots]

    @cached_property
    def tolerated(self) -> NDArray[np.bool_]:
        """Which nodes have no untolerated NoSchedule or NoExecute taint, shape ``(n,)``."""
        return np.array([taint is None for taint in self.taint_lists], np.bool_)[self.taint_numbers]

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """Which nodes the pod's nodeSelector and required node affinity admit, shape ``(n,)``."""
        affinity = self._pod.affinity
        wanted = np.ones(len(self.slots), np.bool_)
        for key, value in affinity.node_selector:
            label = self.label(key)
            wanted &= _among(label, (value,))
        if affinity.terms is not None:
            any_term = np.zeros(len(self.slots), np.bool_)
            for term in affinity.terms:
                any_term |= self.matching(term)
            wanted &= any_term
        return wanted

    def taking_part(self, constraint: Constraint, carriers: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of some nodes take part in a constraint's counts, shape ``(n,)``.

        Args:
            constraint: The constraint, with its inclusion policies.
            carriers: The nodes with every topology key that is considered together, shape ``(n,)``.
        """
        return eligible(constraint, carriers, wanted=lambda: self.wanted, tolerated=lambda: self.tolerated)

    def named(self, names: frozenset[str]) -> NDArray[np.bool_]:
        """Return which nodes have one of some names, shape ``(n,)``."""
        found = np.zeros(len(self.slots), np.bool_)
        positions = self._nodes.positions()
        found[[positions[name] for name in names if name in positions]] = True
        return found

    def amounts(self, resource: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what each node offers of a resource and what its pods request, both of shape ``(n,)``."""
        tables = (self._nodes.allocatable.find(resource), self._nodes.used.find(resource))
        offered, used = (
            np.zeros(len(self.slots), np.int64) if row is None else row[self.slots] for row in tables
        )
        return offered, used

    def count_untolerated(self, tolerations: Sequence[Toleration]) -> NDArray[np.int64]:
        """Count the PreferNoSchedule taints of each node that no toleration covers, shape ``(n,)``."""
        effect = TaintEffect.PREFER_NO_SCHEDULE
        counts = self._nodes.judge_taints(
            lambda taints: sum(
                taint.effect == effect and not any(entry.tolerates(taint) for entry in tolerations)
                for taint in taints
            )
        )
        return np.array(counts, np.int64)[self.taint_numbers]

    def with_image(self, name: str) -> tuple[NDArray[np.bool_], int]:
        """Return which nodes have an image, shape ``(n,)``, and its size in bytes."""
        state = self._nodes.images.find(name)
        having = np.zeros(self._nodes.slots, np.bool_)
        if state is not None:
            having[list(state.slots)] = True
        return having[self.slots], 0 if state is None else state.size

    def matching(self, term: NodeSelectorTerm) -> NDArray[np.bool_]:
        """Return which nodes a term of node affinity matches, shape ``(n,)``."""
        if not (term.expressions or term.fields):
            return np.zeros(len(self.slots), np.bool_)
        matching = np.ones(len(self.slots), np.bool_)
        for requirement in term.expressions:
            matching &= _satisfying(self.label(requirement.key), requirement)
        for requirement in term.fields:
            # metadata.name is the only field, and In and NotIn are its operators.
            named = self.named(frozenset(requirement.values))
            matching &= named if requirement.operator is NodeOperator.IN else ~named
        return matching


def _satisfying(label: LabelView, requirement: NodeRequirement) -> NDArray[np.bool_]:
    match requirement.operator:
        case NodeOperator.IN:
            return _among(label, requirement.values)
        case NodeOperator.NOT_IN:
            return ~_among(label, requirement.values)
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


def _among(label: LabelView, values: tuple[str, ...]) -> NDArray[np.bool_]:
    wanted = np.zeros(len(label.texts) + 1, np.bool_)
    for value in values:
        if value in label.number_of:
            wanted[label.number_of[value]] = True
    return wanted[label.numbers]
