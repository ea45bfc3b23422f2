"""Rollouts and scales beside what the controllers of a real control plane did."""

from __future__ import annotations

from typing import Any

import pytest

from planning.simulation.rollout.rollout import Rollout, simulate_rollout
from planning.simulation.rollout.rollout_start import RolloutSettings
from tests.for_each import for_each
from tests.planning.recorded_rollouts import SEEDS, RecordedCluster, different
from tests.planning.rollouts import story
from tests.recorded import recorded_rollouts

#: Where several pods became ready at once, so that old ones went in groups: rollouts let one after another.
TIMING = {"rolling-13": {"domains"}}


@pytest.mark.slow
@for_each(recorded_rollouts().values(), name=lambda record: record["name"])
def test_recorded(record: dict[str, Any]) -> None:
    """Outcome, pending pods, message, old pods, domains within the choices, and skews within their bounds."""
    known = TIMING.get(record["name"], set())

    # What no choice ends at is not tried with them all: that takes longer than all other records together.
    assert known == set(different(record, seeds=2 if known else SEEDS))


def _rolled_out(name: str, **settings: Any) -> Rollout:
    record = recorded_rollouts()[name]
    cluster = RecordedCluster.read(record)
    given = RolloutSettings(known=cluster.known, **settings)
    return simulate_rollout(record["workload"], cluster.context, given)


@pytest.mark.parametrize("name", ["third-2", "third-3", "third-4", "third-7"])
def test_a_stuck_rollout_is_not_refilled(name: str) -> None:
    """Pods that a rollout has deleted stay deleted: its ReplicaSets want no more pods than they have."""
    assert 0 == _rolled_out(name).placed


def test_an_ordered_set_waits_for_an_old_pod() -> None:
    """The pod that waits for a node is neither replaced nor created again, though the new one would fit."""
    rollout = _rolled_out("stspending-2")

    assert (2, 1, []) == (rollout.running, len(rollout.waited_for), story(rollout.courses.likely))


def test_a_pod_that_is_taken_to_be_deleted() -> None:
    """Without it the controller creates the new one."""
    rollout = _rolled_out("stspending-2", without=frozenset({"web-2"}))

    assert "+ n-a1" == story(rollout.courses.likely)[0]


@pytest.mark.parametrize(("replicas", "expected"), [(8, False), (9, True)], ids=["as it is", "one more"])
def test_another_size_on_the_way(replicas: int, *, expected: bool) -> None:
    """A rollout that is under way is not scaled first; that its controller does so is said."""
    record = recorded_rollouts()["third-7"]
    cluster, workload = RecordedCluster.read(record), record["workload"]
    obj = workload | {"spec": workload["spec"] | {"replicas": replicas}}
    rollout = simulate_rollout(obj, cluster.context, RolloutSettings(known=cluster.known))

    assert (expected, 0) == (rollout.resized, rollout.placed)
