"""The outcome of the simulation of a workload, and where it misses a goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from planning.advise.goal import Goal
from planning.simulation.rollout.courses import RolloutEnd
from policies.manifests.wire import INTERNAL, Count, SentAs
from policies.pods.placement import PreparedPod


class FailureKind(StrEnum):
    """How a goal is missed."""

    PENDING = "pending"
    LOST = "lost"
    CROWDED = "crowded"
    ROLLOUT = "rollout"
    UNENFORCED = "unenforced"
    PLAYED = "played"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Where a goal is first missed."""

    kind: FailureKind  #: How.
    replicas: Count  #: With how many replicas.
    domain: str = ""  #: The domain that has too many, or after a rollout the fullest one; empty for none.
    count: Count = 0  #: How many it has.
    allowed: Count = 0  #: How many it may have.
    #: The node that has two replicas more than another, which could take one.
    node: Annotated[str, INTERNAL] = ""
    other: Annotated[str, INTERNAL] = ""  #: That one.
    #: The scheduler's message where a replica stays pending, or the verdict on what was applied.
    message: Annotated[str, INTERNAL] = ""
    outcome: Annotated[RolloutEnd, INTERNAL] = RolloutEnd.COMPLETE  #: How a rollout ends.


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedReplicas:
    """Where so many replicas are."""

    replicas: Count  #: How many.
    domain: str  #: The domain with most of them; empty for nodes without the topology key.
    count: Count  #: How many it has: those that its loss takes.
    #: A node with two more than another that could take one, and that one; None without any.
    crowded: Annotated[tuple[str, str] | None, INTERNAL] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledOut:
    """The outcome of a rollout that begins with all replicas of the same constraints."""

    replicas: Count  #: How many there are.
    outcome: RolloutEnd  #: How it ends where it ends worst.
    domain: str  #: The domain with most of them at the end.
    count: Count  #: How many it has.
    courses: Count  #: How many courses were taken.
    exact: bool  #: Whether these are all.
    evicted: Count = 0  #: The most pods of other workloads that are evicted.


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The outcome of the simulation of a workload."""

    prepared: Annotated[PreparedPod, INTERNAL]  #: The pod that was placed.
    #: Of each number of the range the worst that was seen.
    placed: Annotated[tuple[PlacedReplicas, ...], INTERNAL]
    fitting: Count  #: How many replicas got a node.
    #: The scheduler's message on the first that got none; empty if all did.
    message: Annotated[str, INTERNAL] = ""
    added: Annotated[Count, SentAs("addedNodes")] = 0  #: How many nodes were added for them, at most.
    #: Whether every way was taken to choose among equally good nodes; else one that fills a domain and the
    #: first by name.
    exact: Annotated[bool, SentAs("everyTie")] = False
    evicted: Count = 0  #: How many pods of other workloads are evicted for them, at most.
    #: Of the ends of the range; none where a goal is missed before, or for a kind without.
    rollouts: tuple[RolledOut, ...] = ()
    #: Where the goal is missed once it is applied to what runs; None if it is not, or was not played.
    played: Annotated[Failure | None, INTERNAL] = None

    @property
    def evicts(self) -> int:
        """How many pods of other workloads are evicted at most, for replicas or in a rollout."""
        return max(self.evicted, *(rollout.evicted for rollout in self.rollouts), 0)

    def failure(self, goal: Goal) -> Failure | None:
        """Return where a goal is missed, the gravest first; None if it is reached."""
        return next(self._failures(goal), None)

    def worse_of(self, other: Trial, goal: Goal) -> Trial:
        """Return the worst of two trials that took different ways, this one without a miss."""
        if other.failure(goal) is not None:
            return other
        # One may have been ended before the other.
        longer = max(self.placed, other.placed, key=len)
        pairs = [worst(pair) for pair in zip(self.placed, other.placed, strict=False)]
        return replace(
            self,
            placed=(*pairs, *longer[len(pairs) :]),
            fitting=max(self.fitting, other.fitting),
            added=max(self.added, other.added),
            evicted=max(self.evicted, other.evicted),
            exact=self.exact or other.exact,
        )

    def shortfall(self, goal: Goal) -> tuple[int, int, int, int]:
        """The sort key of trials: replicas without a node, those too many in a domain, misses, evictions."""
        misses = list(self._failures(goal))
        excess = max(
            (miss.count - miss.allowed for miss in misses if miss.kind is FailureKind.LOST), default=0
        )
        return goal.replicas.most - self.fitting, excess, len(misses), self.evicts

    def _failures(self, goal: Goal) -> Iterator[Failure]:
        if goal.enforced and not any(
            applied.is_hard and applied.self_match and applied.constraint.topology_key == goal.key
            for applied in self.prepared.request.constraints
        ):
            yield Failure(kind=FailureKind.UNENFORCED, replicas=goal.replicas.least)
        if self.message:
            yield Failure(kind=FailureKind.PENDING, replicas=self.fitting + 1, message=self.message)
        for placed in self.placed:
            allowed = goal.allowed(placed.replicas)
            if placed.count > allowed:
                yield Failure(
                    kind=FailureKind.LOST,
                    replicas=placed.replicas,
                    domain=placed.domain,
                    count=placed.count,
                    allowed=allowed,
                )
            if goal.one_a_node and placed.crowded is not None:
                node, other = placed.crowded
                yield Failure(kind=FailureKind.CROWDED, replicas=placed.replicas, node=node, other=other)
        for rollout in self.rollouts:
            allowed = goal.allowed(rollout.replicas)
            is_stuck = rollout.outcome in {RolloutEnd.PENDING, RolloutEnd.DEADLOCK}
            if is_stuck or rollout.count > allowed:
                yield Failure(
                    kind=FailureKind.ROLLOUT,
                    replicas=rollout.replicas,
                    domain=rollout.domain,
                    count=rollout.count,
                    allowed=allowed,
                    outcome=rollout.outcome,
                )
        if self.played is not None:
            yield self.played


def worst(placed: Iterable[PlacedReplicas]) -> PlacedReplicas:
    """Return the placement of so many replicas with the fullest domain, then with a crowded node."""
    return max(placed, key=lambda each: (each.count, each.crowded is not None))
