"""The form of a rollout or a scale in JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from policies.config.type_schema import Count
from policies.placement.courses import Outcome
from policies.placement.replica_pods import PodAction
from policies.reports.suggestion_answer import FieldEdit


class TracedStep(TypedDict):
    """What happens to one pod.

    Attributes:
        step: The number of the step, from 1 on.
        action: What happens.
        pod: The pod's name.
        new: Whether it is of the new revision.
        node: Where it is or was; null for a pending pod.
        message: The scheduler's FitError of a pod that stays pending; else absent.
    """

    step: Count
    action: PodAction
    pod: str
    new: bool
    node: str | None
    message: NotRequired[str]


class RolloutCourse(TypedDict):
    """One way in which it can go.

    Attributes:
        outcome: How it ends: deadlock if old pods are left over for ever.
        trace: What happens; of more than 1,000 steps the first and the last.
        steps: How many steps there are.
        pending: The pods that have no node at the end, at most 1,000.
        condition: Why the first of them has none; empty without one.
        oldPods: Pods of old revisions that are left over.
        oldPending: How many of them have no node.
        after: The pods of each domain at the end, for each constraint.
        skews: How many more pods the fullest domain has then than the emptiest.
    """

    outcome: Outcome
    trace: list[TracedStep]
    steps: Count
    pending: list[str]
    condition: str
    oldPods: Count
    oldPending: Count
    after: list[dict[str, Count]]
    skews: list[Count]


class RolloutPeak(TypedDict):
    """The worst moment of a constraint in the likely course.

    Attributes:
        step: After how many steps it was first so; 0 for the start.
        skew: How many more pods the fullest domain had than the emptiest.
        counts: The pods of each domain then.
    """

    step: Count
    skew: Count
    counts: dict[str, Count]


class RolloutChange(TypedDict):
    """A change that was verified by rolling it out.

    Attributes:
        edits: How to edit the manifest; empty if it may stay as it is.
        deletePods: Pods without a node that must be deleted besides: their controller waits for them.
        cost: What it gives up.
        worstSkews: The largest skew at the end of any course with it, for each constraint.
        exact: Whether all courses were taken.
    """

    edits: list[FieldEdit]
    deletePods: list[str]
    cost: str
    worstSkews: list[Count]
    exact: bool


class RolloutFields(TypedDict):
    """How a workload is rolled out or scaled.

    Attributes:
        kind: Which of the two.
        outcome: How the worst course ends.
        strategy: How the controller replaces pods; empty for a scale.
        placedBefore: Pods created or deleted before, so that the old revision runs whole.
        pendingBefore: Pods of the workload that had no node in the cluster, as far as is known.
        likely: The course with the first choice by name, or by the seed.
        worst: The course that ends worst; null if that is the likely one.
        peaks: The worst moment of each constraint, in the likely course and its order.
        worstSkews: The largest skew at the end of any course, for each constraint.
        worstPeaks: The largest skew on the way of any course, for each constraint, in whatever order
            controllers delete and create the pods of one step.
        courses: How many courses were taken.
        exact: Whether these are all there are.
        suggestions: Changes with which it completes.
        suggestionsTried: How many were rolled out.
        allSuggestionsTried: Whether there is none that was left out.
        assumptions: What is assumed, in sentences.
    """

    kind: Literal["rollout", "scale"]
    outcome: Outcome
    strategy: str
    placedBefore: Count
    pendingBefore: Count
    likely: RolloutCourse
    worst: RolloutCourse | None
    peaks: list[RolloutPeak]
    worstSkews: list[Count]
    worstPeaks: list[Count]
    courses: Count
    exact: bool
    suggestions: list[RolloutChange]
    suggestionsTried: Count
    allSuggestionsTried: bool
    assumptions: list[str]
