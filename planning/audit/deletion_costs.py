"""Deletion costs of pods with which a scale-down leaves a workload within maxSkew.

A ReplicaSet's controller deletes pods without a node, pending and unready ones first. Among the others those
with a lower deletion cost go first, so that annotations decide which of them go.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Final, TypeAlias

from planning.audit.least_moves import (
    RUNS_NOWHERE,
    constraint_moves,
    runs_nowhere,
    spread_positions,
)
from planning.simulation.rollout.running_pods import RunningPods, find_running, prepare_revision
from planning.simulation.rollout.victims import Replica, find_victims, in_order, latest, urgency
from policies.config.context import AdmissionContext
from policies.model.deletion_facts import COSTS
from policies.model.workload import Workload
from policies.pods.known_pods import KnownPods
from policies.pods.placement import PreparedPod, prepare
from policies.scheduler.domain_tally import DomainTally

#: Sets of pods to delete that are tried; pods in the same domains are alike.
MOST_TRIED: Final = 5_000

#: The constraints that count a pod, each with the domain.
_Homes: TypeAlias = tuple[tuple[int, str], ...]


class NoCosts(StrEnum):
    """Why there is nothing to annotate."""

    BALANCED = "the pods that the controller deletes leave every constraint within maxSkew"
    KIND = "only the pods of Deployments, ReplicaSets and ReplicationControllers are deleted by their cost"
    NO_PODS = RUNS_NOWHERE
    NO_SCALE_DOWN = "this is not a scale-down: no more pods run than are to be left"
    UNCONSTRAINED = "no DoNotSchedule constraint, or with --soft no constraint, in force selects the pods"
    ROLLOUT = "pods of several revisions run: wait until the rollout is complete"
    FORCED = "pods that are not ready are deleted first, and no choice besides is within maxSkew"
    IMPOSSIBLE = "whichever pods are deleted, a constraint is left above maxSkew"
    UNDECIDED = f"{MOST_TRIED:,} sets of pods were tried and none was found; there may be one"
    LOWEST = "a pod has the lowest deletion cost that there is"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCosts:
    """The deletion costs with which a scale-down deletes the right pods."""

    prepared: PreparedPod  #: The next pod of the revision that runs.
    running: int  #: How many pods run.
    replicas: int  #: How many are to be left.
    #: The pods that are deleted then, by name; empty if there is no such choice.
    deleted: tuple[Replica, ...] = ()
    #: The deletion cost to give to each pod that needs one, by name.
    costs: Mapping[str, int] = field(default_factory=dict)
    #: The matching pods by domain, for each constraint that is looked at, by its position.
    before: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    after: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  #: The same after the scale-down.
    why_none: NoCosts | None = None  #: Why there is nothing to annotate; None if there is.


def deletion_costs(
    workload: Workload, context: AdmissionContext, replicas: int, known: KnownPods, *, soft: bool = False
) -> DeletionCosts:
    """Search for pods whose deletion leaves a workload within maxSkew, and rank them first.

    Args:
        workload: The workload.
        context: What it is placed by; its cluster must be there and stays as it is.
        replicas: How many pods are to be left.
        known: What is known of the pods.
        soft: Whether ScheduleAnyway constraints must be kept, too.

    Raises:
        PlacementError: Kubernetes would refuse the workload or its pods.
    """
    prepared = prepare(workload, context)
    running = find_running(prepared, known)
    if running.revisions:
        prepared = prepare_revision(workload, context, running.revisions[0])
    pods, count = running.pods, len(running.pods) - replicas
    search = _Search(prepared, pods, known.now, soft=soft)
    found = DeletionCosts(
        prepared=prepared,
        running=running.bound,
        replicas=replicas,
        before=search.counts(),
        after=search.counts(),
    )
    if why := _refusal(prepared, running, count, is_idle=search.is_idle):
        return replace(found, why_none=why)
    if (usual := search.usual(count)) is not None:
        search.remove(usual)
        if search.is_even:
            why = NoCosts.BALANCED
            return replace(found, deleted=tuple(usual), after=search.counts(), why_none=why)
        search.restore(usual)
    forced, free = search.split(count)
    search.remove(forced)
    chosen = search.choose(free, count - len(forced))
    if chosen is None:
        why = NoCosts.FORCED if len(free) < len(pods) else NoCosts.IMPOSSIBLE
        return replace(found, why_none=NoCosts.UNDECIDED if search.exhausted else why)
    costs = search.costs(chosen, free)
    if costs is None:
        return replace(found, why_none=NoCosts.LOWEST)
    deleted = tuple(sorted((*forced, *chosen), key=lambda pod: pod.name))
    return replace(found, deleted=deleted, costs=costs, after=search.counts())


def _refusal(prepared: PreparedPod, running: RunningPods, count: int, *, is_idle: bool) -> NoCosts | None:
    """Return why no pods are chosen."""
    if not _has_costs(prepared.workload):
        return NoCosts.KIND
    if is_idle:
        return NoCosts.UNCONSTRAINED
    if runs_nowhere(prepared):
        return NoCosts.NO_PODS
    if count < 1:
        return NoCosts.NO_SCALE_DOWN
    return NoCosts.ROLLOUT if len(running.revisions) > 1 else None


def _has_costs(workload: Workload) -> bool:
    """Return whether the controller of the pods ranks them by their cost."""
    kind = workload.kind
    return kind.revision_label is not None or kind.kind in {"ReplicaSet", "ReplicationController"}


class _Search:
    """Chooses pods to delete; those are alike that the constraints count in the same domains."""

    def __init__(self, prepared: PreparedPod, pods: tuple[Replica, ...], now: float, *, soft: bool) -> None:
        self._pods = pods
        self._tally = DomainTally(prepared.request, prepared.cluster)
        counts = self._tally.counts()
        self._constraints = {
            position: prepared.request.constraints[position].constraint
            for position in spread_positions(prepared.request, soft=soft)
        }
        self._counts = {position: dict(counts[position]) for position in self._constraints}
        #: Whether more would have had to be tried than is.
        self.exhausted = False
        self._now = max(now, latest([pod.facts for pod in pods if pod.facts is not None]))

    @property
    def is_idle(self) -> bool:
        """Whether no constraint is looked at."""
        return not self._constraints

    def counts(self) -> dict[int, Mapping[str, int]]:
        """Return the matching pods by domain, by the position of each constraint."""
        return {position: dict(counts) for position, counts in self._counts.items()}

    def remove(self, pods: Iterable[Replica]) -> None:
        """Count some pods no more."""
        for pod in pods:
            self._count(self._homes(pod), -1)

    def restore(self, pods: Iterable[Replica]) -> None:
        """Count them again."""
        for pod in pods:
            self._count(self._homes(pod), 1)

    def usual(self, count: int) -> list[Replica] | None:
        """Return the pods that the controller deletes if none is annotated; None where that is not known.

        Which of several pods it deletes makes no difference if they count in the same domains.
        """
        certain, tied, picks = find_victims(self._pods, count, self._pods, self._now)
        return [*certain, *tied[:picks]] if len(set(map(self._homes, tied))) < 2 else None

    @property
    def is_even(self) -> bool:
        """Whether every constraint is within maxSkew."""
        return all(
            constraint_moves(constraint, self._counts[position].values()) == 0
            for position, constraint in self._constraints.items()
        )

    def choose(self, free: Sequence[Replica], count: int) -> list[Replica] | None:
        """Return so many pods without which every constraint is within maxSkew, and count them no more.

        Of those that are alike the controller's first are chosen. The next one is of the fullest domains; if
        that leads nowhere, every other choice is tried.

        Returns:
            None if there are none, or none were found.
        """
        alike: dict[_Homes, list[Replica]] = {}
        for pod in (pod for tied in in_order(free, self._pods, self._now) for pod in tied):
            alike.setdefault(self._homes(pod), []).append(pod)
        homes, taken = list(alike), array("I", [0] * len(alike))
        seen, path, waiting = set[bytes](), list[int](), [self._fullest(alike, taken)]
        while waiting:
            if len(path) == count and self.is_even:
                groups = zip(alike.values(), taken, strict=True)
                return [pod for group, number in groups for pod in group[:number]]
            at = next(waiting[-1], None) if len(path) < count and len(seen) < MOST_TRIED else None
            if at is None:
                waiting.pop()
                if path:
                    taken[last := path.pop()] -= 1
                    self._count(homes[last], 1)
                continue
            taken[at] += 1
            if (state := taken.tobytes()) in seen:
                taken[at] -= 1
                continue
            seen.add(state)
            path.append(at)
            self._count(homes[at], -1)
            waiting.append(self._fullest(alike, taken))
        self.exhausted = len(seen) >= MOST_TRIED
        return None

    def split(self, count: int) -> tuple[list[Replica], list[Replica]]:
        """Return the pods that go whatever they cost, and those among which the cost decides."""
        forced: list[Replica] = []
        for _, group in groupby(sorted(self._pods, key=urgency), key=urgency):
            free = list(group)
            if len(forced) + len(free) >= count:
                return forced, free
            forced += free
        return forced, []

    def costs(self, chosen: Collection[Replica], free: Sequence[Replica]) -> dict[str, int] | None:
        """Return a deletion cost for each chosen pod that does not go first anyway; None below the lowest."""
        first: list[Replica] = []
        for tied in in_order(free, self._pods, self._now):
            if any(pod not in chosen for pod in tied):
                break
            first += tied
        lowest = min(0 if pod.facts is None else pod.facts.cost for pod in free) - 1
        names = sorted(pod.name for pod in chosen if pod not in first)
        return dict.fromkeys(names, lowest) if lowest in COSTS or not names else None

    def _fullest(self, alike: Mapping[_Homes, list[Replica]], taken: Sequence[int]) -> Iterator[int]:
        """Return the groups that have a pod left, those in the fullest domains first."""
        left = [at for at, group in enumerate(alike.values()) if taken[at] < len(group)]
        homes = list(alike)

        def fullness(at: int) -> tuple[int, int]:
            counts = [self._counts[position][domain] for position, domain in homes[at]]
            return -max(counts, default=0), -sum(counts)

        return iter(sorted(left, key=fullness))

    def _homes(self, pod: Replica) -> _Homes:
        """Return the constraints that count a pod, each with the domain."""
        selecting = self._tally.selecting(pod.labels)
        domains = ((position, self._tally.domain(position, pod.node or "")) for position in selecting)
        return tuple(
            (position, domain)
            for position, domain in domains
            if domain is not None and position in self._constraints
        )

    def _count(self, homes: _Homes, amount: int) -> None:
        for position, domain in homes:
            self._counts[position][domain] += amount
