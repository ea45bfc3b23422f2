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
#: Seconds from the time of a snapshot within which its pods are deleted; what changes until then is a tie. An
#: hour: people look first, and pods of hours and days are told apart all the same.
HORIZON_S: Final = 3_600.0


@dataclass(slots=True, eq=False)
class Replica:
    """A pod of a workload."""

    name: str  #: Its name.
    revision: str  #: The value of the label that marks its revision; empty without one.
    labels: frozenset[tuple[str, str]]  #: Its labels.
    node: str | None = None  #: Where it is bound; None while it is pending.
    ready: bool = False  #: Whether it is ready.
    #: What else is known of a pod of the cluster; None for one whose controller has just made it, or of which
    #: nothing is known.
    facts: DeletionFacts | None = None


class Victims(NamedTuple):
    """Pods to delete."""

    certain: list[Replica]  #: Those that are deleted whatever else happens.
    #: Those of which some are deleted; which is not known. First those that go first if it is now.
    tied: list[Replica]
    picks: int  #: How many of the tied ones.


def find_victims(
    pods: Sequence[Replica], count: int, related: Iterable[Replica], now: float = 0.0
) -> Victims:
    """Return which pods of a ReplicaSet are deleted.

    Args:
        pods: All pods of the ReplicaSet.
        count: How many are deleted.
        related: The pods of all ReplicaSets of the same owner, these included: a pod goes first that shares
            its node with more of them.
        now: The earliest time at which it happens, in seconds since 1970; 0 if unknown.
    """
    if count >= len(pods):
        return Victims(list(pods), [], 0)
    certain: list[Replica] = []
    for tied in in_order(pods, related, now):
        left = count - len(certain)
        if len(tied) > left:
            return Victims(certain, tied if left else [], left)
        certain += tied
    return Victims(certain, [], 0)


def in_order(
    pods: Sequence[Replica], related: Iterable[Replica], now: float = 0.0
) -> Iterator[list[Replica]]:
    """Yield pods of a ReplicaSet in the order in which they go, those together whose order is not known.

    Arguments are those of ``find_victims``.
    """
    crowd = Counter(pod.node for pod in related)
    ranked = sorted(pods, key=lambda pod: (_rank(pod, crowd[pod.node]), pod.name))
    for _, group in groupby(ranked, key=lambda pod: _rank(pod, crowd[pod.node])):
        yield from _equals(list(group), now)


def urgency(pod: Replica) -> tuple[bool, int, bool]:
    """Return the sort key of pods before their deletion costs: the first to go has the least."""
    phase = _RUNNING if pod.node is not None else _PENDING
    if pod.facts is None:
        return pod.node is not None, phase, pod.ready
    return pod.node is not None, pod.facts.phase, pod.facts.ready


def latest(facts: Collection[DeletionFacts]) -> float:
    """Return the latest time that pods mention: when their snapshot was taken, as far as is known."""
    return max((max(each.created, each.ready_since) for each in facts), default=0.0)


def _rank(pod: Replica, crowd: int) -> tuple[bool, int, bool, int, int]:
    """Return the sort key of pods before their ages: the first to go has the least."""
    return *urgency(pod), 0 if pod.facts is None else pod.facts.cost, -crowd


def _equals(pods: list[Replica], now: float) -> Iterator[list[Replica]]:
    """Yield pods of one rank in the order in which they go, those together whose order is not known."""
    known = [pod.facts for pod in pods]
    if len(pods) < 2 or None in known:
        yield pods
        return
    order = cmp_to_key(partial(_compare, now))
    pods = sorted(pods, key=lambda pod: order(pod.facts))
    start = 0
    while start < len(pods):
        at, end = start, start + 1
        while at < end:
            end = _last_tied(pods, at, end, now)
            at += 1
        yield pods[start:end]
        start = end


def _last_tied(pods: Sequence[Replica], at: int, end: int, now: float) -> int:
    """Return behind which pod from an end on the last one is that may go before the pod at a place."""
    for last in range(len(pods) - 1, end - 1, -1):
        if not _is_certain(now, pods[at].facts, pods[last].facts):
            return last + 1
    return end


def _is_certain(now: float, one: DeletionFacts | None, other: DeletionFacts | None) -> bool:
    """Return whether a pod that goes before another now does so until the horizon, too."""
    if one is None or other is None or not _compare(now, one, other):
        return False
    by_ready = one.ready and other.ready and one.ready_since != other.ready_since
    if not now or (not by_ready and one.restarts != other.restarts):
        return True
    times = (one.ready_since, other.ready_since) if by_ready else (one.created, other.created)
    if not all(times):
        return True
    by_age, by_uid = times[0] > times[1], one.uid < other.uid
    if by_age and by_uid:
        return True
    always, never = _alike(now - max(times), now - min(times))
    return (by_uid and always) or (by_age and never)


def _alike(younger: float, older: float) -> tuple[bool, bool]:
    """Return whether two ages in seconds are of one logarithm always, and never, from now to the horizon."""
    first, last = _logarithm(younger), _logarithm(younger + HORIZON_S)
    always = first == _logarithm(older + HORIZON_S)
    apart = (older - younger) * _NANOSECONDS
    for power in range(max(first, 0), last + 1):
        start, end = max(2.0**power, younger * _NANOSECONDS), 2.0 ** (power + 1) - apart
        if start < end and start <= (younger + HORIZON_S) * _NANOSECONDS:
            return always, False
    return always, older > 0


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
