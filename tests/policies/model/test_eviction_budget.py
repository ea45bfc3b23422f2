"""How many evictions a PodDisruptionBudget allows now."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import ErrorList
from policies.model.scaling import read_eviction_budget


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
    found = ErrorList()
    budget = read_eviction_budget(obj, found)

    assert [] == found.errors
    assert expected == budget.evictions(4, 4)


@pytest.mark.parametrize(
    ("policy", "always"), [({}, False), ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, True)]
)
def test_pods_that_are_not_ready(policy: dict[str, Any], *, always: bool) -> None:
    """They may be evicted whatever the budget asks for if it says so."""
    assert always == read_eviction_budget(_budget(**policy), ErrorList()).always_allows_unhealthy


@pytest.mark.parametrize("spec", [None, {}, {"selector": None}], ids=str)
def test_without_a_selector(spec: object) -> None:
    """A budget without a selector protects no pod."""
    found = ErrorList()
    budget = read_eviction_budget(_budget() | {"spec": spec}, found)

    assert ([], None) == (found.errors, budget.selector)


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"metadata": {}}, "metadata.name"),
        ({"metadata": 1}, "metadata"),
        ({"spec": []}, "spec"),
        ({"spec": {"selector": {"matchLabels": 1}}}, "spec.selector.matchLabels"),
        ({"status": {"disruptionsAllowed": "1"}}, "status.disruptionsAllowed"),
        ({"status": {"disruptedPods": []}}, "status.disruptedPods"),
    ],
)
def test_errors(changed: dict[str, Any], path: str) -> None:
    """Fields of the wrong type are recorded."""
    found = ErrorList()
    read_eviction_budget(_budget() | changed, found)

    assert path in [str(error.path) for error in found.errors]
