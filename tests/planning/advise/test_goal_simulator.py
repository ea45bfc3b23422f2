"""Whether a workload reaches a goal, by placing and rolling out its replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from planning.advise.goal import Goal
from planning.advise.goal_simulator import GoalSimulator
from planning.advise.goal_trial import Trial
from planning.simulation.rollout.courses import RolloutEnd
from policies.pods.known_pods import UNREAD_PODS
from tests.builders import a_constraint, a_node, a_pod
from tests.planning.goals import ONE_CPU, THREE, Object, a_goal, context_of, groups_of, workload_of

OF_REVISION: Object = {"matchLabelKeys": ["pod-template-hash"]}


def _trial(
    objects: Sequence[Object],
    goal: Goal,
    spread: list[Object],
    added: dict[str, int] | None = None,
    **spec: Any,
) -> Trial:
    context = context_of(objects)
    workload = workload_of(spread, context, **spec)
    return GoalSimulator(workload, context, UNREAD_PODS, goal, groups_of(context, **(added or {}))).run(
        workload
    )


@pytest.mark.parametrize(
    ("skew", "expected"),
    [
        pytest.param(1, [1, 2, 2, 2, 3, 3], id="maxSkew 1"),
        pytest.param(2, [2, 2, 3, 3, 3, 4], id="maxSkew 2"),
    ],
)
def test_the_worst_of_all_ways(skew: int, expected: list[int]) -> None:
    """The worst that maxSkew allows is found, also where the minimum must be raised first: 4, 2 and 2."""
    # Without requests the nodes are the same to every score: all are tied that the constraint allows.
    nothing = {"requests": {"cpu": "0", "memory": "0"}}
    containers = [{"name": "c", "image": "web:1", "resources": nothing}]
    trial = _trial(THREE, a_goal(3, 8, limit=8), [a_constraint(maxSkew=skew)], containers=containers)

    assert expected == [placed.count for placed in trial.placed]


def test_the_workloads_own_pods() -> None:
    """They are left out with what they take: the new template replaces them."""
    pods = [a_pod(name=f"web-{at}", spec={"nodeName": "n1", "containers": ONE_CPU}) for at in range(4)]
    trial = _trial([*THREE, *pods], a_goal(3, 3), [a_constraint(**OF_REVISION)], containers=ONE_CPU)

    assert trial.failure(a_goal(3, 3)) is None


def test_added_nodes() -> None:
    """They come for pods that are pending alone."""
    goal = a_goal(3, 3)
    hard = _trial(THREE[:2], goal, [a_constraint(minDomains=3, **OF_REVISION)], {"c": 1})
    soft = _trial(THREE[:2], goal, [a_constraint(whenUnsatisfiable="ScheduleAnyway")], {"c": 1})

    assert (1, None) == (hard.added, hard.failure(goal))
    assert (0, 2) == (soft.added, soft.placed[0].count)


@pytest.mark.parametrize(
    ("cpu", "fields", "outcome", "count"),
    [
        pytest.param("1", OF_REVISION, RolloutEnd.COMPLETE, 1, id="even"),
        pytest.param("1", {}, RolloutEnd.COMPLETE, 2, id="uneven, since pods of the old revision count"),
        pytest.param("3", OF_REVISION, RolloutEnd.DEADLOCK, 1, id="no node has room for one more"),
    ],
)
def test_rollouts(cpu: str, fields: Object, outcome: RolloutEnd, count: int) -> None:
    """One that deadlocks, or ends unevenly, misses the goal, though all replicas fit."""
    goal = a_goal(3, 3)
    containers = [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}]
    trial = _trial(THREE, goal, [a_constraint(**fields)], containers=containers)

    assert [(outcome, count)] == [(rollout.outcome, rollout.count) for rollout in trial.rollouts]
    assert (trial.failure(goal) is None) is ((outcome, count) == (RolloutEnd.COMPLETE, 1))


def test_usable_domains() -> None:
    """A zone counts if a pod could go there, with what an autoscaler adds."""
    context = context_of([*THREE[:2], a_node("n3", "c", unschedulable=True)])
    workload = workload_of(None, context)

    assert {"a", "b"} == set(GoalSimulator(workload, context, UNREAD_PODS, a_goal()).usable_domains(workload))
    groups = groups_of(context, d=1)
    assert {"a", "b", "d"} == set(
        GoalSimulator(workload, context, UNREAD_PODS, a_goal(), groups).usable_domains(workload)
    )
