"""Affinity between pods, by plain loops over raw API objects; shares no code with ``policies``.

Source: ``pkg/scheduler/framework/plugins/interpodaffinity``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.policies.scheduler.oracle_matching import (
    Labels,
    Object,
    Selector,
    labels_of,
    matches,
    name_of,
    namespace_of,
    selector_of,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

#: Pods by the topology key and the value of their node.
Counts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Term:
    """A term of pod affinity or anti-affinity."""

    topology_key: str
    selector: Selector
    #: Namespaces by name; the namespace of the pod that has the term where it names none in any way.
    namespaces: frozenset[str]
    #: None selects no namespace, ``()`` every one.
    namespace_selector: Selector
    weight: int = 0

    def selects(self, pod: Object, namespace_labels: Labels) -> bool:
        """Tell whether a pod is one that the term is about."""
        return (
            namespace_of(pod) in self.namespaces or matches(self.namespace_selector, namespace_labels)
        ) and matches(self.selector, labels_of(pod))

    def resolved(self, namespaces: Mapping[str, Labels]) -> Term:
        """Return a term of the incoming pod, which names the namespaces that its selector selects.

        The selector itself is not removed (``mergeAffinityTermNamespacesIfNotEmpty`` changes a copy) and
        asked about namespaces without labels, so one that selects by absence selects every namespace.
        """
        selected = {name for name, labels in namespaces.items() if matches(self.namespace_selector, labels)}
        return replace(self, namespaces=self.namespaces | selected)


def terms_of(pod: Object, kind: str, strength: str) -> list[Term]:
    """Return a pod's terms of ``podAffinity`` or ``podAntiAffinity``."""
    affinity = ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(strength) or ()
    if strength == PREFERRED:
        return [_term(entry["podAffinityTerm"], pod, entry["weight"]) for entry in affinity]
    return [_term(entry, pod, 0) for entry in affinity]


def _term(raw: Object, pod: Object, weight: int) -> Term:
    named = frozenset(raw.get("namespaces") or ())
    own = raw.get("namespaces") or raw.get("namespaceSelector") is not None
    return Term(
        topology_key=raw["topologyKey"],
        selector=selector_of(raw.get("labelSelector")),
        namespaces=named if own else frozenset({namespace_of(pod)}),
        namespace_selector=selector_of(raw.get("namespaceSelector")),
        weight=weight,
    )


@dataclass(frozen=True, kw_only=True)
class Neighborhood:
    """A pod before the pods of a cluster, and the labels of its namespaces."""

    pod: Object
    nodes: list[Object]
    pods_on: Mapping[str, list[Object]]
    namespaces: Mapping[str, Labels]

    def own(self, kind: str, strength: str) -> list[Term]:
        """Return the incoming pod's terms."""
        return [term.resolved(self.namespaces) for term in terms_of(self.pod, kind, strength)]

    def selecting(self, terms: Iterable[Term]) -> list[Term]:
        """Return those of a running pod's terms that select the incoming pod."""
        labels = self.namespaces.get(namespace_of(self.pod), {})
        return [term for term in terms if term.selects(self.pod, labels)]

    def running(self) -> Iterable[tuple[Object, Object]]:
        """Return every pod that is on a node, with its node."""
        return [(pod, node) for node in self.nodes for pod in self.pods_on[name_of(node)]]


def filter_results(around: Neighborhood) -> dict[str, tuple[str, str]]:
    """Return reason and code of every node that the plugin's Filter refuses."""
    wanted, unwanted = (around.own(kind, REQUIRED) for kind in ("podAffinity", "podAntiAffinity"))
    wanting: Counts = Counter()
    refusing: Counts = Counter()
    refused_by: Counts = Counter()
    for pod, node in around.running():
        if wanted and all(term.selects(pod, {}) for term in wanted):
            _add(wanting, wanted, node)
        _add(refusing, [term for term in unwanted if term.selects(pod, {})], node)
        _add(refused_by, around.selecting(terms_of(pod, "podAntiAffinity", REQUIRED)), node)
    first = not wanting and all(term.selects(around.pod, {}) for term in wanted)
    results = {}
    for node in around.nodes:
        labels = labels_of(node)
        pairs = [(term.topology_key, labels.get(term.topology_key)) for term in wanted]
        if any(value is None for _, value in pairs) or not (
            first or all(wanting[key, str(value)] for key, value in pairs)
        ):
            answer = ("node(s) didn't match pod affinity rules", "UnschedulableAndUnresolvable")
        elif any(refusing[pair] for pair in labels.items()):
            answer = ("node(s) didn't match pod anti-affinity rules", "Unschedulable")
        elif any(refused_by[pair] for pair in labels.items()):
            answer = ("node(s) didn't satisfy existing pods anti-affinity rules", "Unschedulable")
        else:
            continue
        results[name_of(node)] = answer
    return results


def _add(counts: Counts, terms: Iterable[Term], node: Object, sign: int = 0) -> None:
    for term in terms:
        if term.topology_key in labels_of(node):
            pair = (term.topology_key, labels_of(node)[term.topology_key])
            counts[pair] += sign * term.weight if sign else 1


def raw_scores(around: Neighborhood, feasible: Iterable[Object], hard_weight: int) -> dict[str, int] | None:
    """Return the feasible nodes' scores before normalization; None where no term adds to any.

    ``hardPodAffinityWeight`` is what a required affinity term of a running pod weighs for a pod that it
    selects; of weight 0, such terms are not looked at.
    """
    scores: Counts = Counter()
    for pod, node in around.running():
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            own = around.own(kind, PREFERRED)
            _add(scores, [term for term in own if term.selects(pod, {})], node, sign)
            theirs = terms_of(pod, kind, PREFERRED)
            if kind == "podAffinity" and hard_weight:
                theirs += [replace(term, weight=hard_weight) for term in terms_of(pod, kind, REQUIRED)]
            _add(scores, around.selecting(theirs), node, sign)
    if not scores:
        return None
    return {name_of(node): sum(scores[pair] for pair in labels_of(node).items()) for node in feasible}


def normalized(raw: Mapping[str, int]) -> dict[str, int]:
    """Return scores from 0 for the lowest to 100 for the highest; all 0 where they are equal."""
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * ((score - low) / (high - low))) for name, score in raw.items()}


def merged(pod: dict[str, Any]) -> dict[str, Any]:
    """Merge ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selectors of a pod, as on create."""
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
        terms = list(affinity.get(REQUIRED) or ())
        terms += [entry["podAffinityTerm"] for entry in affinity.get(PREFERRED) or ()]
        for term in terms:
            for member, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
                for key in term.get(member) or ():
                    if key in labels_of(pod) and term.get("labelSelector") is not None:
                        condition = {"key": key, "operator": operator, "values": [labels_of(pod)[key]]}
                        term["labelSelector"].setdefault("matchExpressions", []).append(condition)
    return pod
