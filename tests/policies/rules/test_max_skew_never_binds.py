"""Hard constraints that there are too few pods for."""

from __future__ import annotations

import pytest

from tests.policies.rules.run_rules import problems

MANIFEST = """
apiVersion: {group}
kind: {kind}
metadata: {{name: web}}
spec:
  {spec}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web, tier: front}}}}
    spec:
      topologySpreadConstraints:
        - maxSkew: {max_skew}
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: {action}
          labelSelector: {{matchLabels: {selector}}}
          matchLabelKeys: [{keys}]
"""


@pytest.mark.parametrize(
    ("kind", "spec", "max_skew", "keys", "expected"),
    [
        pytest.param("Deployment", "replicas: 4", 4, "", 0, id="4 + 25 % = 5 pods, maxSkew 4"),
        pytest.param("Deployment", "replicas: 4", 5, "", 1, id="4 + 25 % = 5 pods, maxSkew 5"),
        pytest.param("Deployment", "replicas: 4", 4, "pod-template-hash", 1, id="4 of a revision, maxSkew 4"),
        pytest.param("Deployment", "replicas: 4", 3, "pod-template-hash", 0, id="4 of a revision, maxSkew 3"),
        pytest.param("Deployment", "replicas: 4; strategy: {type: Recreate}", 4, "", 1, id="no surge"),
        pytest.param(
            "Deployment",
            "replicas: 4; strategy: {rollingUpdate: {maxSurge: 3}}",
            6,
            "",
            0,
            id="4 + 3 pods, maxSkew 6",
        ),
        pytest.param(
            "Deployment",
            "replicas: 4; strategy: {rollingUpdate: {maxSurge: 60%}}",
            7,
            "",
            1,
            id="4 + 60 % = 7 pods, maxSkew 7",
        ),
        pytest.param("StatefulSet", "replicas: 4", 4, "", 1, id="a StatefulSet has no surge"),
        pytest.param("CloneSet", "replicas: 4", 7, "", 0, id="unknown kind: up to 8 pods, maxSkew 7"),
        pytest.param("CloneSet", "replicas: 4", 8, "", 1, id="unknown kind: up to 8 pods, maxSkew 8"),
        pytest.param("Deployment", "replicas: 1", 5, "", 0, id="1 replica has nothing to spread"),
        pytest.param("Deployment", "minReadySeconds: 1", 5, "", 0, id="replicas left to something else"),
    ],
)
def test_pods(kind: str, spec: str, max_skew: int, keys: str, expected: int) -> None:
    """A skew that all the pods there can be do not exceed never keeps one off a node."""
    found = problems("max-skew-never-binds", _manifest(kind=kind, spec=spec, max_skew=max_skew, keys=keys))

    assert expected == len(found)


@pytest.mark.parametrize(
    ("selector", "action", "expected"),
    [
        pytest.param("{app: web}", "DoNotSchedule", 1, id="the workload's own selector"),
        pytest.param("{app: web, tier: front}", "DoNotSchedule", 1, id="narrower than it"),
        pytest.param("{tier: front}", "DoNotSchedule", 0, id="others may have that label"),
        pytest.param("{app: api}", "DoNotSchedule", 0, id="not even this pod"),
        pytest.param("{app: web}", "ScheduleAnyway", 0, id="soft: maxSkew is only a weight"),
    ],
)
def test_what_counts(selector: str, action: str, expected: int) -> None:
    """Only a hard constraint over none but the workload's own pods can be judged."""
    found = problems("max-skew-never-binds", _manifest(selector=selector, action=action))

    assert expected == len(found)


def _manifest(
    *,
    kind: str = "Deployment",
    spec: str = "replicas: 3",
    max_skew: int = 9,
    keys: str = "",
    selector: str = "{app: web}",
    action: str = "DoNotSchedule",
) -> str:
    group = {"CloneSet": "apps.kruise.io/v1alpha1"}.get(kind, "apps/v1")
    spec = spec.replace("; ", "\n  ")
    return MANIFEST.format(
        group=group, kind=kind, spec=spec, max_skew=max_skew, keys=keys, selector=selector, action=action
    )
