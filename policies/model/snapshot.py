"""The objects of a cluster at one moment, as far as deducing selectors needs them.

Nodes and pods are not read yet: placement is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.fields import ErrorList, FieldPath
from policies.model.labels import LabelSelector, label_selector_errors
from policies.model.pod import Owner

#: The controllers whose selector kube-scheduler adds, by apiVersion and kind; True for a plain label map.
#: Source: ``DefaultSelector``, ``pkg/scheduler/framework/plugins/helper/spread.go``, Kubernetes 1.36.
SELECTING_OWNERS = {
    ("v1", "ReplicationController"): True,
    ("apps/v1", "ReplicaSet"): False,
    ("apps/v1", "StatefulSet"): False,
}


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller that pods belong to: its selector, None if it has none, and its annotations."""

    selector: LabelSelector | None
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace's labels and annotations."""

    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a cluster.

    Services stand under one pair of their selector, so that a pod finds those that match it without
    looking at every service of its namespace.
    """

    services: dict[tuple[str, str, str], list[dict[str, str]]] = field(default_factory=dict)
    controllers: dict[tuple[str, str, str, str], Controller] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)

    def service_selectors(self, namespace: str, labels: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the selectors of the namespace's services that match labels, in no particular order."""
        return [
            selector
            for pair in labels.items()
            for selector in self.services.get((namespace, *pair), ())
            if selector.items() <= labels.items()
        ]

    def controller(self, owner: Owner, namespace: str) -> Controller | None:
        """Return the controller that an owner reference names, or None if the cluster has none such."""
        return self.controllers.get((owner.api_version, owner.kind, namespace, owner.name))


def take_snapshot(objects: Iterable[Mapping[str, Any]]) -> tuple[Snapshot, list[str]]:
    """Build a snapshot of API objects, in any order.

    Returns:
        The snapshot, and a line for each object that was left out because it is broken. Objects of other
        kinds are passed over silently.
    """
    snapshot, problems = Snapshot(), []
    for obj in objects:
        found = ErrorList()
        _take(obj, snapshot, found)
        if found.errors:
            problems += [f"{_title(obj)} left out: {error}" for error in found.errors]
    return snapshot, problems


def _take(obj: Mapping[str, Any], snapshot: Snapshot, found: ErrorList) -> None:
    kind = (obj.get("apiVersion"), obj.get("kind"))
    if kind not in SELECTING_OWNERS and kind not in (("v1", "Service"), ("v1", "Namespace")):
        return
    metadata = found.mapping(obj.get("metadata"), FieldPath(("metadata",)))
    name = found.text(metadata.get("name"), FieldPath(("metadata", "name")))
    namespace = found.text(metadata.get("namespace"), FieldPath(("metadata", "namespace")))
    annotations = found.labels(metadata.get("annotations"), FieldPath(("metadata", "annotations")))
    labels = found.labels(metadata.get("labels"), FieldPath(("metadata", "labels")))
    spec = found.mapping(obj.get("spec"), FieldPath(("spec",)))
    selector_path = FieldPath(("spec", "selector"))
    if kind == ("v1", "Namespace"):
        if not found.errors:
            snapshot.namespaces[name] = Namespace(labels, annotations)
    elif kind == ("v1", "Service"):
        selector = found.labels(spec.get("selector"), selector_path)
        if not found.errors:
            found.errors += label_selector_errors({"matchLabels": selector}, selector_path)
        # A service without a selector matches no pod; an empty one matches all and adds nothing.
        if selector and not found.errors:
            first = min(selector.items())
            snapshot.services.setdefault((namespace, *first), []).append(selector)
    else:
        raw = spec.get("selector")
        if SELECTING_OWNERS[kind] and raw is not None:
            raw = {"matchLabels": raw}
        found.errors += label_selector_errors(raw, selector_path)
        if not found.errors:
            parsed = None if raw is None else LabelSelector.parse(raw)
            snapshot.controllers[(*kind, namespace, name)] = Controller(parsed, annotations)


def _title(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return f"{obj.get('kind')} {names.get('namespace', '')}/{names.get('name', '(no name)')}"
