"""The selector that a constraint gets from its workload."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.controller_labels import own_selector_edits
from tests.policies.rules.run_rules import workloads

MANIFEST = """
apiVersion: {group}
kind: {kind}
metadata: {{name: web}}
spec:
  selector: {selector}
  template:
    metadata: {{labels: {{app: web, tier: front}}}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {{matchLabels: {{app: api}}}}
          matchLabelKeys: [{keys}]
"""


@pytest.mark.parametrize(
    ("group", "kind", "selector", "keys", "expected"),
    [
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchLabels: {app: web}}",
            "pod-template-hash",
            {"matchLabels": {"app": "web"}},
            id="a selector of one label",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchExpressions: [{key: app, operator: In, values: [web, site]}]}",
            "",
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "site"]}]},
            id="an expression",
        ),
        pytest.param(
            "v1",
            "ReplicationController",
            "{app: web}",
            "",
            {"matchLabels": {"app": "web"}},
            id="the plain map of a ReplicationController",
        ),
        pytest.param(
            "apps/v1", "Deployment", "{matchLabels: {app: site}}", "", None, id="misses the template too"
        ),
        pytest.param("apps/v1", "Deployment", "{}", "", None, id="empty"),
        pytest.param("apps/v1", "Deployment", "{matchLabels: {app: 1}}", "", None, id="invalid"),
        pytest.param("batch/v1", "Job", "{matchLabels: {app: web}}", "", None, id="a Job's is made for it"),
        pytest.param(
            "apps/v1",
            "Deployment",
            "{matchLabels: {app: web, tier: front}}",
            "tier",
            None,
            id="a key that matchLabelKeys has already",
        ),
    ],
)
def test_edits(group: str, kind: str, selector: str, keys: str, expected: dict[str, Any] | None) -> None:
    """A constraint gets the workload's own selector where that is sure to select the pods."""
    (workload,) = workloads(MANIFEST.format(group=group, kind=kind, selector=selector, keys=keys))
    (declared,) = workload.constraints
    edits = own_selector_edits(workload, declared)

    assert ([] if expected is None else [expected]) == [edit.new for edit in edits]
    assert [] == [edit for edit in edits if edit.old != {"matchLabels": {"app": "api"}}]
    assert [] == [edit for edit in edits if edit.path != declared.path.child("labelSelector")]


@pytest.mark.parametrize(
    ("kind", "template", "expected"),
    [
        pytest.param("apps/v1, kind: Deployment", "{spec: {containers: [{}]}}", True, id="no labels"),
        pytest.param(
            "apps/v1, kind: Deployment", "{metadata: {labels: {app: web}}, spec: {}}", False, id="labels"
        ),
        pytest.param("batch/v1, kind: Job", "{spec: {priority: 1}}", True, id="a Job without containers"),
        pytest.param("batch/v1, kind: Job", "{spec: {containers: [{}]}}", False, id="a Job needs no labels"),
    ],
)
def test_patches(kind: str, template: str, expected: bool) -> None:  # noqa: FBT001  # a table's last column
    """An object without the labels that its kind must have is to be merged with something that has them."""
    (workload,) = workloads(f"{{apiVersion: {kind}, spec: {{template: {template}}}}}")

    assert expected is workload.is_patch
