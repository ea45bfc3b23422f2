"""Selectors that do not select their own pod."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.policies.rules.run_rules import problems

RULE = "selector-misses-own-pod"
MANIFEST = """
apiVersion: {group}
kind: {kind}
metadata: {{name: web}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  strategy: {{canary: {{canaryMetadata: {{labels: {{role: canary}}}}}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {selector}
"""
NEIGHBOR = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template: {metadata: {labels: {app: api}}}
"""


@pytest.mark.parametrize(
    ("group", "kind", "selector", "expected"),
    [
        pytest.param("apps/v1", "Deployment", "{matchLabels: {app: web}}", 0, id="its own label"),
        pytest.param("apps/v1", "Deployment", "{matchLabels: {app: api}}", 1, id="another value"),
        pytest.param("apps/v1", "Deployment", "{matchLabels: {tier: web}}", 1, id="a label it lacks"),
        pytest.param("apps/v1", "Deployment", "{}", 0, id="empty is selector-empty's"),
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchExpressions: [{key: pod-template-hash, operator: Exists}]}",
            0,
            id="a label that the controller adds",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchExpressions: [{key: pod-template-hash, operator: DoesNotExist}]}",
            1,
            id="without a label that the controller adds",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchLabels: {app: web, pod-template-hash: '7'}}",
            0,
            id="a value that the controller makes is selector-names-revision-label's",
        ),
        pytest.param(
            "apps/v1",
            "StatefulSet",
            "{matchLabels: {app: web, pod-template-hash: '7'}}",
            1,
            id="a label that only another kind's controller adds",
        ),
        pytest.param(
            "argoproj.io/v1alpha1",
            "Rollout",
            "{matchLabels: {app: web, role: canary}}",
            0,
            id="a label that a Rollout's pods have for a while",
        ),
        pytest.param(
            "serving.knative.dev/v1",
            "Service",
            "{matchLabels: {app: web, serving.knative.dev/service: web}}",
            0,
            id="an unknown controller may add labels",
        ),
        pytest.param(
            "serving.knative.dev/v1",
            "Service",
            "{matchLabels: {app: api}}",
            1,
            id="an unknown controller leaves the template's labels alone",
        ),
    ],
)
def test_misses(group: str, kind: str, selector: str, expected: int) -> None:
    """A selector misses where no label that the pod may yet get could change it."""
    found = problems(RULE, MANIFEST.format(group=group, kind=kind, selector=selector))

    assert expected == len(found)


@pytest.mark.parametrize(
    ("neighbor", "fixable"),
    [
        pytest.param("", 1, id="none"),
        pytest.param(NEIGHBOR, 0, id="the selected workload is there"),
    ],
)
def test_the_pods_of_another_workload(neighbor: str, fixable: int, wording: Callable[[str], str]) -> None:
    """Selecting another workload's pods may be meant: that is reported and left to a person."""
    manifest = MANIFEST.format(group="apps/v1", kind="Deployment", selector="{matchLabels: {app: api}}")
    (problem,) = problems(RULE, manifest + neighbor)

    assert wording(problem.message) == problem.message
    assert fixable == len(problem.edits)


@pytest.mark.parametrize("rule", [RULE, "selector-missing", "match-label-key-never-present"])
def test_a_patch_is_left_alone(rule: str) -> None:
    """A Kustomize patch does not tell the labels that its constraints are to select."""
    patch = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [tier]
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
"""

    assert [] == problems(rule, patch)
