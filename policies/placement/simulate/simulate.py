"""Pods are scheduled one after another, each bound before the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.manifests.wire import INLINE, Count, sent
from policies.placement.core.autoscaling import Autoscaled, autoscale
from policies.placement.core.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from policies.placement.core.recovery import DisplacedPod, PodOutcome, Rescheduling
from policies.scheduler.binding import Step
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.skew import skew_of

#: Different pods of a queue whose domains are counted: a queue may have thousands.
MOST_COUNTED: Final = 20
#: What may change the course of a real cluster and is not part of any simulation.
NOT_LOOKED_AT: Final = ("nodes that an autoscaler adds", "other pods that are pending")
#: The same where an autoscaler is a part of it.
NOT_LOOKED_AT_BESIDE: Final = ("nodes that are taken away again", *NOT_LOOKED_AT[1:])
#: What is left out where only the index of a cluster is known, as of the server's own: objects of pods would
#: take several times its memory.
_REPLACEMENTS: Final = "what replaces evicted pods whose specs are not known"


def not_replaced(evicted: Iterable[DisplacedPod]) -> tuple[str, ...]:
    """Return what is not part of a simulation that does not know what replaces some evicted pods."""
    return (_REPLACEMENTS,) if any(pod.outcome is PodOutcome.NOT_TRIED for pod in evicted) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange:
    """The pods that a constraint counts, before the first pod was scheduled and after the last.

    Attributes:
        pod: The first pod of the queue that has the constraint.
        constraint: Its position among those in force for that pod.
        applied: The constraint.
        before: Matching pods of each domain that an eligible node has.
        after: The same at the end.
    """

    pod: str
    constraint: Count
    applied: Annotated[AppliedConstraint, INLINE]
    before: Mapping[str, Count]
    after: Mapping[str, Count]

    @property
    def skew_before(self) -> int:
        """The skew before."""
        return skew_of(self.applied, self.before)

    @property
    @sent
    def skew(self) -> Count:
        """The skew after."""
        return skew_of(self.applied, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The outcome for some pods.

    Attributes:
        steps: Of each pod, in the order in which they were scheduled.
        queued: How many pods there are; more than steps if the simulation was stopped.
        domains: Of each constraint in force, for each of the first ``MOST_COUNTED`` different pods.
        all_counted: Whether there are no more different pods.
        unmodeled: What else the scheduler looks at, in these pods or by its profile.
        evicted: The pods of the cluster that were evicted for these, or for what replaces others of them.
        autoscaled: What the autoscaler does for them; None where it is not simulated.
    """

    steps: tuple[Step, ...]
    queued: int
    domains: tuple[DomainChange, ...]
    all_counted: bool
    unmodeled: tuple[str, ...]
    evicted: tuple[DisplacedPod, ...] = ()
    autoscaled: Autoscaled | None = None

    @property
    def pending(self) -> int:
        """How many of the pods that were tried stay pending."""
        return len(self.steps) - count_bound(self.steps)

    @property
    def complete(self) -> bool:
        """Whether all pods were tried, also on the nodes that are added for them."""
        stopped = self.autoscaled is not None and self.autoscaled.stopped
        return len(self.steps) == self.queued and not stopped


def simulate(
    queue: Sequence[QueuedPod],
    simulation: ClusterSimulation,
    again: Rescheduling | None = None,
    autoscaler: NodeAutoscaler | None = None,
) -> Simulation:
    """Schedule pods one after another; those that fit nowhere stay pending, and the next is tried.

    Args:
        queue: The pods, in order.
        simulation: The cluster, which has the pods afterwards.
        again: Schedules again, after the queue, what replaces pods that were evicted for it; None where the
            simulation does not preempt.
        autoscaler: What adds nodes for pods that are pending; None for nothing.
    """
    counted, all_counted = _different(queue)
    before = [simulation.count(entry.request) for entry in counted]
    steps, autoscaled = simulation.schedule_all(queue), None
    if autoscaler is not None and len(steps) == len(queue):
        steps, autoscaled = autoscale(queue, steps, simulation, autoscaler)
    if again is not None:
        again.replace_preempted()
    after = [simulation.count(entry.request) for entry in counted]
    of_queue = (name for entry in queue for name in entry.request.unmodeled)
    return Simulation(
        steps=tuple(steps),
        queued=len(queue),
        domains=tuple(
            DomainChange(
                pod=entry.name,
                constraint=position,
                applied=entry.request.constraints[position],
                before=was,
                after=now,
            )
            for entry, all_before, all_after in zip(counted, before, after, strict=True)
            for position, (was, now) in enumerate(zip(all_before, all_after, strict=True))
        ),
        all_counted=all_counted,
        unmodeled=tuple(dict.fromkeys((*of_queue, *(() if again is None else again.unmodeled)))),
        evicted=() if again is None else again.displaced,
        autoscaled=autoscaled,
    )


def _different(queue: Iterable[QueuedPod]) -> tuple[list[QueuedPod], bool]:
    """Return the first pod of each namespace and set of constraints, and whether these are all."""
    found: dict[tuple[str, tuple[AppliedConstraint, ...]], QueuedPod] = {}
    for entry in queue:
        if not entry.request.constraints:
            continue
        key = (entry.request.pod.namespace, entry.request.constraints)
        if key not in found and len(found) == MOST_COUNTED:
            return list(found.values()), False
        found.setdefault(key, entry)
    return list(found.values()), True
