"""Pods are scheduled one after another, each bound before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from policies.placement.placement import PreparedPod
from policies.scheduler.binding import Step, TieBreaker, first_by_name, schedule
from policies.scheduler.evaluate import evaluate
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_sampling import NodeSampler
from policies.scheduler.request import AppliedConstraint, SchedulingRequest

#: Different pods of a queue whose domains are counted: a queue may have thousands.
MOST_COUNTED: Final = 20
#: What may change the course of a real cluster and is not part of any simulation.
NOT_LOOKED_AT: Final = ("preemption", "nodes that an autoscaler adds", "other pods that are pending")


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
    constraint: int
    applied: AppliedConstraint
    before: Mapping[str, int]
    after: Mapping[str, int]

    @property
    def skew(self) -> int:
        """How many more pods the fullest domain has at the end than the emptiest; 0 without domains."""
        return max(self.after.values(), default=0) - min(self.after.values(), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What becomes of some pods.

    Attributes:
        steps: Of each pod, in the order in which they were scheduled.
        queued: How many pods there are; more than steps if the simulation was stopped.
        domains: Of each constraint in force, for each of the first ``MOST_COUNTED`` different pods.
        all_counted: Whether there are no more different pods.
        unmodeled: What else the scheduler looks at, in these pods or by its profile.
    """

    steps: tuple[Step, ...]
    queued: int
    domains: tuple[DomainChange, ...]
    all_counted: bool
    unmodeled: tuple[str, ...]

    @property
    def pending(self) -> int:
        """How many of the pods that were tried stay pending."""
        return sum(step.node is None for step in self.steps)

    @property
    def complete(self) -> bool:
        """Whether all pods were tried."""
        return len(self.steps) == self.queued


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pod that waits to be scheduled.

    Attributes:
        name: What it is called.
        request: The pod, and the constraints in force for it.
    """

    name: str
    request: SchedulingRequest


def simulate(
    queue: Sequence[QueuedPod],
    cluster: ClusterIndex,
    *,
    choose: TieBreaker = first_by_name,
    sampler: NodeSampler | None = None,
    on_step: Callable[[Step], None] = lambda _step: None,
    stop: Callable[[], bool] = lambda: False,
) -> Simulation:
    """Schedule pods one after another; those that fit nowhere stay pending, and the next is tried.

    Args:
        queue: The pods, in order.
        cluster: A fork, which has the pods afterwards.
        choose: Chooses one of several best nodes.
        sampler: Finds as many of the feasible nodes as the scheduler would; None for all of them.
        on_step: Called after each pod.
        stop: Whether to schedule no more pods; asked before each.
    """
    counted, all_counted = _different(queue)
    before = [domain_counts(entry.request, cluster) for entry in counted]
    steps = []
    for entry in queue:
        if stop():
            break
        step = schedule(entry.request, cluster, entry.name, choose, sampler)
        steps.append(step)
        on_step(step)
    after = [domain_counts(entry.request, cluster) for entry in counted]
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
        unmodeled=tuple(dict.fromkeys(name for entry in queue for name in entry.request.unmodeled)),
    )


def replicas_of(prepared: PreparedPod, count: int) -> list[QueuedPod]:
    """Return so many replicas of a workload, named as no pod of the cluster is.

    The pods of a StatefulSet have the first ordinals that are free; those of other kinds end in a number,
    where the controller would write a random suffix.
    """
    request = prepared.request
    names = _free_names(request.pod.name, prepared.cluster, request.pod.namespace)
    return [QueuedPod(next(names), request) for _ in range(count)]


def _free_names(name: str, cluster: ClusterIndex, namespace: str) -> Iterator[str]:
    table = cluster.pods_of(namespace)
    taken = frozenset() if table is None else table.names()
    base, _, last = name.rpartition("-")
    number, base = (int(last), base) if last.isdecimal() and base else (1, name)
    while True:
        if (made := f"{base}-{number}") not in taken:
            yield made
        number += 1


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


def domain_counts(request: SchedulingRequest, cluster: ClusterIndex) -> list[dict[str, int]]:
    """Return the matching pods by domain, for each constraint in force."""
    return [result.domains.by_value() for result in evaluate(request, cluster).results]
