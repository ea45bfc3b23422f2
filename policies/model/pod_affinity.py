"""Which replicas keep each other out of a domain: a workload's required pod anti-affinity against itself.

Source: ``PodAffinityTerm`` of ``api/core/v1/types.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from policies.fields import FieldPath
from policies.model.declared import Workload
from policies.model.labels import LabelSelector, label_selector_errors

#: The way from a pod's spec to its required anti-affinity.
_REQUIRED = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


class SelfSeparation(NamedTuple):
    """A term of required anti-affinity that allows one replica in a domain.

    Attributes:
        topology_key: The node label whose values are the domains.
        path: The term.
        match_label_keys: The labels whose value narrows it, such as that of the revision.
    """

    topology_key: str
    path: FieldPath
    match_label_keys: tuple[str, ...]


def self_separations(workload: Workload) -> Iterator[SelfSeparation]:
    """Yield the terms that keep a workload's replicas apart; what is not certain to is left out."""
    node: Any = workload.spec
    for name in _REQUIRED:
        node = node.get(name) if isinstance(node, dict) else None
    path = workload.pod_path.child("spec", *_REQUIRED)
    for position, term in enumerate(node if isinstance(node, list) else ()):
        if not isinstance(term, dict) or term.get("mismatchLabelKeys"):
            continue
        key, keys = term.get("topologyKey"), term.get("matchLabelKeys") or ()
        if not isinstance(key, str) or not isinstance(keys, list | tuple):
            continue
        if _is_about_own_namespace(term, workload) and _selects(term.get("labelSelector"), workload):
            yield SelfSeparation(key, path.index(position), tuple(map(str, keys)))


def _is_about_own_namespace(term: dict[str, Any], workload: Workload) -> bool:
    namespaces = term.get("namespaces")
    if not namespaces:
        return term.get("namespaceSelector") is None
    return isinstance(namespaces, list) and workload.namespace in namespaces


def _selects(raw: object, workload: Workload) -> bool:
    if not isinstance(raw, dict) or label_selector_errors(raw, FieldPath()):
        return False
    selector = LabelSelector.parse(raw)
    return selector.keys <= workload.labels.keys() and selector.matches(workload.labels)
