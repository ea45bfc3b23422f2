"""The laws of every rollout, whatever the cluster, the strategy and the choices."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planning.simulation.rollout import rollout_plan
from planning.simulation.rollout.choices import Choices, Explored, ScriptedChoices
from planning.simulation.rollout.courses import Course, Courses, PodAction, RolloutEnd, Runner, find_courses
from planning.simulation.rollout.rollout import Rollout
from policies.scheduler.evaluate import evaluate
from tests.builders import a_constraint, a_node
from tests.examples import examples
from tests.planning.rollouts import (
    THREE_ZONES,
    a_context,
    a_deployment,
    a_stateful_set,
    roll,
    running,
)


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw up to four nodes in up to three zones, some cordoned, with room for few pods."""
    nodes = []
    for number in range(draw(st.integers(1, 4))):
        node = a_node(f"n{number}", draw(st.sampled_from("abc")), unschedulable=draw(st.integers(0, 4)) == 0)
        room = str(draw(st.integers(1, 4)))
        nodes.append(node | {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": room}}})
    return nodes


@st.composite
def constraints(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a constraint over zones or nodes, hard or soft, of one revision or of all."""
    return a_constraint(
        maxSkew=draw(st.integers(1, 2)),
        topologyKey=draw(st.sampled_from(["topology.kubernetes.io/zone", "kubernetes.io/hostname"])),
        whenUnsatisfiable=draw(st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"])),
        matchLabelKeys=draw(st.sampled_from([None, ["pod-template-hash"]])),
    )


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a Deployment of up to four replicas."""
    limits = draw(st.sampled_from([(0, 1), (1, 0), (1, 1), (0, 2), (2, 2), ("25%", "25%"), ("50%", "0%")]))
    return a_deployment(draw(st.integers(0, 4)), draw(constraints()), unavailable=limits[0], surge=limits[1])


class TestRolloutOfADeployment:
    """ "The total number of Pods is at most 125% of desired, the unavailable ones at most 25%": docs."""

    @examples(150)
    @given(
        obj=deployments(),
        nodes=clusters(),
        placed=st.lists(st.integers(0, 3), max_size=4),
        seed=st.none() | st.integers(0, 9),
    )
    def test_limits(
        self, obj: dict[str, Any], nodes: list[dict[str, Any]], placed: list[int], seed: int | None
    ) -> None:
        """Never more than replicas and surge, never fewer available than may be or than there were."""
        counts = {f"n{number}": placed.count(number) for number in range(len(nodes))}
        context = a_context(*nodes, *running("old", **counts))
        choose = (lambda tied: tied[0]) if seed is None else random.Random(seed).choice
        rollout = roll(obj, context, choose=choose)

        assert rollout.update is not None
        for course in (rollout.courses.likely, rollout.courses.worst):
            _within_limits(course, rollout)
            _ends_well(course, rollout)

    @examples(60)
    @given(obj=deployments(), nodes=clusters())
    def test_counts(self, obj: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        """The counts that were followed are those of an evaluation at the end."""
        rollout = roll(obj, a_context(*nodes))
        course = rollout.courses.likely
        (result,) = evaluate(rollout.prepared.request, course.cluster).results
        domains = result.domains
        found = {domains.values[each]: int(domains.matching[each]) for each in domains.existing()}

        assert found == course.after[0]
        assert course.peaks[0].skew >= course.skews[0]
        if course.steps:
            assert course.skews == course.steps[-1].skews
            assert course.peaks[0].skew >= max(step.skews[0] for step in course.steps)


def _within_limits(course: Course, rollout: Rollout) -> None:
    """Replay a course."""
    update = rollout.update
    assert update is not None
    pods = {step.pod for step in course.steps if not step.new}
    total = rollout.replicas
    bound = start = sum(step.node is not None for step in course.steps if not step.new) + _left_bound(course)
    for step in course.steps:
        total += {PodAction.CREATED: 1, PodAction.DELETED: -1, PodAction.SCHEDULED: 0}[step.action]
        bound += 0 if step.node is None else -1 if step.action is PodAction.DELETED else 1

        assert total <= rollout.replicas + update.surge
        assert bound >= min(start, rollout.replicas - update.unavailable)
        assert step.action is PodAction.DELETED or step.pod not in pods or step.node is not None


def _left_bound(course: Course) -> int:
    """Return the old pods with a node that are left at the end."""
    return course.old - sum("previous" in name for name in course.pending)


def _ends_well(course: Course, rollout: Rollout) -> None:
    """Complete means complete, and stuck means that a pod is pending."""
    new = sum(
        {PodAction.CREATED: 1, PodAction.DELETED: -1, PodAction.SCHEDULED: 0}[step.action]
        for step in course.steps
        if step.new
    )
    if course.outcome is RolloutEnd.COMPLETE:
        assert (0, rollout.replicas, ()) == (course.old, new, course.pending)
    else:
        assert course.pending
        assert course.message
    assert (course.outcome is RolloutEnd.DEADLOCK) == bool(course.old)


#: How a course ends: its outcome, and the pods of each domain.
End: TypeAlias = tuple[RolloutEnd, tuple[Mapping[str, int], ...]]


class _Nothing(set[Hashable]):
    """A set that never has anything."""

    def __contains__(self, item: object) -> bool:
        return False


class TestAllCourses:
    """ "Exact" means that there is no other way to choose."""

    @examples(40)
    @given(obj=deployments(), nodes=clusters())
    @example(obj=a_deployment(4, a_constraint(), unavailable=1, surge=1), nodes=THREE_ZONES)
    @example(obj=a_deployment(3, unavailable=1, surge=1), nodes=[*THREE_ZONES, a_node("n4", "a")])
    def test_against_every_course(self, obj: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        """A search that skips what it has seen finds every end that one finds that skips nothing."""
        runners: list[Runner] = []

        def find(run: Runner, nodes: int, likely: Choices) -> Courses:
            runners.append(run)
            return find_courses(run, nodes, likely)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rollout_plan, "find_courses", find)
            courses = roll(obj, a_context(*nodes)).courses
        everything, found = _ends(runners[0], _Nothing()), _ends(runners[0], set())

        assert courses.exact
        assert everything == found
        assert (courses.worst.outcome, courses.worst.after) in found
        assert courses.worst.outcome == max(found, key=lambda end: list(RolloutEnd).index(end[0]))[0]

    @examples(40)
    @given(obj=deployments(), nodes=clusters(), seed=st.integers(0, 99))
    def test_random_courses(self, obj: dict[str, Any], nodes: list[dict[str, Any]], seed: int) -> None:
        """No random course ends worse than the worst one."""
        context = a_context(*nodes)
        worst = roll(obj, context).courses
        choose = random.Random(seed).choice
        course = roll(obj, context, choose=choose).courses.likely

        assert course.badness <= worst.worst.badness
        assert all(skew <= most for skew, most in zip(course.skews, worst.worst_skews, strict=True))


def _ends(run: Runner, seen: set[Hashable]) -> list[End]:
    """Return how all courses can end."""
    ends: list[End] = []
    script: list[int] | None = []
    while script is not None:
        choices = ScriptedChoices(script, seen)
        with suppress(Explored):
            course = run(choices)
            end = (course.outcome, course.after)
            if end not in ends:
                ends.append(end)
        script = choices.next_script()
    return ends


@st.composite
def stateful_sets(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a StatefulSet of up to four replicas."""
    unavailable = draw(st.none() | st.integers(1, 3))
    update = {"partition": draw(st.integers(0, 4))} | ({"maxUnavailable": unavailable} if unavailable else {})
    spec = {"podManagementPolicy": "Parallel"} if draw(st.booleans()) else {}
    return a_stateful_set(draw(st.integers(0, 4)), draw(constraints()), update=update, **spec)


class TestRolloutOfAStatefulSet:
    """ "The maximum number of pods that can be unavailable during the update. Defaults to 1": the API."""

    @examples(80)
    @given(obj=stateful_sets(), nodes=clusters())
    def test_limits(self, obj: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        """Never more pods are missing than may be unavailable, and the partition keeps its revision."""
        rollout = roll(obj, a_context(*nodes))
        course, update = rollout.courses.likely, rollout.stateful
        assert update is not None
        missing = 0
        for step in course.steps:
            missing += {PodAction.CREATED: -1, PodAction.DELETED: 1, PodAction.SCHEDULED: 0}[step.action]

            assert missing <= (update.unavailable or 1)
        if course.outcome is RolloutEnd.COMPLETE:
            assert min(update.partition, rollout.replicas) == course.old
        else:
            assert course.pending
