"""The domains of constraints before something happened to a cluster, and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from policies.manifests.wire import INLINE, Count, sent
from policies.scheduler.request import AppliedConstraint
from policies.scheduler.skew import skew_of

#: Different pods whose domains are counted: a queue may have thousands.
MOST_COUNTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange:
    """The pods that a constraint counts, before and after."""

    pod: str  #: The first pod that has the constraint.
    constraint: Count  #: Its position among those in force for that pod.
    applied: Annotated[AppliedConstraint, INLINE]  #: The constraint.
    before: Mapping[str, Count]  #: Matching pods of each domain that an eligible node has.
    after: Mapping[str, Count]  #: The same at the end.

    @property
    @sent
    def skew_before(self) -> Count:
        """The skew before."""
        return skew_of(self.applied, self.before)

    @property
    def held_before(self) -> int:
        """How many domains held pods before."""
        return sum(count > 0 for count in self.before.values())

    @property
    def held(self) -> int:
        """How many domains hold pods after."""
        return sum(count > 0 for count in self.after.values())

    @property
    @sent
    def skew(self) -> Count:
        """The skew after."""
        return skew_of(self.applied, self.after)


def different_pods(queue: Iterable[QueuedPod]) -> tuple[list[QueuedPod], bool]:
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


def count_domains(pods: Iterable[QueuedPod], simulation: ClusterSimulation) -> list[list[dict[str, int]]]:
    """Return the counts of each constraint of each pod now, by domain."""
    return [simulation.count(entry.request) for entry in pods]


def domain_changes(
    pods: Sequence[QueuedPod],
    before: Sequence[Sequence[Mapping[str, int]]],
    simulation: ClusterSimulation,
) -> tuple[DomainChange, ...]:
    """Return the change of each constraint of each pod, of what was counted before and is there now."""
    return tuple(
        DomainChange(
            pod=entry.name,
            constraint=position,
            applied=entry.request.constraints[position],
            before=was,
            after=now,
        )
        for entry, all_before, all_after in zip(pods, before, count_domains(pods, simulation), strict=True)
        for position, (was, now) in enumerate(zip(all_before, all_after, strict=True))
    )
