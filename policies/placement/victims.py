"""Which pods a ReplicaSet's controller deletes when it scales down.

Source, Kubernetes 1.36: ``getPodsToDelete`` (``pkg/controller/replicaset/replica_set.go``) and
``ActivePodsWithRanks`` (``pkg/controller/controller_utils.go``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, partial
from itertools import groupby
from typing import Final, NamedTuple

from policies.model.deletion_facts import PHASES, DeletionFacts

#: The positions of the phases of a pod without a node and of one with a node, as far as is known.
_PENDING: Final = PHASES.index("Pending")
_RUNNING: Final = PHASES.index("Running")
#: Nanoseconds of a second: the controller compares logarithms of those.
_NANOSECONDS: Final = 1e9


@dataclass(slots=True, eq=False)
class Replica:
    """A pod of a workload.

    Attributes:
        name: Its name.
        revision: The value of the label that marks its revision; empty without one.
        labels: Its labels.
        node: Where it is bound; None while it is pending.
        ready: Whether it is ready.
        facts: What else is known of a pod of the cluster; None for one whose controller has just made it, or
            of which nothing is known.
    """

    name: str
    revision: str
    labels: frozenset[tuple[str, str]]
    node: str | None = None
    ready: bool = False
    facts: DeletionFacts | None = None


class Victims(NamedTuple):
    """Pods to delete.

    Attributes:
        certain: Those that are deleted whatever else happens.
        tied: Those of which some are deleted; which is not known.
        picks: How many of the tied ones.
    """

    certain: list[Replica]
    tied: list[Replica]
    picks: int


def find_victims(
    pods: Sequence[Replica], count: int, related: Iterable[Replica], now: float = 0.0
) -> Victims:
    """Return which pods of a ReplicaSet are deleted.

    Args:
        pods: All pods of the ReplicaSet.
        count: How many are deleted.
        related: The pods of all ReplicaSets of the same owner, these included: a pod goes first that shares
            its node with more of them.
        now: The time in seconds since 1970; 0 if unknown.
    """
    if count >= len(pods):
        return Victims(list(pods), [], 0)
    certain: list[Replica] = []
    for tied in in_order(pods, related, now):
        left = count - len(certain)
        if len(tied) > left:
            return Victims(certain, sorted(tied, key=lambda pod: pod.name) if left else [], left)
        certain += tied
    return Victims(certain, [], 0)


def in_order(
    pods: Sequence[Replica], related: Iterable[Replica], now: float = 0.0
) -> Iterator[list[Replica]]:
    """Yield pods of a ReplicaSet in the order in which they go, those together whose order is not known.

    Arguments are those of ``find_victims``.
    """
    crowd = Counter(pod.node for pod in related)
    ranked = sorted(pods, key=lambda pod: _rank(pod, crowd[pod.node]))
    for _, group in groupby(ranked, key=lambda pod: _rank(pod, crowd[pod.node])):
        yield from _equals(list(group), now)


def urgency(pod: Replica) -> tuple[bool, int, bool]:
    """Return what pods are ordered by before their deletion costs: the first to go has the least."""
    phase = _RUNNING if pod.node is not None else _PENDING
    if pod.facts is None:
        return pod.node is not None, phase, pod.ready
    return pod.node is not None, pod.facts.phase, pod.facts.ready


def latest(facts: Collection[DeletionFacts]) -> float:
    """Return the latest time that pods mention: when their snapshot was taken, as far as is known."""
    return max((max(each.created, each.ready_since) for each in facts), default=0.0)


def _rank(pod: Replica, crowd: int) -> tuple[bool, int, bool, int, int]:
    """Return what pods are ordered by before their ages: the first to go has the least."""
    return *urgency(pod), 0 if pod.facts is None else pod.facts.cost, -crowd


def _equals(pods: list[Replica], now: float) -> list[list[Replica]]:
    """Return pods of one rank in the order in which they go, those together whose order is not known."""
    known = [pod.facts for pod in pods]
    if len(pods) < 2 or None in known:
        return [pods]
    order = cmp_to_key(partial(_compare, now))
    pods = sorted(pods, key=lambda pod: order(pod.facts))
    groups = [[pods[0]]]
    for pod in pods[1:]:
        if order(groups[-1][0].facts) == order(pod.facts):
            groups[-1].append(pod)
        else:
            groups.append([pod])
    return groups


def _compare(now: float, one: DeletionFacts, other: DeletionFacts) -> int:
    """Return whether one pod of the same rank goes before another (-1), after it (1) or whenever (0)."""
    if one.ready and other.ready and one.ready_since != other.ready_since:
        return _younger(now, (one.ready_since, one.uid), (other.ready_since, other.uid))
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _younger(now, (one.created, one.uid), (other.created, other.uid))
    return 0


def _younger(now: float, one: tuple[float, str], other: tuple[float, str]) -> int:
    """Compare times: the later goes first, by the logarithm of its age; the same logarithm, by uid."""
    if not (now and one[0] and other[0]):
        first = not one[0] or (other[0] != 0 and one[0] > other[0])
        return -1 if first else 1
    ages = _logarithm(now - one[0]), _logarithm(now - other[0])
    if ages[0] == ages[1]:
        return (one[1] > other[1]) - (one[1] < other[1])
    return -1 if ages[0] < ages[1] else 1


def _logarithm(age_s: float) -> int:
    return int(math.log2(age_s * _NANOSECONDS)) if age_s > 0 else -1
