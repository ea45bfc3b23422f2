"""The effects of policies on the workloads that a cluster has."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from policies.admission.policy_effect import PolicyEffect, PolicyEffects
from policies.config.policy_set import PolicySet
from tests.builders import a_constraint, a_deployment, a_replica_set, a_workload
from tests.policies.config.contexts import a_context
from tests.policies.config.documents import policy_of

TODAY = date(2026, 11, 22)
GOOD, BAD = ({"topologySpreadConstraints": [a_constraint(maxSkew=skew)]} for skew in (1, 0))


def a_revision(workload: dict[str, Any], *, number: int = 1, replicas: int = 1) -> dict[str, Any]:
    """Return the ReplicaSet of a Deployment."""
    obj = a_replica_set(workload, f"hash{number}", number=number)
    obj["spec"]["replicas"] = replicas
    return obj


def effects(objects: list[dict[str, Any]], *specs: dict[str, Any]) -> list[PolicyEffect]:
    """Return the effects of policies on objects."""
    policies = PolicySet(policy_of(**spec) for spec in specs)
    counted = PolicyEffects(policies, today=TODAY)
    context = a_context(cluster=[], live=True)
    for obj in objects:
        counted.add(obj, context)
    return counted.effects()


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([a_revision(a_deployment(spec=GOOD))], (1, 0), id="a good Deployment"),
        pytest.param([a_revision(a_deployment(spec=BAD))], (1, 1), id="a bad Deployment"),
        pytest.param(
            [a_revision(a_deployment(spec=BAD), number=1), a_revision(a_deployment(spec=GOOD), number=2)],
            (1, 0),
            id="a rollout to a good template",
        ),
        pytest.param(
            [a_revision(a_deployment(spec=GOOD), number=10), a_revision(a_deployment(spec=BAD), number=9)],
            (1, 0),
            id="the same, listed the other way round",
        ),
        pytest.param([a_revision(a_deployment(spec=BAD), replicas=0)], (0, 0), id="an old revision"),
        pytest.param(
            [a_revision(a_deployment(name=name, spec=BAD)) for name in ("a", "b")],
            (2, 2),
            id="two Deployments",
        ),
        pytest.param([a_workload("StatefulSet", spec=BAD)], (1, 1), id="a StatefulSet"),
        pytest.param([{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}}], (0, 0), id="a pod"),
        pytest.param([{"kind": 3, "metadata": []}], (0, 0), id="rubbish"),
    ],
)
def test_workloads_are_counted_once(objects: list[dict[str, Any]], expected: tuple[int, int]) -> None:
    """As they would be applied, by the revision that counts."""
    assert [expected] == effects(objects, {})


def test_a_deployment_is_judged_as_one() -> None:
    """Kinds, exceptions and annotations are those of the Deployment, not of its ReplicaSet."""
    broken = a_revision(a_deployment(spec=BAD))
    exception = {"rules": ["max-skew-not-positive"], "kinds": ["Deployment"], "names": ["web"], "reason": "x"}

    assert [(1, 1), (0, 0), (1, 0)] == [
        effects([broken], spec)[0]
        for spec in (
            {"scope": {"kinds": ["Deployment"]}},
            {"scope": {"kinds": ["StatefulSet"]}},
            {"exceptions": [exception]},
        )
    ]


def test_each_policy_has_its_own_numbers() -> None:
    """Who only warns denies nothing; where no policy denies, none does."""
    broken = [a_revision(a_deployment(spec=BAD))]

    assert [(1, 0), (1, 1), (0, 0)] == effects(
        broken, {"enforcement": "warn"}, {}, {"scope": {"namespaces": ["elsewhere"]}}
    )
