"""The nodes as columns in the order of their names, for one pod: what the plugins look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.node_affinity import NodeOperator, NodeRequirement, NodeSelectorTerm, parse_int64
from policies.model.pod import Pod
from policies.model.pod_reading import EVERY_AMOUNT, in_older_release
from policies.model.taints import SCHEDULING_EFFECTS, Taint, TaintEffect, Toleration, first_untolerated
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING


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

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which nodes carry the label, shape ``(n,)``."""
        return np.not_equal(self.numbers, MISSING)


class NodeView:
    """The nodes, for one pod. Valid under one ``ClusterIndex.reading`` only."""

    def __init__(self, index: ClusterIndex, pod: Pod) -> None:
        #: The cluster.
        self.index = index
        self._nodes = index.nodes
        self._pods = index.pods_of(pod.namespace)
        self._pod = pod
        self._labels: dict[str, LabelView] = {}
        self._with_labels: dict[frozenset[str], NDArray[np.bool_]] = {}
        self._counted: dict[LabelSelector, NDArray[np.int64]] = {}
        #: The slot of each node, shape ``(n,)``.
        self.slots = self._nodes.order()
        #: The names, sorted.
        self.names = self._nodes.names()

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

    def with_labels(self, keys: frozenset[str]) -> NDArray[np.bool_]:
        """Return which nodes have every one of some labels, shape ``(n,)``; do not change it."""
        present = self._with_labels.get(keys)
        if present is None:
            masks = (self.label(key).present for key in keys)
            present = reduce(and_, masks) if keys else np.ones(len(self.slots), np.bool_)
            self._with_labels[keys] = present
        return present

    @cached_property
    def unschedulable(self) -> NDArray[np.bool_]:
        """Which nodes are cordoned, shape ``(n,)``."""
        return self._nodes.cordoned()[self.slots]

    @cached_property
    def first_untolerated(self) -> list[Taint | None]:
        """The first untolerated taint of each distinct list of taints, None where all are tolerated."""
        tolerations = self._pod.tolerations
        return self._nodes.map_taints(
            lambda taints: first_untolerated(taints, tolerations, SCHEDULING_EFFECTS)
        )

    @cached_property
    def taint_numbers(self) -> NDArray[np.int32]:
        """The number of each node's list of taints, shape ``(n,)``."""
        return self._nodes.taints()[self.slots]

    @cached_property
    def tolerates_taints(self) -> NDArray[np.bool_]:
        """Which nodes have no NoSchedule or NoExecute taint that is not tolerated, shape ``(n,)``."""
        return np.array([taint is None for taint in self.first_untolerated], np.bool_)[self.taint_numbers]

    @cached_property
    def matches_affinity(self) -> NDArray[np.bool_]:
        """Which nodes match the pod's nodeSelector and required node affinity, shape ``(n,)``."""
        affinity = self._pod.affinity
        matching = np.ones(len(self.slots), np.bool_)
        for key, value in affinity.node_selector:
            matching &= _among(self.label(key), (value,))
        if affinity.terms is not None:
            matching &= self.matching_any(affinity.terms)
        return matching

    def named(self, names: frozenset[str]) -> NDArray[np.bool_]:
        """Return which nodes have one of some names, shape ``(n,)``."""
        found = np.zeros(len(self.slots), np.bool_)
        positions = self._nodes.positions()
        found[[positions[name] for name in names if name in positions]] = True
        return found

    def resource(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each node's allocatable amount of a resource and what its pods request, both ``(n,)``."""
        reading = self._pod.reading.amounts
        rows = [self._nodes.allocatable.find(name), self._nodes.used.find(name)]
        if reading != EVERY_AMOUNT:
            rows.append(self._nodes.used.find(in_older_release(name, reading)))
        allocatable, used, *more = (
            np.zeros(len(self.slots), np.int64) if row is None else row[self.slots] for row in rows
        )
        return allocatable, sum(more, used)

    def count_pods(self, selector: LabelSelector) -> NDArray[np.int64]:
        """Return how many pods of the pod's namespace a selector selects on each node, shape ``(n,)``."""
        counted = self._counted.get(selector)
        if counted is None:
            if self._pods is None:
                counted = np.zeros(len(self.slots), np.int64)
            else:
                counted = self._pods.count_by_node(selector, slots=self._nodes.slots)[self.slots]
            self._counted[selector] = counted
        return counted

    def count_untolerated(self, tolerations: Sequence[Toleration]) -> NDArray[np.int64]:
        """Count the PreferNoSchedule taints of each node that no toleration covers, shape ``(n,)``."""
        effect = TaintEffect.PREFER_NO_SCHEDULE
        counts = self._nodes.map_taints(
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

    def matching_any(self, terms: Iterable[NodeSelectorTerm]) -> NDArray[np.bool_]:
        """Return which nodes at least one term of node affinity matches, shape ``(n,)``."""
        matching = np.zeros(len(self.slots), np.bool_)
        for term in terms:
            matching |= self.matching(term)
        return matching

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
    listed = np.zeros(len(label.texts) + 1, np.bool_)
    for value in values:
        if value in label.number_of:
            listed[label.number_of[value]] = True
    return listed[label.numbers]


def by_node(per_domain: NDArray[np.int64], of_node: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return each node's entry of its domain, 0 without the label; shape ``(n,)``.

    >>> by_node(np.array([5, 7]), np.array([1, -1, 0], np.int32))
    array([7, 0, 5])
    """
    # The last entry is that of MISSING, -1.
    return np.append(per_domain, 0)[of_node]
