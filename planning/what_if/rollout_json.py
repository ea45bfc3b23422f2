"""How a rollout or a scale goes, in the answer of a simulation: how it can end, and what would avoid that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Annotated, Final, Literal, NamedTuple

from planning.simulation.rollout.courses import Course, Courses, Outcome, Peak, RolloutStep
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.suggestions.given_up import GivenUp
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion
from planning.text.rollout_words import assumptions, strategy, suggestion_cost
from policies.manifests.wire import INLINE, Count
from policies.reports.terminal import both_ends

#: Steps of a trace that are listed, half of them from its start; pending pods that are named.
MOST_TRACED: Final = 1_000


class TracedStep(NamedTuple):
    """A step of a rollout."""

    step: Count  #: The number of the step, from 1 on.
    traced: Annotated[RolloutStep, INLINE]  #: The step.


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutCourse:
    """One way in which it can go."""

    course: Annotated[Course, INLINE]  #: The course.
    trace: Sequence[TracedStep]  #: What happens; of more than 1,000 steps the first and the last.
    steps: Count  #: How many steps there are.
    pending: Sequence[str]  #: The pods that have no node at the end, at most 1,000.


class RolloutChange(NamedTuple):
    """A change that was verified by rolling it out."""

    suggestion: Annotated[RolloutSuggestion, INLINE]  #: The change.
    cost: str  #: What it gives up.
    given_up: Sequence[GivenUp]  #: What it weakens or removes of DoNotSchedule constraints.


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFields:
    """How a workload is rolled out or scaled."""

    kind: Literal["rollout", "scale"]  #: Which of the two.
    outcome: Outcome  #: How the worst course ends.
    strategy: str  #: How the controller replaces pods; empty for a scale.
    placed_before: Count  #: Pods created or deleted before, so that the old revision runs whole.
    pending_before: Count  #: Pods of the workload that had no node in the cluster, as far as is known.
    likely: RolloutCourse  #: The course with the first choice by name, or by the seed.
    worst: RolloutCourse | None  #: The course that ends worst; null if that is the likely one.
    peaks: Sequence[Peak]  #: The worst moment of each constraint, in the likely course and its order.
    courses: Annotated[Courses, INLINE]  #: All courses.
    #: Changes with which it completes, or with which one that completes ends within maxSkew, those first that
    #: evict no pods; at most 3. None for a scale.
    suggestions: Sequence[RolloutChange]
    suggestions_tried: Count  #: How many were rolled out.
    all_suggestions_tried: bool  #: Whether there is none that was left out.
    assumptions: Sequence[str]  #: What is assumed, in sentences.


def rollout_fields(simulated: SimulatedRollout) -> RolloutFields:
    """Return how a workload is rolled out or scaled."""
    rollout, suggestions = simulated.rollout, simulated.suggestions
    courses = rollout.courses
    return RolloutFields(
        kind="scale" if rollout.scaled else "rollout",
        outcome=rollout.outcome,
        strategy=strategy(rollout),
        placed_before=rollout.placed,
        pending_before=len(rollout.waited_for),
        likely=_course(courses.likely),
        worst=None if courses.worst is courses.likely else _course(courses.worst),
        peaks=courses.likely.peaks,
        courses=courses,
        suggestions=[RolloutChange(each, suggestion_cost(each), each.given_up) for each in suggestions.found],
        suggestions_tried=suggestions.tried,
        all_suggestions_tried=suggestions.complete,
        assumptions=list(assumptions(rollout)),
    )


def _course(course: Course) -> RolloutCourse:
    traced = chain(*both_ends(list(enumerate(course.steps, start=1)), MOST_TRACED))
    return RolloutCourse(
        course=course,
        trace=list(starmap(TracedStep, traced)),
        steps=len(course.steps),
        pending=course.pending[:MOST_TRACED],
    )
