"""The effect of an empty selector, by release."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from tests.policies.rules.run_rules import problems

MANIFEST = """
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: {action}
          labelSelector: {{}}
          matchLabelKeys: [{keys}]
"""


@pytest.mark.parametrize(
    ("version", "action"),
    [
        ("1.20", "DoNotSchedule"),
        ("1.26", "DoNotSchedule"),
        ("1.27", "DoNotSchedule"),
        ("1.37", "ScheduleAnyway"),
        ("1.38", "DoNotSchedule"),
    ],
)
def test_the_effect(version: str, action: str, wording: Callable[[str], str]) -> None:
    """The message says what this release does, and when that changes."""
    context = Context(version=KubernetesVersion.parse(version))
    (problem,) = problems(
        "selector-empty", MANIFEST.format(kind="Deployment", action=action, keys=""), context
    )

    assert wording(problem.message) == problem.message


@pytest.mark.parametrize(
    ("version", "kind", "keys", "expected"),
    [
        pytest.param("1.27", "Deployment", "app", 0, id="1.27: narrowed by a label of the template"),
        pytest.param(
            "1.27", "Deployment", "pod-template-hash", 0, id="1.27: by one that the controller adds"
        ),
        pytest.param("1.27", "StatefulSet", "pod-template-hash", 1, id="1.27: by one that no pod has"),
        pytest.param("1.26", "Deployment", "app", 1, id="1.26: matchLabelKeys do not count yet"),
    ],
)
def test_narrowed_by_match_label_keys(version: str, kind: str, keys: str, expected: int) -> None:
    """A key that the pods carry makes a selector of an empty one, where the release knows such keys."""
    manifest = MANIFEST.format(kind=kind, action="ScheduleAnyway", keys=keys)
    found = problems("selector-empty", manifest, Context(version=KubernetesVersion.parse(version)))

    assert expected == len(found)
