"""Workloads as rules see them, from raw API objects."""

from __future__ import annotations

from typing import Any

from policies.config.context import AdmissionContext
from policies.lint.workload_loader import load_workload
from policies.manifests.documents import Document, ManifestObject
from policies.manifests.fields import FieldPath
from policies.model.workload import Workload


def workload_of(obj: dict[str, Any]) -> Workload:
    """Return an object as a workload."""
    document = Document(obj, "test.yaml", 0)
    declared = load_workload(ManifestObject(obj, FieldPath(), document), AdmissionContext(policies=()))
    assert declared is not None
    return declared
