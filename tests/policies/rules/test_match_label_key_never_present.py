"""Match label keys that no pod carries."""

from __future__ import annotations

import pytest

from tests.policies.rules.run_rules import problems

MANIFEST = """
apiVersion: {group}
kind: {kind}
metadata: {{name: web}}
spec:
  template:
    metadata: {{labels: {{app: web, tier: front}}}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {{matchLabels: {{app: web}}}}
          matchLabelKeys: [{keys}]
"""


@pytest.mark.parametrize(
    ("group", "kind", "keys", "expected"),
    [
        ("apps/v1", "Deployment", "pod-template-hash", []),
        ("apps/v1", "Deployment", "controller-revision-hash", [0]),
        ("apps/v1", "Deployment", "tier, controller-revision-hash", [1]),
        ("apps/v1", "StatefulSet", "pod-template-hash", [0]),
        ("apps/v1", "StatefulSet", "controller-revision-hash", []),
        ("apps/v1", "StatefulSet", "pod-template-hash, controller-revision-hash", []),
        ("apps/v1", "DaemonSet", "pod-template-hash", [0]),
        ("batch/v1", "Job", "pod-template-hash", [0]),
        ("batch/v1", "Job", "batch.kubernetes.io/controller-uid", []),
        ("argoproj.io/v1alpha1", "Rollout", "pod-template-hash", [0]),
        ("argoproj.io/v1alpha1", "Rollout", "rollouts-pod-template-hash", []),
        ("apps/v1", "Deployment", "team", [0]),
        ("apps/v1", "Deployment", "team, tier", []),
        ("apps/v1", "Deployment", "team, pod-template-hash", []),
        ("apps.kruise.io/v1alpha1", "CloneSet", "team", []),
        ("v1", "PodTemplate", "pod-template-hash", []),
    ],
)
def test_keys(group: str, kind: str, keys: str, expected: list[int]) -> None:
    """A revision key is told if no listed one tells revisions apart, any other if no listed one is there."""
    found = problems("match-label-key-never-present", MANIFEST.format(group=group, kind=kind, keys=keys))

    assert expected == [problem.path.segments[-1] for problem in found]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param("{apiVersion: apps/v1, kind: Deployment, name: web}", 0, id="its template"),
        pytest.param("{apiVersion: apps/v1, kind: Deployment, name: api}", 1, id="another one's"),
        pytest.param("web", 1, id="a reference of a wrong type"),
    ],
)
def test_a_template_that_a_rollout_uses(named: str, expected: int) -> None:
    """The pods are the Rollout's then, and carry its label."""
    deployment = MANIFEST.format(group="apps/v1", kind="Deployment", keys="rollouts-pod-template-hash")
    rollout = f"""---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: rollout}}
spec: {{workloadRef: {named}}}
"""

    assert expected == len(problems("match-label-key-never-present", deployment + rollout))


def test_a_pod_is_left_alone() -> None:
    """Who owns a pod, and which labels it may yet get, is not known."""
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector: {matchLabels: {app: web}}
      matchLabelKeys: [pod-template-hash]
"""

    assert [] == problems("match-label-key-never-present", pod)
