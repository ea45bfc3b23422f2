"""Where a goal is missed, and which trial is worse."""

from __future__ import annotations

from typing import Any

import pytest

from planning.advise.goal_trial import FailureKind, PlacedReplicas, RolledOut, Trial
from planning.simulation.rollout.courses import RolloutEnd
from policies.pods.placement import prepare
from tests.builders import a_constraint
from tests.planning.goals import THREE, a_goal, context_of, workload_of

CONTEXT = context_of(THREE)
HARD, SOFT = (
    prepare(workload_of([a_constraint(whenUnsatisfiable=when)], CONTEXT), CONTEXT)
    for when in ("DoNotSchedule", "ScheduleAnyway")
)


def _placed(count: int, crowded: tuple[str, str] | None = None) -> PlacedReplicas:
    return PlacedReplicas(replicas=3, domain="a", count=count, crowded=crowded)


def _trial(count: int = 1, **fields: Any) -> Trial:
    known: dict[str, Any] = {"prepared": HARD, "placed": (_placed(count),), "fitting": 3}
    return Trial(**known | fields)


def _rollout(count: int, outcome: RolloutEnd = RolloutEnd.COMPLETE) -> tuple[RolledOut, ...]:
    return (RolledOut(replicas=3, outcome=outcome, domain="a", count=count, courses=1, exact=True),)


@pytest.mark.parametrize(
    ("trial", "expected"),
    [
        pytest.param(_trial(), None, id="reached"),
        pytest.param(_trial(2), FailureKind.LOST, id="2 of 3 in a zone"),
        pytest.param(_trial(2, fitting=2, message="0/3"), FailureKind.PENDING, id="pending is graver"),
        pytest.param(_trial(placed=(_placed(1, ("n1", "n2")),)), FailureKind.CROWDED, id="two on a node"),
        pytest.param(_trial(rollouts=_rollout(1)), None, id="rolled out"),
        pytest.param(_trial(rollouts=_rollout(2)), FailureKind.ROLLOUT, id="uneven after a rollout"),
        pytest.param(_trial(rollouts=_rollout(1, RolloutEnd.DEADLOCK)), FailureKind.ROLLOUT, id="a deadlock"),
        pytest.param(_trial(prepared=SOFT), FailureKind.UNENFORCED, id="a preference"),
    ],
)
def test_failures(trial: Trial, expected: FailureKind | None) -> None:
    """The gravest is reported."""
    failure = trial.failure(a_goal(3, 3, one_a_node=True, enforced=True))

    assert expected == (failure and failure.kind)


def test_the_worse_of_two() -> None:
    """The fuller domain counts; a trial that misses the goal is the worse."""
    goal = a_goal(3, 3, limit=2)

    assert 2 == _trial(1).worse_of(_trial(2), goal).placed[0].count
    assert 3 == _trial(1).worse_of(_trial(3), goal).placed[0].count
    assert _trial(1).worse_of(_trial(1, exact=True), goal).exact
    # One that was ended early says nothing of further replicas.
    assert 1 == len(_trial(1).worse_of(_trial(placed=()), goal).placed)


def test_shortfall() -> None:
    """Pods without a node count first, then those too many in a domain."""
    goal = a_goal(3, 3)
    trials = [_trial(), _trial(2), _trial(3), _trial(1, fitting=2, message="0/3")]

    assert trials == sorted((trials[3], *trials[:3]), key=lambda trial: trial.shortfall(goal))
