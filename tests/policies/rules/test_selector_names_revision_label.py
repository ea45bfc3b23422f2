"""Selectors that pin what a controller writes."""

from __future__ import annotations

import pytest

from tests.policies.rules.run_rules import problems

CONSTRAINT = """
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchExpressions: [%s]}
"""


def _manifest(kind: str, expression: str, spec: str) -> str:
    group = {"Job": "batch/v1", "Rollout": "argoproj.io/v1alpha1"}.get(kind, "apps/v1")
    head = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  {spec}\n"
    template = "  template:\n    metadata: {labels: {app: web}}\n    spec:\n      topologySpreadConstraints:"
    return head + template + CONSTRAINT % f"{{key: {expression}}}"


@pytest.mark.parametrize(
    ("kind", "expression", "spec", "expected"),
    [
        ("Deployment", "app, operator: In, values: [web]", "replicas: 3", 0),
        ("Deployment", "pod-template-hash, operator: In, values: ['7']", "replicas: 3", 1),
        ("Deployment", "pod-template-hash, operator: NotIn, values: ['7']", "replicas: 3", 0),
        ("Deployment", "pod-template-hash, operator: Exists", "replicas: 3", 0),
        ("ReplicaSet", "pod-template-hash, operator: In, values: ['7']", "replicas: 3", 0),
        ("Rollout", "rollouts-pod-template-hash, operator: In, values: ['7']", "replicas: 3", 1),
        ("DaemonSet", "controller-revision-hash, operator: In, values: ['7']", "minReadySeconds: 3", 1),
        ("StatefulSet", "apps.kubernetes.io/pod-index, operator: In, values: ['0', '1']", "replicas: 3", 1),
        ("StatefulSet", "apps.kubernetes.io/pod-index, operator: In, values: ['0', '1']", "replicas: 2", 0),
        (
            "StatefulSet",
            "statefulset.kubernetes.io/pod-name, operator: In, values: [web-0]",
            "replicas: 3",
            1,
        ),
        ("Job", "job-name, operator: In, values: [web]", "parallelism: 3", 0),
        ("Job", "batch.kubernetes.io/job-name, operator: In, values: [site]", "parallelism: 3", 1),
        ("Job", "controller-uid, operator: In, values: ['7']", "parallelism: 3", 1),
    ],
)
def test_pinned_values(kind: str, expression: str, spec: str, expected: int) -> None:
    """A value is pinned if the pods of the next revision, or the other pods, are sure to have another."""
    found = problems("selector-names-revision-label", _manifest(kind, expression, spec))

    assert expected == len(found)
