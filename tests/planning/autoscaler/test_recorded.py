"""The model against scale-ups of Cluster Autoscaler's own code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.for_each import for_each
from tests.planning.autoscaler.recordings import all_loops, one_loop, read_case
from tests.recorded import recorded_scale_ups

pytestmark = pytest.mark.slow


def _name(case: dict[str, Any]) -> object:
    return case["name"]


def test_recordings_are_many() -> None:
    """There are enough of them, of every kind."""
    cases = recorded_scale_ups()
    balancing = [case for case in cases if any(option["similar"] for option in case["answer"]["options"])]

    assert len(cases) >= 200
    assert sum(bool(case["answer"]["options"]) for case in cases) >= 200
    assert sum(len(case.get("loops", ())) > 2 for case in cases) >= 50
    assert len(balancing) >= 15


@for_each(recorded_scale_ups(), _name)
def test_one_loop(case: dict[str, Any]) -> None:
    """Pods that fit, options, what each expander takes, nodes of each group and reasons are the same."""
    assert case["answer"] == one_loop(read_case(case))


@for_each([case for case in recorded_scale_ups() if "loops" in case], _name)
def test_all_loops(case: dict[str, Any]) -> None:
    """Loop after loop, with nodes that are coming, the same nodes are added."""
    expected = [loop["added"] for loop in case["loops"] if loop["added"]]

    assert expected == all_loops(read_case(case))
