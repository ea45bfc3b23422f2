"""How many evictions a PodDisruptionBudget allows now."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.eviction_budget import read_eviction_budget


def _budget(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": status or {},
    }


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (_budget({"disruptionsAllowed": 2}, maxUnavailable=1), 2),
        (_budget(maxUnavailable=1), 1),
        (_budget(maxUnavailable="34%"), 2),
        (_budget(maxUnavailable="many"), 0),
        (_budget(minAvailable=3), 1),
        (_budget(minAvailable="100%"), 0),
        (_budget(minAvailable=9), 0),
    ],
)
def test_evictions(obj: dict[str, Any], expected: int) -> None:
    """The status says it, or it is computed as the controller does; four of four pods run."""
    budget = read_eviction_budget(obj)

    assert budget is not None
    assert expected == budget.evictions(4, 4)


@pytest.mark.parametrize(
    "obj",
    [{}, {"kind": "PodDisruptionBudget"}, _budget() | {"spec": None}, _budget(selector={"matchLabels": 1})],
)
def test_other_objects(obj: dict[str, Any]) -> None:
    """What is no budget, or protects nothing, is passed over."""
    assert read_eviction_budget(obj) is None
