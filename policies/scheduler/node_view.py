"""The nodes as columns in the order of their names, for one pod: what the plugins look at."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
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
)
from policies.model.pod import Pod
from policies.model.taints import SCHEDULING_EFFECTS, Taint, TaintEffect, Toleration, first_untolerated
from policies.scheduler.index import ClusterIndex
from policies.scheduler.label_view import LabelView, among, satisfying
from policies.scheduler.node_table import MISSING
from policies.scheduler.pod_claims import PodClaims
from policies.scheduler.resource_view import ResourceView

#: Steps of comparing a taint with a toleration.
TAINT_STEPS: Final = 4


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
