"""The terms of pod affinity and anti-affinity as the scheduler's InterPodAffinity plugin holds them.

Source: ``newAffinityTerm`` and ``getWeightedAffinityTerms``, ``pkg/scheduler/framework/types.go``, and for
what the API server merges on create ``pkg/registry/core/pod/strategy.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from policies.manifests.fields import ErrorList, FieldPath, wrong_type
from policies.model.labels import (
    LabelSelector,
    Operator,
    Requirement,
    read_label_selector,
)

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class InterPodTerm:
    """One term."""

    topology_key: str  #: The node label whose values are the domains.
    selector: LabelSelector | None  #: The pods that it selects; None selects none.
    #: Where it selects, by name: the pod's own namespace where the term names none in any way.
    namespaces: frozenset[str]
    #: Where else, by the labels of namespaces; None selects none, an empty one all.
    namespace_selector: LabelSelector | None
    weight: int = 0  #: Of a preferred term, 1 to 100; 0 of a required one.

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the term selects in a namespace with such labels."""
        if namespace in self.namespaces:
            return True
        return self.namespace_selector is not None and self.namespace_selector.matches(labels)

    def selects(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Return whether the term selects a pod of a namespace."""
        return (
            self.selector is not None
            and self.covers(namespace, namespace_labels)
            and self.selector.matches(labels)
        )

    def resolved(self, namespaces: Mapping[str, Mapping[str, str]], *, keeps_selector: bool) -> InterPodTerm:
        """Return the term with the names of the namespaces that its selector selects, by their labels.

        The scheduler does so for the incoming pod. A release that keeps the selector then matches it against
        no labels at all: one that selects by absence selects every namespace
        (``mergeAffinityTermNamespacesIfNotEmpty``, ``interpodaffinity/plugin.go``, changes a copy).
        """
        selector = self.namespace_selector
        if selector is None or selector.empty:
            return self
        selected = {name for name, labels in namespaces.items() if selector.matches(labels)}
        kept = selector if keeps_selector else None
        return replace(self, namespaces=self.namespaces | selected, namespace_selector=kept)


class InterPodTerms(NamedTuple):
    """All terms of a pod."""

    affinity: tuple[InterPodTerm, ...] = ()
    anti_affinity: tuple[InterPodTerm, ...] = ()
    preferred_affinity: tuple[InterPodTerm, ...] = ()
    preferred_anti_affinity: tuple[InterPodTerm, ...] = ()


#: What most pods have.
NO_TERMS: Final = InterPodTerms()


def read_interpod_terms(
    spec: Mapping[str, Any], labels: Mapping[str, str], namespace: str, path: FieldPath, found: ErrorList
) -> InterPodTerms:
    """Read the terms of a pod; what is of the wrong type is recorded, and its term left out.

    Args:
        spec: The pod's spec.
        labels: The pod's labels, for ``matchLabelKeys`` and ``mismatchLabelKeys``, which the API server
            merges into the selector on create. What it has merged already is not merged again.
        namespace: The pod's namespace.
        path: Where the spec is.
        found: Takes what is wrong.
    """
    affinity = spec.get("affinity")
    if not isinstance(affinity, dict):
        # The reader of node affinity records it.
        return NO_TERMS
    where = path.child("affinity")
    lists: list[tuple[InterPodTerm, ...]] = []
    for strength in (REQUIRED, PREFERRED):
        for kind in ("podAffinity", "podAntiAffinity"):
            part = found.mapping(affinity.get(kind), where.child(kind))
            at = where.child(kind, strength)
            lists.append(tuple(_read_terms(part.get(strength), labels, namespace, at, found)))
    return InterPodTerms(*lists)


def _read_terms(
    raw: object, labels: Mapping[str, str], namespace: str, path: FieldPath, found: ErrorList
) -> Iterator[InterPodTerm]:
    for at, entry in found.objects(raw, path):
        before, weight, term, where = found.count, 0, entry, at
        if path.segments[-1] == PREFERRED:
            where = at.child("podAffinityTerm")
            term = found.mapping(entry.get("podAffinityTerm"), where)
            if type(entry.get("weight")) is int:
                weight = entry["weight"]
            else:
                found.add(wrong_type(at.child("weight"), "an integer", entry.get("weight")))
        read = _read_term(term, labels, namespace, where, found)
        if found.count == before:
            yield replace(read, weight=weight) if weight else read


def _read_term(
    raw: Mapping[str, Any], labels: Mapping[str, str], namespace: str, path: FieldPath, found: ErrorList
) -> InterPodTerm:
    selector = read_label_selector(raw.get("labelSelector"), path.child("labelSelector"), found)
    if selector is not None:
        for member, operator in (("matchLabelKeys", Operator.IN), ("mismatchLabelKeys", Operator.NOT_IN)):
            keys = _read_texts(raw, member, path, found)
            added = (Requirement(key, operator, (labels[key],)) for key in keys if key in labels)
            missing = tuple(entry for entry in added if entry not in selector.match_expressions)
            selector = selector.narrowed(*missing)
    names = frozenset(_read_texts(raw, "namespaces", path, found))
    where = path.child("namespaceSelector")
    namespace_selector = read_label_selector(raw.get("namespaceSelector"), where, found)
    if not names and namespace_selector is None:
        names = frozenset({namespace})
    key = found.text(raw.get("topologyKey"), path.child("topologyKey"))
    return InterPodTerm(key, selector, names, namespace_selector)


def _read_texts(raw: Mapping[str, Any], member: str, path: FieldPath, found: ErrorList) -> list[str]:
    where = path.child(member)
    items = found.items(raw.get(member), where)
    return [found.text(value, where.index(position)) for position, value in enumerate(items)]
