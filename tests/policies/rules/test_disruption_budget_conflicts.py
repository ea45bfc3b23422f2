"""A disruption budget that never lets go of a pod of a workload that is to be spread."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import APP, a_constraint, a_deployment
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems

RULE = "disruption-budget-conflicts"
HARD = {"topologySpreadConstraints": [a_constraint()]}


def a_budget(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": APP}, **fields},
    }


@pytest.mark.parametrize(
    ("replicas", "fields", "expected"),
    [
        pytest.param(3, {"maxUnavailable": 0}, 1, id="maxUnavailable 0"),
        pytest.param(3, {"maxUnavailable": "0%"}, 1, id="maxUnavailable 0%"),
        pytest.param(3, {"maxUnavailable": "1%"}, 0, id="maxUnavailable 1% of 3 is rounded up to 1"),
        pytest.param(3, {"minAvailable": 3}, 1, id="minAvailable 3 of 3"),
        pytest.param(3, {"minAvailable": 2}, 0, id="minAvailable 2 of 3"),
        pytest.param(2, {"minAvailable": "51%"}, 1, id="minAvailable 51% of 2 is rounded up to 2"),
        pytest.param(2, {"minAvailable": "50%"}, 0, id="minAvailable 50% of 2 is 1"),
        pytest.param(3, {"minAvailable": "100%"}, 1, id="minAvailable 100%"),
        pytest.param(0, {"minAvailable": 1}, 0, id="no replicas, nothing to let go"),
        pytest.param(3, {}, 0, id="neither"),
        pytest.param(3, {"minAvailable": "most"}, 0, id="no number"),
        pytest.param(3, {"minAvailable": 3, "selector": {"matchLabels": {"app": "api"}}}, 0, id="other pods"),
    ],
)
def test_budgets(replicas: int, fields: dict[str, Any], expected: int) -> None:
    """Only a budget that allows no eviction while all is well is reported."""
    assert expected == len(
        problems(RULE, text_of(a_deployment(replicas=replicas, spec=HARD), a_budget(**fields)))
    )


def test_several_workloads() -> None:
    """A budget over two workloads counts the replicas of both."""
    both = [a_deployment(replicas=2, spec=HARD), a_deployment(replicas=2, spec=HARD, name="web-b")]

    assert 0 == len(problems(RULE, text_of(*both, a_budget(minAvailable=2))))
    assert 2 == len(problems(RULE, text_of(*both, a_budget(minAvailable=4))))


def test_without_constraints() -> None:
    """Where nothing is to be spread, the budget is nobody's business here."""
    assert 0 == len(problems(RULE, text_of(a_deployment(), a_budget(maxUnavailable=0))))
