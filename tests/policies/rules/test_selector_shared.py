"""A constraint that counts the pods of another application too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "selector-shared"
NAME, PART, INSTANCE = (f"app.kubernetes.io/{word}" for word in ("name", "component", "instance"))


def found(
    web: dict[str, str],
    other: dict[str, str],
    *,
    constraint: dict[str, Any],
    kind: str = "Deployment",
    name: str = "worker",
    namespace: str | None = "shop",
) -> int:
    """Return how many problems the first of two workloads has."""
    group = "batch" if kind == "Job" else "apps"
    around: dict[str, Any] = {} if namespace is None else {"namespace": namespace}
    spec = {"topologySpreadConstraints": [a_constraint(**constraint)]}
    workloads = [
        a_workload(labels=web, spec=spec, **around),
        a_workload(kind, group, labels=other, name=name, **around),
    ]
    if namespace is None:
        for workload in workloads:
            del workload["metadata"]["namespace"]
    return len(problems(RULE, text_of(*workloads)))


BY_NAME = {"labelSelector": {"matchLabels": {NAME: "shop"}}}
WEB, WORKER = {NAME: "shop", PART: "web"}, {NAME: "shop", PART: "worker"}


@pytest.mark.parametrize(
    ("web", "other", "expected"),
    [
        pytest.param(WEB, WORKER, 1, id="components differ"),
        pytest.param(WEB, {NAME: "shop"}, 1, id="the other has no component"),
        pytest.param(WEB, WEB, 0, id="the same application"),
        pytest.param(WEB, WEB | {"track": "canary"}, 0, id="another track of the same application"),
        pytest.param(WEB, {NAME: "bank", PART: "web"}, 0, id="not selected"),
    ],
)
def test_applications(web: dict[str, str], other: dict[str, str], expected: int) -> None:
    """Labels that name an application tell two apart; others do not."""
    assert expected == found(web, other, constraint=BY_NAME)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param({"kind": "StatefulSet"}, 1, id="StatefulSet"),
        pytest.param({"kind": "DaemonSet"}, 1, id="DaemonSet"),
        pytest.param({"kind": "Job"}, 0, id="the pods of a Job go"),
        pytest.param({"name": "web-canary"}, 0, id="canary by name"),
        pytest.param({"name": "web-primary"}, 0, id="primary by name"),
    ],
)
def test_others(other: dict[str, str], expected: int) -> None:
    """Variants of the application and Jobs are left alone."""
    assert expected == found(WEB, WORKER, constraint=BY_NAME, **other)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param({"matchLabelKeys": ["pod-template-hash"]}, 0, id="a revision belongs to one workload"),
        pytest.param({"matchLabelKeys": [PART]}, 0, id="narrowed by what differs"),
        pytest.param({"matchLabelKeys": ["absent"]}, 1, id="a key that the pod lacks narrows nothing"),
        pytest.param({"labelSelector": {}}, 0, id="empty: another rule's finding"),
        pytest.param({"labelSelector": {"matchLabels": {NAME: "bank"}}}, 0, id="misses its own pod"),
    ],
)
def test_constraints(constraint: dict[str, Any], expected: int) -> None:
    """The pods that the scheduler would count decide."""
    assert expected == found(WEB, WORKER, constraint=BY_NAME | constraint)


def test_meant_together() -> None:
    """Who selects what is part of an application means all of it."""
    together = {"app.kubernetes.io/part-of": "shop"}

    assert 0 == found(
        WEB | together, WORKER | together, constraint={"labelSelector": {"matchLabels": together}}
    )


@pytest.mark.parametrize(
    ("instances", "expected"),
    [
        pytest.param(("a", "a"), 1, id="one installation"),
        pytest.param(("a", "b"), 0, id="two installations"),
    ],
)
def test_without_namespace(instances: tuple[str, str], expected: int) -> None:
    """Manifests without a namespace may end up in different ones, unless they are of one installation."""
    web, worker = (
        labels | {INSTANCE: instance} for labels, instance in zip((WEB, WORKER), instances, strict=True)
    )

    assert expected == found(web, worker, constraint=BY_NAME, namespace=None)
    assert 0 == found(WEB, WORKER, constraint=BY_NAME, namespace=None)


def test_one_selector_is_reported_once(wording: Callable[[str], str]) -> None:
    """Constraints that count the same pods share one finding, with the labels that differ."""
    constraints = [a_constraint(**BY_NAME), a_constraint(**BY_NAME, topologyKey="kubernetes.io/hostname")]
    web = a_workload(labels=WEB, spec={"topologySpreadConstraints": constraints})
    (problem,) = problems(RULE, text_of(web, a_workload(labels=WORKER, name="worker")))

    assert wording(problem.message) == problem.message


def test_pods_of_helm_test() -> None:
    """A pod that only ``helm test`` makes is not there while the release runs."""
    constraint = a_constraint(**BY_NAME)
    web = a_workload(labels=WEB, spec={"topologySpreadConstraints": [constraint]})
    test = a_workload(labels=WORKER, name="test-connection")

    assert len(problems(RULE, text_of(web, test))) == 1
    test["metadata"]["annotations"] = {"helm.sh/hook": "test"}
    assert not problems(RULE, text_of(web, test))
