"""A rollout in words: its end, its controller's next steps, every step, the limits of the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, NamedTuple

from planning.simulation.recovery import DisplacedPod
from planning.simulation.rollout.courses import Course, PodAction, RolloutStep
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.rollout.stateful_set_controller import StatefulUpdate
from planning.simulation.simulate import NOT_LOOKED_AT, NOT_LOOKED_AT_BESIDE, not_replaced
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion, StrategyChange
from planning.simulation.suggestions.words import cost_of
from policies.manifests.fields import member
from policies.manifests.sanitize import one_line
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.scheduler.evaluate import ADAPTIVE, nodes_to_find

#: What controllers look at and is not part of a simulated rollout.
NOT_OF_CONTROLLERS: Final = (
    "readiness gates and probes",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "autoscalers of pods",
)

_COSTS: Final = {
    StrategyChange.UNAVAILABLE: "during a rollout one replica fewer may be available",
    StrategyChange.NO_SURGE: "during a rollout one replica fewer may be available",
    StrategyChange.SURGE: "room for one more pod during a rollout",
}


def not_looked_at(simulated: SimulatedRollout) -> tuple[str, ...]:
    """Return influences on a real rollout that are not part of this one."""
    evicted = (entry for course in simulated.rollout.ends for entry in course.evicted)
    return not_in_rollouts(evicted, scales=simulated.autoscaler is not None)


def not_in_rollouts(evicted: Iterable[DisplacedPod], *, scales: bool) -> tuple[str, ...]:
    """Return influences on real rollouts that are not part of simulated ones.

    Args:
        evicted: The pods of other workloads that are evicted.
        scales: Whether an autoscaler adds nodes.
    """
    of_nodes = NOT_LOOKED_AT_BESIDE if scales else NOT_LOOKED_AT
    return (*of_nodes, *NOT_OF_CONTROLLERS, *not_replaced(evicted))


def strategy(rollout: Rollout) -> str:
    """Return how the controller replaces pods; empty for a scale."""
    if rollout.scaled:
        return ""
    if rollout.stateful is not None:
        return _stateful(rollout.stateful)
    if rollout.update is None:
        return "Recreate"
    return f"RollingUpdate, maxUnavailable {rollout.update.unavailable}, maxSurge {rollout.update.surge}"


def _stateful(update: StatefulUpdate) -> str:
    if update.on_delete:
        return "OnDelete: only pods that someone deletes are replaced"
    parts = [f"RollingUpdate, {'Parallel' if update.parallel else 'OrderedReady'}"]
    if update.partition:
        parts.append(f"partition {update.partition}")
    if update.unavailable is not None:
        parts.append(f"maxUnavailable {update.unavailable}")
    return ", ".join(parts)


def left_over(course: Course) -> str:
    """Return how many pods of old revisions are left over, and how many of them have no node."""
    pending = f" ({course.old_pending:,} without a node)" if course.old_pending else ""
    return f"{plural(course.old, 'pod')} of the old revision{pending}"


#: What is assumed of pods of which only the index of the cluster is known.
UNREAD: Final = (
    "States and ages of its pods are not known: all count as ready and of one age, pending ones as absent."
)


def assumptions(rollout: Rollout) -> Iterator[str]:
    """Yield the assumptions, a sentence each."""
    yield from _start(rollout)
    if rollout.restarted:
        yield "The template is the one that runs: it is rolled out as kubectl rollout restart does."
    if member(rollout.prepared.workload.obj, "spec").get("paused") is True:
        yield "spec.paused is set: this is the rollout once it is resumed."
    if rollout.in_progress:
        new = f"{plural(rollout.in_progress, 'pod')} of the new revision"
        yield f"{new} run already: the rollout goes on from there."
    if rollout.stateful is not None and rollout.stateful.unavailable is not None:
        yield (
            "maxUnavailable of a StatefulSet is honored, as with the feature gate MaxUnavailableStatefulSet; "
            "without it one pod is replaced at a time."
        )
    if rollout.courses.free:
        taken = "the first by name" if rollout.seed is None else f"one at random (seed {rollout.seed})"
        yield f"Of equal nodes, and of equal pods to delete, Kubernetes takes any; here it is {taken}."
    if rollout.now and rollout.running:
        time = datetime.fromtimestamp(rollout.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield (
            f"Ages count from {time}; what they would change within an hour of it is left to chance as well."
        )
    size = rollout.prepared.cluster.node_count
    if (found := nodes_to_find(ADAPTIVE, size)) < size:
        yield f"All nodes are looked at; kube-scheduler stops at {found:,} feasible ones by default."
    yield "A deleted pod is gone at once: its grace period is not simulated."
    if rollout.scaled:
        return
    yield (
        "Bound pods become ready one after another, oldest first, once the controllers have nothing else "
        "to do."
    )


def _start(rollout: Rollout) -> Iterator[str]:
    """Yield sentences on the state at the start, and on actions before the course begins."""
    if rollout.waited_for:
        yield f"{plural(len(rollout.waited_for), 'pod')} of the workload had no node in the cluster."
    if rollout.running and not rollout.known:
        yield UNREAD
    if rollout.resized:
        yield (
            "The number of replicas changes while a rollout is under way: that its ReplicaSets are scaled in"
            " proportion first is not simulated."
        )
    yield from placed_first(rollout)


def placed_first(rollout: Rollout) -> Iterator[str]:
    """Yield how many pods were created or deleted before the course begins."""
    if not rollout.placed:
        return
    runs = (
        f"The cluster runs {plural(rollout.running, 'pod') if rollout.running else 'no pod'} of the workload"
    )
    if rollout.running > rollout.replicas and not rollout.scaled:
        yield f"{runs}: the old revision was scaled down to {rollout.replicas:,} first."
        return
    like = "" if rollout.scaled else " of the old revision"
    like += ", taken to be like those of the object," if rollout.assumed else ""
    verb = "was" if rollout.placed == 1 else "were"
    yield f"{runs}: {plural(rollout.placed, 'pod')}{like} {verb} created first."


def suggestion_cost(suggestion: RolloutSuggestion) -> str:
    """Return the cost of a change, in words."""
    change = suggestion.change
    if change is None:
        return "nothing: the deleted pod has no node"
    return _COSTS[change] if isinstance(change, StrategyChange) else cost_of(change, suggestion.placement)


#: Steps that alternate between two kinds from which on they share a line.
LEAST_ALTERNATING: Final = 8


class TraceLine(NamedTuple):
    """Some steps that follow each other."""

    first: int  #: The number of the first one, from 1.
    last: int  #: The number of the last one.
    text: str  #: What happens.
    pending: bool  #: Whether the pods find no node.

    @property
    def numbers(self) -> str:
        """The number of the step, or those of the first and the last."""
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,}-{self.last:,}"

    def __str__(self) -> str:
        """Return the steps in one line."""
        return f"{self.numbers}. {self.text}{', pending' if self.pending else ''}"


def trace_lines(steps: Iterable[RolloutStep], *, scaled: bool) -> Iterator[TraceLine]:
    """Yield the steps in words; pods of a scale are neither old nor new."""
    groups = [list(group) for _, group in groupby(steps, key=_kind)]
    start, number = 0, 1
    while start < len(groups):
        size = _alternating(groups, start)
        if size < LEAST_ALTERNATING:
            size = 1
        same = [step for group in groups[start : start + size] for step in group]
        what = _what(same, scaled=scaled) if size == 1 else _in_turn(same)
        yield TraceLine(
            number,
            number + len(same) - 1,
            f"{what} {listed(map(_where, same), IN_PHRASE)}",
            pending=size == 1 and same[0].action is PodAction.CREATED and same[0].node is None,
        )
        start += size
        number += len(same)


def _kind(step: RolloutStep) -> tuple[PodAction, bool, bool]:
    return step.action, step.new, step.node is None


def _alternating(groups: list[list[RolloutStep]], start: int) -> int:
    """Return how many groups of one step follow each other that are of two kinds in turn."""
    end = start
    while end < len(groups) and len(groups[end]) == 1:
        if end - start > 1 and _kind(groups[end][0]) != _kind(groups[end - 2][0]):
            break
        end += 1
    return end - start


def _what(same: list[RolloutStep], *, scaled: bool) -> str:
    age = "" if scaled else " new" if same[0].new else " old"
    many = f"{len(same):,}{age} pods"
    return f"{same[0].action} {f'the{age} pod' if len(same) == 1 else many}"


def _in_turn(steps: list[RolloutStep]) -> str:
    """Return the two kinds of steps that alternate."""
    kinds = ", ".join(f"{step.action} {'a new' if step.new else 'an old'} pod" for step in steps[:2])
    return f"in turn: {kinds};"


def _where(step: RolloutStep) -> str:
    evicting = f" (evicting {listed(step.evicted, IN_PHRASE)})" if step.evicted else ""
    if step.node is None:
        return f"{one_line(step.pod)}{evicting}"
    preposition = "from" if step.action in {PodAction.DELETED, PodAction.EVICTED} else "on"
    cause = f" for {one_line(step.evicted_for)}" if step.evicted_for else evicting
    return f"{one_line(step.pod)} {preposition} {one_line(step.node)}{cause}"
