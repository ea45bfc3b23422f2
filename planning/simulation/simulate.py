"""Pods are scheduled one after another, each bound before the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from planning.simulation.autoscaled import Autoscaled
from planning.simulation.autoscaling import Autoscaling
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod, count_bound
from planning.simulation.domain_changes import (
    DomainChange,
    count_domains,
    different_pods,
    domain_changes,
)
from planning.simulation.recovery import DisplacedPod, PodOutcome
from planning.simulation.rescheduling import Rescheduling
from policies.scheduler.binding import SchedulingAttempt

#: What may change the course of a real cluster and is not part of any simulation.
NOT_LOOKED_AT: Final = ("nodes that an autoscaler adds", "other pods that are pending")
#: The same where an autoscaler adds nodes.
NOT_LOOKED_AT_BESIDE: Final = ("nodes that are taken away again", *NOT_LOOKED_AT[1:])
#: What is left out where only the index of a cluster is known, as of the server's own: objects of pods would
#: take several times its memory.
_REPLACEMENTS: Final = "what replaces evicted pods whose specs are not known"


def not_replaced(evicted: Iterable[DisplacedPod]) -> tuple[str, ...]:
    """Return the parts missing from a simulation that does not know what replaces some evicted pods."""
    return (_REPLACEMENTS,) if any(pod.outcome is PodOutcome.NOT_TRIED for pod in evicted) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The outcome for some pods."""

    steps: tuple[SchedulingAttempt, ...]  #: Of each pod, in the order in which they were scheduled.
    queued: int  #: How many pods there are; more than steps if the simulation was stopped.
    #: Of each constraint in force, for each of the first ``MOST_COUNTED`` different pods.
    domains: tuple[DomainChange, ...]
    all_counted: bool  #: Whether there are no more different pods.
    unmodeled: tuple[str, ...]  #: What else the scheduler looks at, in these pods or by its profile.
    #: The pods of the cluster that were evicted for these, or for what replaces others of them.
    evicted: tuple[DisplacedPod, ...] = ()
    #: What the autoscaler does for them; None where it is not simulated.
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
    scaling: Autoscaling | None = None,
) -> Simulation:
    """Schedule pods one after another; those that fit nowhere stay pending, and the next is tried.

    Args:
        queue: The pods, in order.
        simulation: The cluster, which has the pods afterwards.
        again: Schedules again, after the queue, what replaces pods that were evicted for it; None where the
            simulation does not preempt.
        scaling: Adds nodes for pods that are pending; None for nothing.
    """
    counted, all_counted = different_pods(queue)
    before = count_domains(counted, simulation)
    steps = (simulation if scaling is None else scaling).schedule_all(queue)
    if again is not None:
        again.replace_preempted()
        if scaling is not None and len(steps) == len(queue):
            scaling.schedule_again(again)
    of_queue = (name for entry in queue for name in entry.request.unmodeled)
    return Simulation(
        steps=tuple(steps),
        queued=len(queue),
        domains=domain_changes(counted, before, simulation),
        all_counted=all_counted,
        unmodeled=tuple(dict.fromkeys((*of_queue, *(() if again is None else again.unmodeled)))),
        evicted=() if again is None else again.displaced,
        autoscaled=None if scaling is None else scaling.scaled,
    )
