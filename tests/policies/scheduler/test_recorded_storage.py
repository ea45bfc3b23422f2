"""Volumes and preemption against kube-scheduler's own verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from policies.scheduler.evaluate import evaluate, evaluate_unless_feasible
from policies.scheduler.result import SchedulingResult
from tests.policies.scheduler.clusters import a_request, objects_of, with_storage
from tests.recorded import recorded_storage


@pytest.mark.slow
def test_recorded_verdicts() -> None:
    """Nodes, totals, conditions, nominated nodes and victims are those of kube-scheduler 1.36."""
    recorded = list(recorded_storage())
    different = [case["name"] for case in recorded if not _agrees(_result(case), case["expected"])]

    assert (1200, []) == (len(recorded), different)


@pytest.mark.slow
def test_only_what_fits_nowhere_has_a_result() -> None:
    """Asked whether a pod fits nowhere, the engine finds the same as its filters do for all nodes."""
    results = [(_result(case, filters_only=True), _unless_feasible(case)) for case in recorded_storage()]
    fitting = [alone for result, alone in results if result.feasible.any()]
    unfit = [
        (_told(result), alone and _told(alone)) for result, alone in results if not result.feasible.any()
    ]

    assert {None} == set(fitting)
    assert (len(fitting) > 100, len(unfit) > 100) == (True, True)
    assert [] == [pair for pair in unfit if pair[0] != pair[1]]


def _unless_feasible(case: dict[str, Any]) -> SchedulingResult | None:
    index = with_storage(objects_of(case))
    return evaluate_unless_feasible(a_request(case["pod"], {}, index), index)


def _told(result: SchedulingResult) -> tuple[object, ...]:
    return result.message, result.condition, result.preemption


def _result(case: dict[str, Any], *, filters_only: bool = False) -> SchedulingResult:
    index = with_storage(objects_of(case))
    return evaluate(a_request(case["pod"], {}, index), index, filters_only=filters_only)


def _agrees(result: SchedulingResult, expected: dict[str, Any]) -> bool:
    nodes = {name: _node(result, at) for at, name in enumerate(result.names)}
    same = all(_covers(nodes[name], wanted) for name, wanted in expected["nodes"].items())
    best = [result.names[at] for at in result.best]
    return (
        same
        and best == expected["best"]
        and result.condition == expected.get("condition", "")
        and _preempts(result, expected.get("preemption"))
    )


def _preempts(result: SchedulingResult, expected: dict[str, Any] | None) -> bool:
    found = result.preemption
    if expected is None or found is None:
        return not (expected or {}).get("nominated") and (found is None or not found.nominated)
    victims = {name: list(pods) for name, pods in found.victims.items()}
    return sorted(found.nominated) == expected["nominated"] and expected.get("victims") in (None, victims)


def _node(result: SchedulingResult, at: int) -> dict[str, Any]:
    """Return a node in the shape of the corpus, with the first rejection alone."""
    if result.feasible[at]:
        return {"feasible": True, "total": int(result.total[at])}
    found = next((each for each in result.rejections if each.of_node[at]), None)
    if found is None:
        return {"feasible": False}
    reason = found.reasons[found.of_node[at] - 1]
    rejection = {"reason": str(reason), "code": str(reason.code)}
    return {"feasible": False, "rejections": {str(found.plugin): rejection}}


def _covers(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return found | wanted == found
