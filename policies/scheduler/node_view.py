"""The nodes as columns in the order of their names, for one pod: what the plugins look at.

Requirements of node affinity on a label are compared with all nodes at once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.labels import LabelSelector
from policies.model.node_affinity import (
    NodeAffinity,
    NodeOperator,
    NodeRequirement,
    NodeSelectorTerm,
    parse_int64,
)
from policies.model.pod import Pod
from policies.model.taints import SCHEDULING_EFFECTS, Taint, TaintEffect, Toleration, first_untolerated
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import MISSING
from policies.scheduler.pod_claims import PodClaims
from policies.scheduler.resource_view import ResourceView

#: Steps of comparing a taint with a toleration.
TAINT_STEPS: Final = 4


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


class NodeView(ResourceView):
    """The nodes, for one pod. Valid under one ``ClusterIndex.reading`` only."""

    def __init__(self, index: ClusterIndex, pod: Pod) -> None:
        """Look at all nodes of a cluster for a pod."""
        super().__init__(index, pod)
        self._pods = index.pods_of(pod.namespace)
        self._counted: dict[LabelSelector | None, NDArray[np.int64]] = {}
        #: The names, sorted.
        self.names = self._nodes.names()

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        return self._pod.namespace

    def label(self, key: str) -> LabelView:
        """Return the values of a label."""
        return self.derive(("label", key), lambda: self._label(key))

    def _label(self, key: str) -> LabelView:
        column = self._nodes.label(key)
        if column is None:
            return LabelView(np.full(len(self.slots), MISSING, np.int32), (), {})
        return LabelView(column.column.data[self.slots], tuple(column.texts), column.numbers)

    def with_labels(self, keys: frozenset[str]) -> NDArray[np.bool_]:
        """Return which nodes have every one of some labels, shape ``(n,)``; do not change it."""
        every = np.ones(len(self.slots), np.bool_)
        return self.derive(keys, lambda: reduce(and_, (self.label(key).present for key in keys), every))

    @cached_property
    def claims(self) -> PodClaims:
        """The claims of the pod."""
        return PodClaims(self._pod, self.index.storage)

    @cached_property
    def knows_claims(self) -> bool:
        """Whether all is known that decides about the claims of the pod."""
        return not self.claims.unknown

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        """Which nodes are cordoned, shape ``(n,)``; do not change it."""
        return self.derive("unschedulable", lambda: self._nodes.cordoned()[self.slots])

    @property
    def first_untolerated(self) -> list[Taint | None]:
        """The first untolerated taint of each distinct list of taints, None where all are tolerated."""
        tolerations = self._pod.tolerations
        return self.derive(("untolerated", tolerations), lambda: self._first_untolerated(tolerations))

    def _first_untolerated(self, tolerations: tuple[Toleration, ...]) -> list[Taint | None]:
        taints = self.derive("taint count", lambda: sum(self._nodes.map_taints(len)))
        self.index.steps.take(taints, TAINT_STEPS * (1 + len(tolerations)), "node taint")
        return self._nodes.map_taints(
            lambda taints: first_untolerated(taints, tolerations, SCHEDULING_EFFECTS)
        )

    @property
    def taint_numbers(self) -> NDArray[np.int32]:
        """The number of each node's list of taints, shape ``(n,)``; do not change it."""
        return self.derive("taints", lambda: self._nodes.taints()[self.slots])

    @property
    def tolerates_taints(self) -> NDArray[np.bool_]:
        """Which nodes have no NoSchedule or NoExecute taint that is not tolerated, shape ``(n,)``."""
        return self.derive(
            ("tolerates", self._pod.tolerations),
            lambda: np.array([taint is None for taint in self.first_untolerated], np.bool_)[
                self.taint_numbers
            ],
        )

    @property
    def eligibility(self) -> tuple[Hashable, ...]:
        """The fields of the pod that decide which nodes are eligible."""
        return self._pod.affinity, self._pod.tolerations

    @property
    def matches_affinity(self) -> NDArray[np.bool_]:
        """Which nodes match the pod's nodeSelector and required node affinity, shape ``(n,)``."""
        affinity = self._pod.affinity
        return self.derive(("affinity", affinity), lambda: self._matching_affinity(affinity))

    def _matching_affinity(self, affinity: NodeAffinity) -> NDArray[np.bool_]:
        matching = np.ones(len(self.slots), np.bool_)
        for key, value in affinity.node_selector:
            matching &= among(self.label(key), (value,))
        if affinity.terms is not None:
            matching &= self.matching_any(affinity.terms)
        return matching

    def named(self, names: frozenset[str]) -> NDArray[np.bool_]:
        """Return which nodes have one of some names, shape ``(n,)``."""
        found = np.zeros(len(self.slots), np.bool_)
        positions = self._nodes.positions()
        found[[positions[name] for name in names if name in positions]] = True
        return found

    def count_pods(self, selector: LabelSelector | None) -> NDArray[np.int64]:
        """Return how many pods of the pod's namespace a selector selects on each node, shape ``(n,)``."""
        counted = self._counted.get(selector)
        if counted is None:
            if self._pods is None or selector is None:
                counted = np.zeros(len(self.slots), np.int64)
            else:
                counted = self._pods.count_by_node(selector, slots=self._nodes.slots).take(self.slots)
            self._counted[selector] = counted
        return counted

    def count_untolerated(self, tolerations: tuple[Toleration, ...]) -> NDArray[np.int64]:
        """Count the PreferNoSchedule taints of each node that no toleration covers; do not change it.

        The shape is ``(n,)``.
        """
        return self.derive(("preferring", tolerations), lambda: self._untolerated(tolerations))

    def _untolerated(self, tolerations: tuple[Toleration, ...]) -> NDArray[np.int64]:
        effect = TaintEffect.PREFER_NO_SCHEDULE
        counts = self._nodes.map_taints(
            lambda taints: sum(
                taint.effect == effect and not any(entry.tolerates(taint) for entry in tolerations)
                for taint in taints
            )
        )
        return np.array(counts, np.int64)[self.taint_numbers]

    def with_image(self, name: str) -> tuple[NDArray[np.bool_], int]:
        """Return which nodes have an image, shape ``(n,)``, and its size in bytes, 0 if none has it."""
        having = np.zeros(self._nodes.slots, np.bool_)
        state = self._nodes.images.find(name)
        if state is None:
            return having[: len(self.slots)], 0
        having[list(state.slots)] = True
        return having[self.slots], state.size

    def with_value(self, key: str, values: Collection[str]) -> NDArray[np.bool_]:
        """Return which nodes have one of some values at a label, shape ``(n,)``."""
        return among(self.label(key), values)

    def selected(self, selector: LabelSelector) -> NDArray[np.bool_]:
        """Return which nodes a label selector selects, shape ``(n,)``."""
        selected = np.ones(len(self.slots), np.bool_)
        for key, value in selector.match_labels:
            selected &= self.with_value(key, (value,))
        for requirement in selector.match_expressions:
            same = NodeRequirement(
                requirement.key, NodeOperator(str(requirement.operator)), requirement.values
            )
            selected &= satisfying(self.label(requirement.key), same)
        return selected

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
            matching &= satisfying(self.label(requirement.key), requirement)
        for requirement in term.fields:
            # metadata.name is the only field, and In and NotIn are its operators.
            named = self.named(frozenset(requirement.values))
            matching &= named if requirement.operator is NodeOperator.IN else ~named
        return matching
