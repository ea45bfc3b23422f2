"""A rollout in words: how its controller replaces pods, what is assumed, the limits of the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from planning.simulation.recovery import DisplacedPod
from planning.simulation.rollout.rollout import Rollout
from planning.simulation.rollout.simulated_rollout import SimulatedRollout
from planning.simulation.rollout.stateful_set_controller import StatefulUpdate
from planning.simulation.simulate import NOT_LOOKED_AT, NOT_LOOKED_AT_BESIDE, not_replaced
from planning.simulation.suggestions.rollout_suggestions import RolloutSuggestion, StrategyChange
from planning.simulation.suggestions.words import cost_of
from policies.manifests.fields import member
from policies.manifests.words import plural
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
