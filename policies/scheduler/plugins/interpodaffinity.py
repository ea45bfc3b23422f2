"""The InterPodAffinity plugin: how it filters and scores.

Source: ``filtering.go`` and ``scoring.go``, ``pkg/scheduler/framework/plugins/interpodaffinity``, Kubernetes
1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policies.model.interpod_terms import InterPodTerm
from policies.scheduler.node_view import LabelView, NodeView
from policies.scheduler.pod_table import PodTable
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, NodeScores, Reason, Rejections
from policies.scheduler.term_table import TERM, HeldTerm, TermTable, add_up, signed_preferences

AFFINITY: Final = Reason(("node(s) didn't match pod affinity rules",), Code.UNRESOLVABLE)
ANTI_AFFINITY: Final = Reason(("node(s) didn't match pod anti-affinity rules",), Code.UNSCHEDULABLE)
EXISTING: Final = Reason(("node(s) didn't satisfy existing pods anti-affinity rules",), Code.UNSCHEDULABLE)

#: Steps of comparing the labels of a namespace with a requirement, of finding out whether a namespace has a
#: label, of selecting its pods by a requirement, of a term of running pods, and of a topology key of some.
LABELS_STEPS, TABLE_STEPS, SELECT_STEPS, HELD_STEPS, KEY_STEPS = 6, 12, 60, 6, 300
#: Steps of comparing a label set, or a pod, of whole arrays.
ENTRY_STEPS: Final = 0.1
#: What namespaces are called in messages.
NAMESPACE: Final = "namespace"


class HeldTerms(NamedTuple):
    """Terms of running pods that select the incoming pod, of one topology key and weight."""

    key: str  #: The topology key.
    weight: int  #: The weight.
    pods: NDArray[np.int64]  #: How many pods have each of them, on every node, shape ``(n,)``.


class InterPodCounts:
    """The pods that terms select, on the nodes of one request. Used under ``ClusterIndex.reading`` alone."""

    def __init__(self, view: NodeView, request: SchedulingRequest) -> None:
        index = view.index
        self._index, self._view, self._pod = index, view, request.pod
        self._keeps_selector = request.behavior.keeps_namespace_selector
        own = index.snapshot.namespaces.get(request.pod.namespace)
        self._own_labels: Mapping[str, str] = {} if own is None else own.labels

    def resolved(self, terms: Iterable[InterPodTerm]) -> list[InterPodTerm]:
        """Return terms of the incoming pod with the names of the namespaces that they select."""
        terms, listed = list(terms), self._index.snapshot.namespaces
        selectors = (term.namespace_selector for term in terms)
        sizes = [1 + selector.size for selector in selectors if selector is not None and not selector.empty]
        self._index.steps.take(len(listed), LABELS_STEPS * sum(sizes), NAMESPACE)
        labels = {name: namespace.labels for name, namespace in listed.items()} if sizes else {}
        return [term.resolved(labels, keeps_selector=self._keeps_selector) for term in terms]

    def selected_by_all(self, terms: list[InterPodTerm]) -> NDArray[np.int64]:
        """Count the running pods on every node that each of some terms selects, shape ``(n,)``."""
        nodes, steps = [np.zeros(0, np.int32)], self._index.steps
        selectors = [term.selector for term in terms if term.selector is not None]
        if len(selectors) == len(terms):
            required = dict.fromkeys(labels for each in selectors for labels in each.required_labels())
            tables, size = self._covered_by_all(terms), sum(selector.size for selector in selectors)
            for labels in required:
                steps.take(len(tables), TABLE_STEPS + len(labels), NAMESPACE)
                tables = [table for table in tables if not table.label_sets.lack(labels)]
            steps.take(len(tables), SELECT_STEPS * (1 + size), NAMESPACE)
            entries = sum(len(table) + size * len(table.label_sets) for table in tables)
            steps.take(entries, ENTRY_STEPS, "pod label set")
            nodes += (table.nodes_of_all(selectors) for table in tables)
        counted = np.bincount(np.concatenate(nodes), minlength=self._index.nodes.slots)
        return counted[self._view.slots]

    def _covered_by_all(self, terms: list[InterPodTerm]) -> list[PodTable]:
        """Return the pods of each namespace that all of some terms cover."""
        steps, listed = self._index.steps, self._index.pod_tables()
        named = [term.namespaces for term in terms if not term.covers("", {})]
        if not named:
            steps.take(len(listed), 1, NAMESPACE)
            return [table for _, table in listed]
        names = frozenset.intersection(*named)
        steps.take(len(names), LABELS_STEPS, NAMESPACE)
        return [table for name in names if (table := self._index.pods_of(name)) is not None]

    def selects_itself(self, terms: Iterable[InterPodTerm]) -> bool:
        """Return whether every term selects the incoming pod."""
        return all(term.selects(self._pod.namespace, {}, self._pod.labels) for term in terms)

    def is_selected_by(self, term: InterPodTerm) -> bool:
        """Return whether a term of a running pod selects the incoming pod."""
        return term.selects(self._pod.namespace, self._own_labels, self._pod.labels)

    def selecting(self, table: TermTable) -> list[HeldTerm]:
        """Return the terms of running pods that select the incoming pod."""
        return table.selecting(self._pod.namespace, self._own_labels, self._pod.labels, self._index.steps)

    def of_running(self, table: TermTable) -> list[HeldTerms]:
        """Return what ``selecting`` does, counted; but for keys that no node has."""
        index, groups = self._index, defaultdict[tuple[str, int], list[HeldTerm]](list)
        found = self.selecting(table)
        index.steps.take(len(found), HELD_STEPS, TERM, table.most_are_of)
        for held in found:
            groups[held.term.topology_key, held.term.weight].append(held)
        known = [group for group in groups.items() if group[0][0] in index.nodes.label_keys()]
        index.steps.take(len(known), KEY_STEPS + len(self._view.slots), "topology key")
        return [
            HeldTerms(key, weight, add_up(terms, index.nodes.slots, index.steps)[self._view.slots])
            for (key, weight), terms in known
        ]


def follows_pods(view: NodeView, request: SchedulingRequest) -> bool:
    """Return whether the pod has required terms, or running pods have some that select it."""
    terms, running = request.pod.terms, view.index.anti_affinity
    if terms.affinity or terms.anti_affinity:
        return True
    return bool(running) and bool(InterPodCounts(view, request).selecting(running))


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that required terms of the pod and of running pods reject, with their reasons."""
    counts, terms = InterPodCounts(view, request), request.pod.terms
    of_node = np.zeros(len(view.slots), np.intp)
    existing = np.zeros(len(view.slots), np.bool_)
    for held in counts.of_running(view.index.anti_affinity):
        existing |= in_domain(view.label(held.key), held.pods) > 0
    of_node[existing] = 3
    for term in counts.resolved(terms.anti_affinity):
        avoided = in_domain(view.label(term.topology_key), counts.selected_by_all([term])) > 0
        of_node[avoided] = 2
    of_node[~_with_affinity(counts.resolved(terms.affinity), view, counts)] = 1
    return Rejections(Plugin.INTER_POD_AFFINITY, (AFFINITY, ANTI_AFFINITY, EXISTING), of_node)


def score_nodes(view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> NodeScores | None:
    """Sum the weights of the terms that pods in each node's domains satisfy; None without any."""
    raw = _raw_scores(view, request)
    return None if raw is None else NodeScores(raw, normalize(raw, feasible))


def _with_affinity(terms: list[InterPodTerm], view: NodeView, counts: InterPodCounts) -> NDArray[np.bool_]:
    """Return which nodes the required affinity allows, shape ``(n,)``: ``satisfyPodAffinity``.

    The first pod of a group that selects itself may go wherever the topology keys are.
    """
    carrying = view.with_labels(frozenset(term.topology_key for term in terms))
    if not terms:
        return carrying
    pods = counts.selected_by_all(terms)
    labels = [view.label(term.topology_key) for term in terms]
    is_first = not any(pods[label.present].any() for label in labels)
    if is_first and counts.selects_itself(terms):
        return carrying
    for label in labels:
        carrying = carrying & (in_domain(label, pods) > 0)
    return carrying


def _raw_scores(view: NodeView, request: SchedulingRequest) -> NDArray[np.int64] | None:
    """Return every node's score before normalization, shape ``(n,)``; None where no term adds to any."""
    profile, index = request.profile, view.index
    own = list(signed_preferences(request.pod.terms))
    if not own and (profile.ignores_preferred_terms or not (index.preferred_terms or index.affinity)):
        return None
    counts = InterPodCounts(view, request)
    weighed = counts.of_running(index.preferred_terms)
    if hard := profile.hard_pod_affinity_weight:
        weighed += (held._replace(weight=hard) for held in counts.of_running(index.affinity))
    weighed += (
        HeldTerms(term.topology_key, term.weight, counts.selected_by_all([term]))
        for term in counts.resolved(own)
    )
    of_key: defaultdict[str, NDArray[np.int64]] = defaultdict(lambda: np.zeros(len(view.slots), np.int64))
    scored = False
    for key, weight, pods in weighed:
        scored = scored or bool(pods[view.label(key).present].any())
        of_key[key] += weight * pods
    if not scored:
        return None
    total = np.zeros(len(view.slots), np.int64)
    for key, pods in of_key.items():
        total += in_domain(view.label(key), pods)
    return total


def normalize(raw: NDArray[np.int64], scored: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Bring raw scores to 0 for the lowest and 100 for the highest; all 0 where they are equal.

    Args:
        raw: Raw scores, shape ``(n,)``.
        scored: The nodes that count; the others get 0. Shape ``(n,)``.
    """
    low, high = int(raw[scored].min()), int(raw[scored].max())
    if low == high:
        return np.zeros_like(raw)
    return np.where(scored, (100.0 * ((raw - low) / (high - low))).astype(np.int64), 0)


def in_domain(label: LabelView, pods: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum over each node's domain, 0 without the label; shape ``(n,)``."""
    present = label.present
    # bincount adds as float64, exact up to 2**53.
    sums = np.bincount(label.numbers[present], weights=pods[present], minlength=len(label.texts))
    return label.by_node(sums.astype(np.int64))
