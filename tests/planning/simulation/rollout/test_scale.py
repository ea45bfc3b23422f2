"""Workloads are scaled up and down, and the worst skew of all choices is found."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.simulation.rollout.courses import RolloutEnd
from policies.pods.placement import PlacementError
from tests.builders import a_constraint, a_node, a_pod, a_workload
from tests.examples import examples
from tests.planning.rollouts import (
    CORDONED,
    THREE_ZONES,
    a_context,
    a_deployment,
    known_at,
    roll,
    running,
    story,
)


def test_down_to_half() -> None:
    """Of 2 2 2 three pods are left: evenly by name, 2 1 0 at worst, since every pod has one beside it."""
    context = a_context(*THREE_ZONES, *running("r1", n1=2, n2=2, n3=2))
    courses = roll(a_deployment(6, a_constraint()), context, scale=3).courses

    assert ["- n1", "- n1", "- n2"] == story(courses.likely)
    assert ((2,), (2,), True) == (courses.likely.skews, courses.worst_skews, courses.exact)


def test_doubled_up_goes_first() -> None:
    """Of 3 1 1 one pod goes: the node with three loses one, whatever the names."""
    context = a_context(*THREE_ZONES, *running("r1", n1=1, n2=3, n3=1))
    courses = roll(a_deployment(5, a_constraint()), context, scale=4).courses

    assert ["- n2"] == story(courses.likely)
    assert ((1,), True) == (courses.worst_skews, courses.exact)


def test_up() -> None:
    """New pods are of the revision that runs, and are counted with it."""
    constraint = a_constraint(matchLabelKeys=["pod-template-hash"])
    context = a_context(*THREE_ZONES, *running("r1", n1=1, n2=1))
    rollout = roll(a_deployment(2, constraint), context, scale=4)
    course = rollout.courses.likely

    assert ({"a": 1, "b": 1, "c": 0},) == course.before
    assert ({"a": 2, "b": 1, "c": 1},) == course.after
    assert (2, 0, RolloutEnd.COMPLETE) == (rollout.running, rollout.placed, rollout.outcome)


def test_up_where_none_runs() -> None:
    """The replicas of the object are placed first."""
    rollout = roll(a_deployment(2, a_constraint()), a_context(*THREE_ZONES), scale=3)

    assert (2, ["+ n3"]) == (rollout.placed, story(rollout.courses.likely))


def test_up_beyond_what_fits() -> None:
    """Pods that fit nowhere stay pending; none is left over, so nothing is deadlocked."""
    rollout = roll(a_deployment(2, a_constraint()), a_context(*CORDONED), scale=4)

    assert (RolloutEnd.PENDING, 2) == (rollout.outcome, len(rollout.courses.likely.pending))


@pytest.mark.parametrize("kind", [("ReplicaSet", "apps"), ("ReplicationController", "")])
def test_other_kinds(kind: tuple[str, str]) -> None:
    """A ReplicaSet or ReplicationController scales as the ReplicaSet of a Deployment does."""
    obj = a_workload(*kind)

    assert RolloutEnd.COMPLETE is roll(obj, a_context(*THREE_ZONES), scale=3).outcome


@pytest.mark.parametrize("obj", [a_workload("Job", "batch"), a_pod()])
def test_kinds_that_are_not_scaled(obj: dict[str, Any]) -> None:
    """The error names the kind."""
    with pytest.raises(PlacementError) as caught:
        roll(obj, a_context(*THREE_ZONES), scale=3)

    assert ["kind"] == [str(error.path) for error in caught.value.errors]


class TestWorstSkew:
    """The worst skew is that of the worst of all subsets that may go."""

    @examples(60)
    @given(
        counts=st.tuples(*[st.integers(0, 3)] * 3),
        kept=st.integers(0, 8),
        costs=st.lists(st.integers(0, 1), min_size=9, max_size=9),
    )
    def test_down(self, counts: tuple[int, int, int], kept: int, costs: list[int]) -> None:
        """Every subset is taken that leaves no pod of a lower rank while one of a higher goes."""
        pods = running("r1", **{f"n{number}": count for number, count in enumerate(counts, start=1)})
        cost = dict(zip((pod["metadata"]["name"] for pod in pods), costs, strict=False))
        context = a_context(*THREE_ZONES, *pods)
        courses = roll(
            a_deployment(9, a_constraint()), context, scale=kept, known=known_at(pods, costs)
        ).courses
        expected = _worst(pods, dict(zip(("n1", "n2", "n3"), counts, strict=True)), cost, kept)

        assert not pods or kept >= len(pods) or (True, expected) == (courses.exact, courses.worst_skews[0])


def _worst(pods: list[dict[str, Any]], crowd: dict[str, int], cost: dict[str, int], kept: int) -> int:
    def rank(pod: dict[str, Any]) -> tuple[int, int]:
        return cost[pod["metadata"]["name"]], -crowd[pod["spec"]["nodeName"]]

    skews = [0]
    for going in combinations(range(len(pods)), max(len(pods) - kept, 0)):
        stay = [pod for position, pod in enumerate(pods) if position not in going]
        if stay and going and min(map(rank, stay)) < max(rank(pods[position]) for position in going):
            continue
        left = [sum(pod["spec"]["nodeName"] == node for pod in stay) for node in crowd]
        skews.append(max(left) - min(left))
    return max(skews)


def test_many_pods() -> None:
    """Where ways to choose are too many the most unequal course is found by looking ahead one step."""
    nodes = [a_node(f"n{number:02}", f"z{number % 3}") for number in range(60)]
    pods = running("r1", **{f"n{number:02}": 1 for number in range(60)})
    courses = roll(a_deployment(60, a_constraint()), a_context(*nodes, *pods), scale=30).courses

    assert (False, (20,)) == (courses.exact, courses.worst_skews)
