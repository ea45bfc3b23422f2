"""A simulation as one JSON object: what becomes of each pod, the domains before and after, and rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Annotated, Final, Literal, NamedTuple

from planning.simulation.autoscaled import Autoscaled, ScaledDown
from planning.simulation.distribution import Distribution
from planning.simulation.domain_changes import DomainChange
from planning.simulation.recovery import DisplacedPod
from planning.simulation.replicas import ReplicaEnds
from planning.simulation.rollout.courses import Course, Courses, Peak, RolloutEnd, RolloutStep
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.scheduling_queue import SchedulingQueue
from planning.simulation.simulated_queue import SimulatedQueue
from planning.simulation.suggestions.given_up import GivenUp
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion
from planning.simulation.what_if import WhatIf
from planning.text.autoscale_text import new_node_lines
from planning.text.rollout_words import assumptions, not_looked_at, strategy, suggestion_cost
from policies.manifests.wire import INLINE, Count, dumps
from policies.model.next_pod import PodRevision
from policies.model.replica_number import ReplicaNumber
from policies.model.version import KubernetesVersion
from policies.reports.terminal import both_ends
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.releases import judged_as

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
    outcome: RolloutEnd  #: How the worst course ends.
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


class SimulationRuns(NamedTuple):
    """The ends of many simulations."""

    wanted: Count | None  #: How many runs were requested.
    found: Annotated[Distribution, INLINE]  #: The ends.


class ReplicasBefore(NamedTuple):
    """The replicas of the workload before."""

    wanted: Count  #: Replicas that the workload wants.
    #: Where the number comes from; null for a scale, whose number is an option.
    wanted_from: ReplicaNumber | None
    placed: Count  #: Those that had a node.


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateAnswer:
    """The outcome for pods that are scheduled one after another."""

    kubernetes_version: KubernetesVersion  #: The release that the scheduler behaves as.
    judged_as: str  #: The release that is used for it, with its patch: the newest known one for a newer one.
    nodes: Count  #: How many nodes there are, before any action.
    nodes_to_find: Count  #: How many feasible nodes are looked for, for each pod.
    #: The revision of the workload that the pods were scheduled as; null for what has none.
    revision: PodRevision | None
    #: How the rollout ends after which pods are scheduled; null where nothing is rolled out before.
    applied: RolloutEnd | None = None
    #: The replicas of the workload before; null where their number is not known.
    replicas: ReplicasBefore | None
    #: The pods of the workload at the end, of all its revisions in a rollout; null where their number is not
    #: known.
    ends: ReplicaEnds | None
    seed: Count | None  #: Chose among nodes with the same total; null where the first by name was taken.
    steps: Sequence[SchedulingAttempt]  #: What becomes of each pod, in order.
    complete: bool = True  #: Whether all pods were tried.
    pending: Count  #: Pods that got no node.
    domains: Sequence[DomainChange]  #: Of each constraint in force.
    all_domains: bool = True  #: Whether ``domains`` are those of all pods; of many different only some are.
    #: What became of the pods every time; the rest is of the first. Null without runs.
    runs: SimulationRuns | None = None
    what_if: WhatIf | None = None  #: What the actions change, the first time; null without any.
    #: How the workload was rolled out or scaled, the rest being of the likely course; null if neither was
    #: requested.
    rollout: RolloutFields | None = None
    #: What the autoscaler does for the pods, the first time; null where that was not requested. In a rollout,
    #: for those that its end leaves pending; null where it leaves none.
    autoscaled: Autoscaled | None = None
    #: Which nodes come for the pods, and why no node comes for others, a sentence each.
    new_nodes: Sequence[str] = ()
    #: The nodes that the autoscaler then removes, and where their pods go, the first time; null where that
    #: was not requested.
    scaled_down: ScaledDown | None = None
    #: The pods that were evicted for pods of higher priority, and what became of them; those that were
    #: evicted for displaced pods are among these, in ``whatIf``. In a rollout those of other workloads, in
    #: its likely course.
    evicted: Sequence[DisplacedPod]
    not_modeled: Sequence[str]  #: What else a scheduler looks at in these pods, which may refuse more nodes.
    not_looked_at: Sequence[str]  #: What may happen in a real cluster meanwhile.


def render(found: SimulatedQueue | SimulatedRollout) -> bytes:
    """Return a simulation as one line of JSON, without its end; of a rollout, its likely course."""
    return dumps(_of_rollout(found) if isinstance(found, SimulatedRollout) else _of_queue(found))


def _of_queue(simulated: SimulatedQueue) -> SimulateAnswer:
    queue, simulation, runs = simulated.queue, simulated.simulation, simulated.distribution
    return SimulateAnswer(
        kubernetes_version=queue.version,
        judged_as=judged_as(queue.version).exact,
        nodes=queue.cluster.node_count,
        nodes_to_find=simulated.nodes_to_find,
        revision=None if queue.prepared is None else queue.prepared.revision,
        applied=None if queue.rollout is None else queue.rollout.outcome,
        replicas=_replicas(queue),
        ends=simulated.ends,
        seed=simulated.settings.used_seed,
        steps=simulation.steps,
        complete=simulation.complete,
        pending=simulation.pending,
        domains=simulation.domains,
        all_domains=simulation.all_counted,
        runs=None if runs is None else SimulationRuns(simulated.settings.runs, runs),
        what_if=simulated.what_if,
        autoscaled=simulation.autoscaled,
        new_nodes=list(new_node_lines(simulation.autoscaled)),
        scaled_down=simulation.scaled_down,
        evicted=simulation.evicted,
        not_modeled=simulated.unmodeled,
        not_looked_at=simulated.not_looked_at,
    )


def _replicas(queue: SchedulingQueue) -> ReplicasBefore | None:
    """Return how many replicas the workload wants, and how many had a node before; None if not known."""
    replicas = queue.replicas
    if replicas is None:
        return None
    wanted_from = None if queue.prepared is None else queue.prepared.workload.replica_number
    return ReplicasBefore(replicas.wanted, wanted_from, replicas.placed)


def _of_rollout(simulated: SimulatedRollout) -> SimulateAnswer:
    rollout = simulated.rollout
    prepared, likely = rollout.prepared, rollout.courses.likely
    wanted_from = None if rollout.scaled else prepared.workload.replica_number
    return SimulateAnswer(
        kubernetes_version=prepared.version,
        judged_as=judged_as(prepared.version).exact,
        nodes=simulated.nodes,
        nodes_to_find=simulated.nodes,
        revision=None if rollout.scaled else prepared.revision,
        replicas=ReplicasBefore(rollout.replicas, wanted_from, rollout.running),
        ends=ReplicaEnds(likely.running, len(likely.pending)),
        seed=rollout.seed,
        steps=[step.decision for step in likely.steps if step.decision is not None],
        pending=simulated.pending,
        domains=[
            DomainChange(
                pod=prepared.request.pod.name,
                constraint=position,
                applied=applied,
                before=likely.before[position],
                after=likely.after[position],
            )
            for position, applied in enumerate(prepared.request.constraints)
        ],
        rollout=rollout_fields(simulated),
        autoscaled=simulated.autoscaled,
        new_nodes=list(new_node_lines(simulated.autoscaled)),
        evicted=likely.evicted,
        not_modeled=rollout.unmodeled,
        not_looked_at=not_looked_at(simulated),
    )
