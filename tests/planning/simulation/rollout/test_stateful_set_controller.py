"""StatefulSets are rolled out and scaled by ordinals as their controller does it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planning.simulation.rollout.courses import RolloutEnd
from planning.simulation.rollout.rollout import simulate_rollout
from tests.builders import a_constraint, a_node
from tests.planning.rollouts import (
    CORDONED,
    PLAIN_ROLLOUT,
    THREE_ZONES,
    a_context,
    a_stateful_set,
    names,
    ordinals,
    roll,
    story,
)

#: Three pods, one in each zone.
THREE_PODS = ordinals("n1", "n2", "n3")


def _names(obj: dict[str, Any], *cluster: dict[str, Any]) -> str:
    return " ".join(names(roll(obj, a_context(*cluster)).courses.likely))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, "-2 +2 -1 +1 -0 +0", id="from the highest ordinal down, one at a time"),
        pytest.param({"podManagementPolicy": "Parallel"}, "-2 +2 -1 +1 -0 +0", id="Parallel: likewise"),
        pytest.param({"update": {"partition": 2}}, "-2 +2", id="partition: the first two stay"),
        pytest.param({"update": {"partition": 3}}, "", id="partition: all stay"),
        pytest.param(
            {"update": {"maxUnavailable": 2}}, "-2 -1 +1 +2 -0 +0", id="two at a time, created in order"
        ),
        pytest.param(
            {"podManagementPolicy": "Parallel", "update": {"maxUnavailable": "70%"}},
            "-2 -1 +1 +2 -0 +0",
            id="70% of 3 is 2",
        ),
        pytest.param({"update": {"maxUnavailable": "1%"}}, "-2 +2 -1 +1 -0 +0", id="at least one"),
        pytest.param({"updateStrategy": {"type": "OnDelete"}}, "", id="OnDelete: nothing"),
    ],
)
def test_order(spec: dict[str, Any], expected: str) -> None:
    """Pods are deleted from the highest ordinal down, and each is created again under its name."""
    assert expected == _names(a_stateful_set(3, **spec), *THREE_ZONES, *THREE_PODS)


_ON_DELETE: dict[str, Any] = {"updateStrategy": {"type": "OnDelete"}}


@pytest.mark.parametrize(
    ("spec", "settings", "outcome"),
    [
        pytest.param(_ON_DELETE, {}, RolloutEnd.WAITS_FOR_DELETION, id="nothing is replaced"),
        pytest.param(_ON_DELETE, {"scale": 2}, RolloutEnd.COMPLETE, id="a scale is done all the same"),
        pytest.param({"update": {"partition": 3}}, {}, RolloutEnd.COMPLETE, id="a partition says so itself"),
    ],
)
def test_old_pods_that_stay(spec: dict[str, Any], settings: dict[str, Any], outcome: RolloutEnd) -> None:
    """A rollout that leaves old pods to whoever deletes them does not complete."""
    context = a_context(*THREE_ZONES, *THREE_PODS)
    found = simulate_rollout(a_stateful_set(3, **spec), context, replace(PLAIN_ROLLOUT, **settings))

    assert (outcome, outcome is RolloutEnd.COMPLETE) == (found.outcome, found.succeeds)


def test_start_ordinal() -> None:
    """``ordinals.start`` moves all of it."""
    pods = [
        pod | {"metadata": pod["metadata"] | {"name": f"web-{5 + i}"}} for i, pod in enumerate(THREE_PODS)
    ]
    obj = a_stateful_set(3, ordinals={"start": 5}, update={"partition": 1})

    assert "-7 +7 -6 +6" == _names(obj, *THREE_ZONES, *pods)


@pytest.mark.parametrize(("start", "first"), [(2**31 - 1, "2147483647"), (2**31, "0"), ("5", "0"), (-1, "0")])
def test_large_start_ordinal(start: object, first: str) -> None:
    """The largest ordinal is one; what no API server stores is read as absent."""
    obj = a_stateful_set(2, ordinals={"start": start}, update={"partition": "1"})
    course = roll(obj, a_context(*THREE_ZONES)).courses.likely

    assert (RolloutEnd.COMPLETE, f"+{first}") == (course.outcome, names(course)[-1])


def test_ordinals_of_an_old_number() -> None:
    """Missing pods are created and surplus ones deleted before anything is replaced."""
    assert "-2 -1 +1 -0 +0" == _names(a_stateful_set(2), *THREE_ZONES, *THREE_PODS)
    assert "+3 -2 +2 -1 +1 -0 +0" == _names(a_stateful_set(4), *THREE_ZONES, *THREE_PODS)


def test_two_at_a_time() -> None:
    """Each pod that becomes ready again lets another one go, the highest outdated ordinal first."""
    pods = ordinals("n1", "n2", "n3", "n1")
    obj = a_stateful_set(4, podManagementPolicy="Parallel", update={"maxUnavailable": 2})

    assert "-3 -2 +2 +3 -1 +1 -0 +0" == _names(obj, *THREE_ZONES, *pods)


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_waits_for_a_pending_pod(policy: str) -> None:
    """A pod whose place is lost keeps all others at the old revision.

    The counts are 1 1 0 without web-2, and only the cordoned zone c may have another pod.
    """
    context = a_context(*CORDONED, *THREE_PODS)
    obj = a_stateful_set(3, a_constraint(), podManagementPolicy=policy)
    course = roll(obj, context).courses.likely

    assert ["- old n3", "+ pending"] == story(course)
    assert (RolloutEnd.DEADLOCK, 2, ("web-2",)) == (course.outcome, course.old, course.pending)


def test_parallel_does_not_wait_to_create() -> None:
    """Where none runs, Parallel creates all at once; OrderedReady stops at the first pending pod."""
    nodes = [a_node("n1", "a"), a_node("n2", "b", unschedulable=True)]
    ordered = roll(a_stateful_set(0, a_constraint()), a_context(*nodes), scale=3)
    parallel = roll(
        a_stateful_set(0, a_constraint(), podManagementPolicy="Parallel"), a_context(*nodes), scale=3
    )

    assert ["+0", "+1"] == names(ordered.courses.likely)
    assert ["+0", "+1", "+2"] == names(parallel.courses.likely)
    assert (RolloutEnd.PENDING, RolloutEnd.PENDING) == (ordered.outcome, parallel.outcome)


@pytest.mark.parametrize(("replicas", "expected"), [(1, "-2 -1"), (3, ""), (5, "+3 +4"), (0, "-2 -1 -0")])
def test_scale(replicas: int, expected: str) -> None:
    """Pods go from the highest ordinal down, and come from the lowest free one up."""
    context = a_context(*THREE_ZONES, *THREE_PODS)
    rollout = roll(a_stateful_set(3, a_constraint()), context, scale=replicas)

    assert expected == " ".join(names(rollout.courses.likely))
    assert (RolloutEnd.COMPLETE, True) == (rollout.outcome, rollout.courses.exact)


def test_partition_where_none_runs() -> None:
    """The old revision is placed first; what the partition covers stays of it."""
    rollout = roll(a_stateful_set(3, a_constraint(), update={"partition": 1}), a_context(*THREE_ZONES))

    assert 3 == rollout.placed
    assert ["-2", "+2", "-1", "+1"] == names(rollout.courses.likely)
    assert 1 == rollout.courses.likely.old
