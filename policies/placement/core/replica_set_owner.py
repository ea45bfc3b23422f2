"""The owner of a ReplicaSet, such as a Deployment, where a cluster shows only the ReplicaSet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.manifests.fields import member, shown_name
from policies.model.workload_kinds import WorkloadKind


def owner_object(
    replica_set: Mapping[str, Any], base: Mapping[str, Any], kind: WorkloadKind, *, namespace: str, name: str
) -> dict[str, Any]:
    """Return the workload that owns a ReplicaSet, as far as that shows it.

    Args:
        replica_set: The ReplicaSet.
        base: The fields that it does not show: apiVersion and kind at least.
        kind: The kind of the owner.
        namespace: The namespace of both.
        name: The name of the owner.
    """
    spec, label = member(replica_set, "spec"), kind.revision_label
    template, selector = member(spec, "template"), member(spec, "selector")
    own, pod = member(replica_set, "metadata"), member(template, "metadata")
    metadata = {
        "name": name,
        "namespace": namespace,
        # Whether its constraints were injected, and the digest of a template that a snapshot has cut.
        "annotations": member(own, "annotations"),
    }
    return {
        **base,
        "metadata": metadata,
        "spec": {
            **member(base, "spec"),
            "replicas": spec.get("replicas"),
            "selector": {**selector, "matchLabels": _without(member(selector, "matchLabels"), label)},
            "template": {
                **template,
                "metadata": {**pod, "labels": _without(member(pod, "labels"), label)},
            },
        },
    }


def owner_note(kind: str, replica_set: str) -> str:
    """Return the note on such an object, by its kind and the name of the ReplicaSet."""
    return f"the snapshot has no {kind}s: this one is made from its ReplicaSet {shown_name(replica_set)}"


def _without(labels: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    return {name: text for name, text in labels.items() if name != key}
