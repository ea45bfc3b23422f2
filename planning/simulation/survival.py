"""What is left of a workload when the fullest domain of a key goes, before events and after them.

Counts the workload's own pods, whatever any selector says: a constraint that selects others, or none, may
be satisfied while all pods of the workload are in one zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planning.simulation.cluster_simulation import UNREACHABLE
from policies.manifests.wire import Count, sent
from policies.model.pod import Pod
from policies.model.taints import SCHEDULING_EFFECTS, TRANSIENT_TAINTS, Taint, first_untolerated
from policies.model.topology_keys import HOSTNAME, ZONE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest

#: Domains that a mapping shows.
MOST_DOMAINS: Final = 100
#: Taints that pass, and with which a node still runs the pods that it has.
_PASSING = TRANSIENT_TAINTS - {taint.key for taint in UNREACHABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """What is left of a workload when its fullest domain of a key goes.

    Counts the pods of the workload that run, whatever any selector says.
    """

    topology_key: str  #: The key.
    #: How many domains have a node that its affinity and tolerations allow, or that an autoscaler may add to;
    #: cordons and load do not count. Null where that is not known.
    possible: Count | None
    #: Its pods by domain before the events, at most 100 domains; null for a workload that is new.
    before: Mapping[str, Count] | None
    after: Mapping[str, Count]  #: The same at the end.
    other_domains: Count = 0  #: How many domains these leave out.
    fullest_before: str | None  #: The domain with most of them before; null without any.
    fullest: str | None  #: The domain with most of them at the end; null without any.
    left_before: Count | None  #: How many run if that goes, before; null for a workload that is new.
    left: Count  #: How many run if that goes, at the end.
    #: Whether two or more run and the loss of one domain leaves none, though there could be another.
    stops: bool

    @property
    def running(self) -> int:
        """How many of its pods run at the end."""
        return self.left + self.after.get(self.fullest or "", 0)

    @property
    @sent
    def takes_more(self) -> bool:
        """Whether the fullest domain takes a larger share with it than before, and fewer pods are left."""
        if self.left_before is None or self.before is None or self.left >= self.left_before:
            return False
        taken, of = self.after.get(self.fullest or "", 0), self.left
        taken_before, of_before = self.before.get(self.fullest_before or "", 0), self.left_before
        # One pod alone always goes with its domain.
        return taken + of > 1 and taken * of_before > taken_before * of


def no_domains(_key: str) -> Collection[str] | None:
    """Return no domain: nothing adds nodes."""
    return ()


def survivals(
    request: SchedulingRequest,
    before: Mapping[str, int] | None,
    after: Mapping[str, int],
    cluster_before: ClusterIndex,
    cluster_after: ClusterIndex,
    *,
    extra_domains: Callable[[str], Collection[str] | None] = no_domains,
) -> tuple[Survival, ...]:
    """Return what is left of a workload, for each key of its constraints, and for zone and host.

    Args:
        request: Its next pod.
        before: How many of its pods run on each node before the events; None for a workload that is new.
        after: The same at the end.
        cluster_before: The cluster before the events.
        cluster_after: The cluster at the end.
        extra_domains: Returns the domains of a key in which nodes may be added; None where that is not known.
    """
    was = None if before is None else _Domains(request.pod, before, cluster_before)
    now = _Domains(request.pod, after, cluster_after)
    keys = dict.fromkeys(applied.constraint.topology_key for applied in request.constraints)
    carried = cluster_before.nodes.label_keys() | cluster_after.nodes.label_keys()
    keys |= dict.fromkeys(key for key in (ZONE, HOSTNAME) if key in carried)
    return tuple(_survival(key, was, now, extra_domains(key)) for key in keys)


class DomainPods(NamedTuple):
    """The domains of a key, and the pods of those that have some, which may be other ones, too."""

    names: frozenset[str]
    held: Mapping[str, int]


_NO_PODS: Final = DomainPods(frozenset(), {})


def most_populated(
    before: DomainPods | None, after: DomainPods | None
) -> tuple[dict[str, int] | None, dict[str, int] | None, int]:
    """Return counts by domain, sorted, of as many domains as are shown, and how many others there are.

    Args:
        before: The pods before; None for none.
        after: The pods after; None for none.
    """
    was, now = before or _NO_PODS, after or _NO_PODS
    names, held = _in_order(was.names, now.names), was.held.keys() | now.held.keys()
    others = held - was.names - now.names
    if len(names) + len(others) <= MOST_DOMAINS:
        shown: Sequence[str] = sorted((*names, *others)) if others else names
    else:
        most: Collection[str] = held
        if len(held) > MOST_DOMAINS:
            fullest = sorted(
                held, key=lambda value: (-max(was.held.get(value, 0), now.held.get(value, 0)), value)
            )
            most = fullest[:MOST_DOMAINS]
        empty = (value for value in names if value not in held)
        shown = sorted([*most, *islice(empty, MOST_DOMAINS - len(most))])

    def of(pods: DomainPods | None) -> dict[str, int] | None:
        if pods is None:
            return None
        has_all = pods.names.issuperset(shown)
        there = shown if has_all else [value for value in shown if value in pods.names or value in pods.held]
        counts = dict.fromkeys(there, 0)
        counts.update((value, pods.held[value]) for value in counts.keys() & pods.held.keys())
        return counts

    return of(before), of(after), len(names) + len(others) - len(shown)


@lru_cache(maxsize=16)
def _in_order(names: frozenset[str], others: frozenset[str]) -> tuple[str, ...]:
    """Return the names of both, sorted once for all workloads: a large cluster has thousands of hosts."""
    return tuple(sorted(names | others))


class _Domains:
    """The nodes of a cluster for the pods of one workload, and how many it has on each."""

    def __init__(self, pod: Pod, running: Mapping[str, int], cluster: ClusterIndex) -> None:
        self.running = sum(running.values())
        self._pod, self._cluster = pod, cluster
        nodes = ((cluster.nodes.find(name), pods) for name, pods in running.items() if pods)
        self._on = [(node.labels, pods) for node, pods in nodes if node is not None]

    def allowed(self, key: str) -> frozenset[str]:
        """Return the domains with a node that affinity and tolerations allow, cordoned or not."""
        with self._cluster.reading():
            view = NodeView(self._cluster, self._pod)
            asked = ("allowed domains", key, self._pod.affinity, self._pod.tolerations)
            return view.derive(asked, lambda: self._find_allowed(view, key))

    def _find_allowed(self, view: NodeView, key: str) -> frozenset[str]:
        tolerated = view.derive(("lasting", self._pod.tolerations), self._tolerated)
        label = view.label(key)
        nodes = view.matches_affinity & tolerated[view.taint_numbers] & label.present
        return frozenset(label.texts[number] for number in np.unique(label.numbers[nodes]).tolist())

    def _tolerated(self) -> NDArray[np.bool_]:
        """Return which lists of taints keep the pods away for good."""

        def is_tolerated(taints: Iterable[Taint]) -> bool:
            lasting = (taint for taint in taints if taint.key not in _PASSING)
            return first_untolerated(lasting, self._pod.tolerations, SCHEDULING_EFFECTS) is None

        return np.array(self._cluster.nodes.map_taints(is_tolerated), np.bool_)

    def held(self, key: str) -> dict[str, int]:
        """Return the pods by domain; those on nodes without the key are in none."""
        found = dict[str, int]()
        for labels, pods in self._on:
            if (value := labels.get(key)) is not None:
                found[value] = found.get(value, 0) + pods
        return found


def _survival(key: str, was: _Domains | None, now: _Domains, extra: Collection[str] | None) -> Survival:
    held, allowed = now.held(key), now.allowed(key)
    if extra:
        allowed |= frozenset(extra)
    held_before = {} if was is None else was.held(key)
    before = None if was is None else DomainPods(was.allowed(key), held_before)
    shown_before, shown, others = most_populated(before, DomainPods(allowed, held))
    fullest, fullest_before = _fullest(held), _fullest(held_before)
    left = now.running - held.get(fullest or "", 0)
    another = extra is None or len(allowed) > (fullest in allowed)
    return Survival(
        topology_key=key,
        possible=None if extra is None else len(allowed),
        before=shown_before,
        after=shown or {},
        other_domains=others,
        fullest_before=fullest_before,
        fullest=fullest,
        left_before=None if was is None else was.running - held_before.get(fullest_before or "", 0),
        left=left,
        stops=now.running > 1 and not left and another,
    )


def _fullest(held: Mapping[str, int]) -> str | None:
    return min(held, key=lambda value: (-held[value], value), default=None)
