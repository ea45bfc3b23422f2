"""StatefulSets with claims, and the classes of these, for rules about volumes."""

from __future__ import annotations

from typing import Any

from policies.config.context import AdmissionContext
from policies.lint.run import Selection, lint
from policies.manifests.documents import load, objects
from policies.manifests.findings import Finding
from policies.model.topology import ClusterTopology
from tests.policies.rules.documents import text_of

ZONE = "topology.kubernetes.io/zone"
#: A class of zonal disks; it binds at once unless its mode says otherwise.
EBS: dict[str, Any] = {"provisioner": "ebs.csi.aws.com"}


def a_class(name: str = "ssd", *, default: bool = False, **fields: Any) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, **fields}


def a_stateful_set(*, replicas: int = 3, storage_class: str | None = "ssd", **fields: Any) -> dict[str, Any]:
    labels = {"app": "db"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
        **fields,
    }
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        claim["storageClassName"] = storage_class
    spec = {"containers": [{"name": "db"}], "topologySpreadConstraints": [constraint]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        },
    }


def lint_by(
    rule: str, *manifests: dict[str, Any], inventory: ClusterTopology | None = None
) -> tuple[list[Finding], list[str]]:
    """Return the findings of a rule, and the rules that could not run."""
    found = [entry for document in load(text_of(*manifests), "test.yaml") for entry in objects(document)]
    selection = Selection(select=frozenset({rule}))
    result = lint(found, AdmissionContext(policies=()), selection=selection, inventory=inventory)
    return result.findings, list(result.skipped)
