"""How a rollout or a scale can go: the likely course, and the worst of those that other choices lead to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from planning.simulation.cluster_simulation import QueuedPod
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.rollout.choices import (
    Choices,
    Explored,
    ScriptedChoices,
    SkewingChoices,
)
from policies.manifests.wire import INTERNAL, OPTIONAL, Count, SentAs, sent
from policies.model.pod_volumes import LostVolume
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.index import ClusterIndex
from policies.scheduler.request import SchedulingRequest

#: Courses that a search takes at most, and steps of all of them together, each as dear as so many nodes more
#: than there are: together about half a second.
MOST_COURSES: Final = 500
MOST_COST: Final = 1_500_000
NODES_OF_A_STEP: Final = 1_000
#: Constraints for which the most unequal course is looked for where there are too many courses to take all.
MOST_SKEWED: Final = 2


class RolloutEnd(StrEnum):
    """How a course ends, the best end first."""

    COMPLETE = "complete"
    #: Old pods stay until someone deletes them (``OnDelete``).
    WAITS_FOR_DELETION = "waitsForDeletion"
    PENDING = "pending"
    DEADLOCK = "deadlock"


_ORDER: Final = {outcome: order for order, outcome in enumerate(RolloutEnd)}


class PodAction(StrEnum):
    """The action on a pod."""

    CREATED = "created"
    SCHEDULED = "scheduled"
    DELETED = "deleted"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStep:
    """One step of a rollout: the action on one pod."""

    action: PodAction  #: What happens.
    pod: str  #: The pod's name.
    new: bool  #: Whether it is of the new revision.
    skews: tuple[Count, ...]  #: The skew of each constraint of the new revision after it.
    #: The node that it was bound to, or deleted or evicted from; None while it is pending.
    node: str | None = None
    #: What the scheduler decides; None for a deletion.
    decision: Annotated[SchedulingAttempt | None, INTERNAL] = None
    #: The pod that it was evicted for, as namespace/name; None if it was not.
    evicted_for: Annotated[str | None, OPTIONAL] = None

    @property
    @sent
    def evicted(self) -> Annotated[tuple[str, ...] | None, OPTIONAL]:
        """The pods that were evicted for it, as namespace/name; None if there are none."""
        return None if self.decision is None else self.decision.evicted or None

    @property
    @sent
    def message(self) -> Annotated[str | None, OPTIONAL]:
        """The scheduler's FitError of a pod that stays pending."""
        return None if self.decision is None or self.node is not None else self.decision.message


class EndPod(NamedTuple):
    """A pod at the end of a course."""

    name: str  #: Its name.
    node: str | None  #: Where it is bound; None while it is pending.
    new: bool  #: Whether it is of the new revision.
    request: SchedulingRequest  #: What it was made of.


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The worst moment of a constraint."""

    step: Count  #: After how many steps it was first so; 0 for the start.
    skew: Count  #: How many more pods the fullest domain had than the global minimum.
    counts: Mapping[str, Count]  #: The pods of each domain then.


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One way in which a rollout or a scale can go."""

    outcome: RolloutEnd  #: How it ends.
    steps: Annotated[tuple[RolloutStep, ...], INTERNAL]  #: What happens.
    waiting: Annotated[tuple[QueuedPod, ...], INTERNAL]  #: The pods that have no node at the end.
    #: Why the first of them has none, from its PodScheduled condition.
    message: Annotated[str, SentAs("condition")]
    lost_volumes: tuple[LostVolume, ...] = ()  #: The volumes of those pods that no node reaches at the end.
    #: The pods of other workloads that were evicted for those of this one, or for what replaces others of
    #: them, and what became of them. Its own are among the steps.
    evicted: tuple[DisplacedPod, ...] = ()
    attempts: Annotated[int, INTERNAL] = 0  #: How often pods of other workloads were scheduled.
    #: What else the scheduler looks at in those, as the API names it.
    unmodeled: Annotated[tuple[str, ...], INTERNAL] = ()
    old: Annotated[Count, SentAs("oldPods")]  #: Pods of old revisions that are left over at the end.
    old_pending: Count  #: How many of them have no node.
    running: Count  #: How many pods have a node at the end, of whichever revision.
    pods: Annotated[tuple[EndPod, ...], INTERNAL] = ()  #: The pods at the end.
    #: The pods of each domain at the start, for each constraint of the new revision.
    before: Annotated[tuple[Mapping[str, int], ...], INTERNAL]
    peaks: tuple[Peak, ...]  #: The worst moment of each of them.
    after: tuple[Mapping[str, Count], ...]  #: The pods of each domain at the end.
    skews: tuple[Count, ...]  #: The skew of each at the end.
    #: The largest skew that each can have on the way, in whatever order the pods are deleted and bound that
    #: controllers delete or create together.
    bounds: Annotated[tuple[int, ...], INTERNAL]
    cluster: Annotated[ClusterIndex, INTERNAL]  #: The cluster at the end.
    #: The cluster in which the first pod of the new revision was scheduled that got a node; None where none
    #: did, and of other courses than the likely one.
    at_first_new: Annotated[ClusterIndex | None, INTERNAL] = None

    @property
    def pending(self) -> tuple[str, ...]:
        """The names of the pods that have no node at the end."""
        return tuple(pod.name for pod in self.waiting)

    @property
    @sent
    def evicted_pending(self) -> Count:
        """How many of the evicted pods of other workloads stay pending."""
        return sum(entry.outcome is PodOutcome.PENDING for entry in self.evicted)

    @property
    def hurt(self) -> int:
        """How many of the evicted pods of other workloads have no node at the end, as far as is known."""
        return sum(entry.outcome is not PodOutcome.RECOVERED for entry in self.evicted)

    @property
    def badness(self) -> tuple[int, int, int, int, int]:
        """The sort key of courses: how they end, whom they evict, then the skews."""
        return _ORDER[self.outcome], len(self.pending), self.hurt, len(self.evicted), sum(self.skews)


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """The courses that were taken."""

    #: The one with the usual choices: the first node and the first pod by name, or at random.
    likely: Annotated[Course, INTERNAL]
    worst: Annotated[Course, INTERNAL]  #: The one that ends worst.
    worst_skews: tuple[Count, ...]  #: The largest skew at the end of any, for each constraint.
    #: The largest skew on the way of any, whatever order controllers act in, for each.
    worst_peaks: tuple[Count, ...]
    exact: bool  #: Whether every way to choose was taken.
    count: Annotated[Count, SentAs("courses")]  #: How many were taken.
    free: Annotated[bool, INTERNAL]  #: Whether there was anything to choose.
    #: How many steps they had together, each as dear as the nodes that there are and some more.
    cost: Annotated[int, INTERNAL]
    #: How many of them end worse than the likely one, by how they end and how many pods are left over.
    worse: Annotated[int, INTERNAL] = 0


#: Takes a course with given choices.
Runner: TypeAlias = Callable[[Choices], Course]


def find_courses(run: Runner, nodes: int, likely: Choices) -> Courses:
    """Return the likely course and the worst one.

    Besides the likely course it takes, for each of the first constraints, one that makes it as unequal as
    looking one step ahead can; and, where they are few, all others.

    Args:
        run: Takes a course.
        nodes: How many nodes the cluster has.
        likely: Makes the choices of the likely course.
    """
    first = run(likely)
    search = _Search(run, first, nodes)
    search.take_skewed()
    exact = search.take_all()
    return Courses(
        likely=first,
        worst=search.worst,
        worst_skews=tuple(search.skews),
        worst_peaks=tuple(search.peaks),
        exact=exact,
        count=search.count,
        free=search.free,
        cost=search.cost,
        worse=search.worse,
    )


def one_course(run: Runner, likely: Choices) -> Courses:
    """Return the likely course alone; whether there was anything to choose is known of it."""
    course = run(likely)
    return Courses(
        likely=course,
        worst=course,
        worst_skews=course.skews,
        worst_peaks=course.bounds,
        exact=not likely.were_free,
        count=1,
        free=likely.were_free,
        cost=0,
    )


class _Search:
    """Takes courses while they cost little enough."""

    def __init__(self, run: Runner, likely: Course, nodes: int) -> None:
        self._run, self._nodes = run, nodes
        self._constraints = len(likely.skews)
        self.cost = 0
        self.worst, self.count, self.worse = likely, 1, 0
        self._end = likely.badness[:2]
        self.skews, self.peaks = list(likely.skews), list(likely.bounds)
        self._step = len(likely.steps)
        self.free = True

    def take_all(self) -> bool:
        """Take every course; return whether that was possible."""
        script: list[int] | None = []
        seen: set[Hashable] = set()
        if self._step * (self._nodes + NODES_OF_A_STEP) * 4 > MOST_COST:
            return False
        while script is not None:
            if self.count > MOST_COURSES or self.cost > MOST_COST:
                return False
            choices = ScriptedChoices(script, seen)
            self._take(choices)
            script = choices.next_script()
            # The first script is empty: it takes the first of everything.
            self.free = self.free and (script is not None or choices.is_scripted)
        return True

    def take_skewed(self) -> None:
        """Take the most unequal course of the first constraints."""
        for position in range(min(self._constraints, MOST_SKEWED)):
            if self.cost <= MOST_COST:
                self._take(SkewingChoices(position))

    def _take(self, choices: Choices) -> None:
        try:
            course = self._run(choices)
        except Explored:
            # About half of a course.
            self.cost += (self._step // 2 + 1) * (self._nodes + NODES_OF_A_STEP)
            return
        self.count += 1
        self.cost += (len(course.steps) + course.attempts + 1) * (self._nodes + NODES_OF_A_STEP)
        self.skews = [max(pair) for pair in zip(self.skews, course.skews, strict=True)]
        self.peaks = [max(pair) for pair in zip(self.peaks, course.bounds, strict=True)]
        self.worst = max(self.worst, course, key=lambda each: each.badness)
        self.worse += course.badness[:2] > self._end
