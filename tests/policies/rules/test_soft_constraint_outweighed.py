"""A soft constraint under a scheduler that is configured to pack nodes with more weight."""

from __future__ import annotations

from typing import Any

import pytest

from policies.scheduler.configuration import UnknownSchedulerError
from tests.builders import a_constraint, a_workload
from tests.policies.rules.documents import text_of
from tests.policies.rules.run_rules import problems
from tests.policies.rules.scheduling import a_packing_profile, a_scheduler_config

RULE = "soft-constraint-outweighed"


def found(*configs: dict[str, Any], scheduler: str | None = None) -> list[str]:
    spec: dict[str, Any] = {"topologySpreadConstraints": [a_constraint(whenUnsatisfiable="ScheduleAnyway")]}
    if scheduler is not None:
        spec["schedulerName"] = scheduler
    return [problem.message for problem in problems(RULE, text_of(a_workload(spec=spec), *configs))]


def enabled(point: str, **weights: int) -> dict[str, Any]:
    return {point: {"enabled": [{"name": name, "weight": weight} for name, weight in weights.items()]}}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param({}, 0, id="no plugins"),
        pytest.param(a_packing_profile({}), 0, id="packs with weight 1 of 2"),
        pytest.param(a_packing_profile(enabled("score", NodeResourcesFit=2)), 0, id="2 of 2"),
        pytest.param(a_packing_profile(enabled("score", NodeResourcesFit=3)), 1, id="3 of 2"),
        pytest.param(a_packing_profile(enabled("multiPoint", NodeResourcesFit=3)), 1, id="3 of 2 everywhere"),
        pytest.param(
            a_packing_profile(enabled("score", NodeResourcesFit=3, PodTopologySpread=5)), 0, id="3 of 5"
        ),
        pytest.param(
            a_packing_profile(enabled("score", NodeResourcesFit=3), strategy="LeastAllocated"),
            0,
            id="spreads the load",
        ),
        pytest.param(
            a_packing_profile({"score": {"disabled": [{"name": "NodeResourcesFit"}]}}), 0, id="packs no more"
        ),
        pytest.param(
            {"plugins": {"score": {"disabled": [{"name": "PodTopologySpread"}]}}}, 1, id="does not spread"
        ),
        pytest.param({"plugins": {"filter": {"disabled": [{"name": "*"}]}}}, 0, id="filters nothing"),
    ],
)
def test_profiles(profile: dict[str, Any], expected: int) -> None:
    """The scores and weights of the profile decide."""
    assert expected == len(found(a_scheduler_config(profile)))


def test_evidence() -> None:
    """The message has the weights, and how many points of fullness beat the best spread."""
    (message,) = found(a_scheduler_config(a_packing_profile(enabled("score", NodeResourcesFit=5))))

    assert "weight 5" in message
    assert "weight 2" in message
    assert "fuller by 41 points" in message


def test_other_schedulers() -> None:
    """A profile says something of the pods of its own name alone, and two configurations say nothing."""
    packing = a_packing_profile(enabled("score", NodeResourcesFit=5))
    config = a_scheduler_config(packing)
    both = a_scheduler_config({"schedulerName": "default-scheduler"}, packing | {"schedulerName": "batch"})

    with pytest.raises(UnknownSchedulerError, match="batch"):
        found(config, scheduler="batch")
    assert ["profile batch"] == [text.partition("but ")[2][:13] for text in found(both, scheduler="batch")]
    assert [] == found(both)
    assert [] == found(config, config)
