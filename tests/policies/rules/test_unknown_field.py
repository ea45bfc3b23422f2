"""A list of constraints in a place where no kind of Kubernetes has one."""

from __future__ import annotations

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from tests.policies.rules.run_rules import problems

RULE = "unknown-field"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: %s
"""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            "{topologySpreadConstraints: []}", "spec.topologySpreadConstraints", id="of the workload"
        ),
        pytest.param(
            "{template: {topologySpreadConstraints: []}}",
            "spec.template.topologySpreadConstraints",
            id="beside the pod's spec",
        ),
        pytest.param(
            "{template: {spec: {affinity: {topologySpreadConstraints: []}}}}",
            "spec.template.spec.affinity.topologySpreadConstraints",
            id="in affinity",
        ),
        pytest.param(
            "{template: {spec: {containers: [{name: a}, {topologySpreadConstraints: []}]}}}",
            "spec.template.spec.containers[1].topologySpreadConstraints",
            id="in the second container",
        ),
        pytest.param(
            "{template: {spec: {topologySpreadConstraint: []}}}",
            "spec.template.spec.topologySpreadConstraint",
            id="without its s",
        ),
        pytest.param(
            "{template: {spec: {TopologySpreadConstraints: []}}}",
            "spec.template.spec.TopologySpreadConstraints",
            id="with a capital",
        ),
        pytest.param("{template: {spec: {topologySpreadConstraints: []}}}", None, id="in its place"),
        pytest.param("{template: {spec: {tolerations: [], containers: {}}}}", None, id="another t"),
        pytest.param("{template: [topologySpreadConstraints]}", None, id="a template of a wrong type"),
    ],
)
def test_places(spec: str, expected: str | None) -> None:
    """The field is told wherever it is dropped, with the place where it belongs."""
    found = [str(problem.path) for problem in problems(RULE, DEPLOYMENT % spec)]

    assert ([] if expected is None else [expected]) == found


@pytest.mark.parametrize(("version", "expected"), [("1.36", 1), ("1.37", 0)])
def test_releases(version: str, expected: int) -> None:
    """Fields of a release newer than the rules are not known."""
    context = Context(version=KubernetesVersion.parse(version))

    assert expected == len(problems(RULE, DEPLOYMENT % "{topologySpreadConstraints: []}", context))


def test_custom_resources() -> None:
    """A custom resource may have the field where its author wants it."""
    manifest = DEPLOYMENT.replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")

    assert [] == problems(RULE, manifest % "{topologySpreadConstraints: []}")
