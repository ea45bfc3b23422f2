"""A constraint that counts the pods of the old and the new revision together."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.rules.base import Context
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "revision-key-missing"
SPREAD = {"topologySpreadConstraints": [a_constraint()]}


def a_rollout(kind: str = "Deployment", group: str = "apps", /, **fields: Any) -> dict[str, Any]:
    workload = a_workload(kind, group, spec=SPREAD)
    workload["spec"] |= {"replicas": 3} | fields
    return workload


def a_scaler(least: int, most: int) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most},
    }


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(a_rollout(), ["pod-template-hash"], id="Deployment of 3"),
        pytest.param(
            a_rollout("Rollout", "argoproj.io"),
            ["rollouts-pod-template-hash"],
            id="Rollout has its own label",
        ),
        pytest.param(a_rollout("StatefulSet"), [], id="StatefulSet replaces pods one for one"),
        pytest.param(a_rollout(replicas=1), [], id="1 replica"),
        pytest.param(a_rollout(strategy={"type": "Recreate"}), [], id="Recreate"),
        pytest.param(a_rollout(strategy={"rollingUpdate": {"maxSurge": 0}}), [], id="maxSurge 0"),
        pytest.param(a_rollout(strategy={"rollingUpdate": {"maxSurge": "0%"}}), [], id="maxSurge 0%"),
        pytest.param(
            a_rollout(strategy={"rollingUpdate": {"maxSurge": 1}}), ["pod-template-hash"], id="maxSurge 1"
        ),
        pytest.param(a_rollout(strategy="fast"), ["pod-template-hash"], id="strategy of a wrong type"),
    ],
)
def test_workloads(workload: dict[str, Any], expected: list[str]) -> None:
    """Only workloads that run two revisions side by side are asked for the label of their controller."""
    added = [
        key for problem in problems(RULE, text_of(workload)) for edit in problem.edits for key in edit.new
    ]

    assert expected == added


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"matchLabelKeys": ["pod-template-hash"]}, [], id="has it"),
        pytest.param({"matchLabelKeys": ["tier"]}, [["tier", "pod-template-hash"]], id="keeps other keys"),
        pytest.param({"matchLabelKeys": ["app.kubernetes.io/version"]}, [], id="tells versions apart"),
        pytest.param({"matchLabelKeys": []}, [["pod-template-hash"]], id="empty list"),
        pytest.param({"labelSelector": None}, [], id="no selector: the field would be refused"),
        pytest.param({"labelSelector": {}}, [], id="empty selector"),
        pytest.param({"maxSkew": 2}, [["pod-template-hash"]], id="maxSkew 2 of 3 pods"),
        pytest.param({"maxSkew": 3}, [], id="maxSkew 3: 3 pods have no larger skew"),
        pytest.param({"labelSelector": {"matchLabels": {"app": "api"}}}, [], id="another rule's selector"),
    ],
)
def test_constraints(fields: dict[str, Any], expected: list[list[str]]) -> None:
    """The edit adds to the keys that are there, where the field may stand."""
    workload = a_workload(spec={"topologySpreadConstraints": [a_constraint(**fields)]})
    workload["spec"]["replicas"] = 3

    assert expected == [edit.new for problem in problems(RULE, text_of(workload)) for edit in problem.edits]


@pytest.mark.parametrize(("name", "expected"), [("web", 0), ("api", 1)])
def test_a_template_that_a_rollout_uses(name: str, expected: int) -> None:
    """No pod of it is a Deployment's."""
    rollout = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "rollout", "namespace": "shop"},
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}},
    }

    assert expected == len(problems(RULE, text_of(a_rollout(), rollout)))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["part-of"], 0, id="all of the suite together"),
        pytest.param(["part-of", "instance"], 0, id="all of one installation together"),
        pytest.param(["part-of", "component"], 1, id="the workload's own selector and more"),
        pytest.param(["instance"], 1, id="nothing says that it is meant"),
    ],
)
def test_meant_together(keys: list[str], expected: int) -> None:
    """Nobody is told to take workloads apart that are spread together on purpose."""
    labels = {f"app.kubernetes.io/{key}": "x" for key in ("part-of", "instance", "component")}
    selector = {"matchLabels": {f"app.kubernetes.io/{key}": "x" for key in keys}}
    workload = a_rollout(selector={"matchLabels": {"app.kubernetes.io/component": "x"}})
    workload["spec"]["template"]["metadata"]["labels"] = labels
    workload["spec"]["template"]["spec"]["topologySpreadConstraints"] = [a_constraint(labelSelector=selector)]

    assert expected == len(problems(RULE, text_of(workload)))


@pytest.mark.parametrize(
    ("scaler", "expected"),
    [
        pytest.param(a_scaler(1, 1), 0, id="at most 1"),
        pytest.param(a_scaler(1, 5), 1, id="1 to 5"),
    ],
)
def test_an_autoscaler_decides(scaler: dict[str, Any], expected: int) -> None:
    """The most replicas that an autoscaler allows count, not those of the manifest."""
    assert expected == len(problems(RULE, text_of(a_rollout(replicas=1), scaler)))


@pytest.mark.parametrize(("version", "expected"), [("1.26", 0), ("1.27", 1)])
def test_releases(version: str, expected: int) -> None:
    """Releases before 1.27 drop the field."""
    context = Context(version=KubernetesVersion.parse(version))

    assert expected == len(problems(RULE, text_of(a_rollout()), context))


@pytest.mark.parametrize(("key", "expected"), [("topology.kubernetes.io/zone", 0), ("disk", 1)])
def test_pods_held_to_one_domain(key: str, expected: int) -> None:
    """Pods that a node selector holds to one zone have no skew over zones."""
    workload = a_rollout()
    workload["spec"]["template"]["spec"]["nodeSelector"] = {key: "a"}

    assert expected == len(problems(RULE, text_of(workload)))
