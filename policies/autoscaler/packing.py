"""Pods put on nodes of a cluster by the scheduler's filters alone, and nodes added to it.

The room of nodes, the matching pods of domains and the domains that anti-affinity closes are counted on as
pods come. Pods with pod affinity, ports of nodes or volumes go through the filters each time.

Source: ``simulator/clustersnapshot/predicate``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from policies.autoscaler.cluster_facts import (
    ClusterFacts,
    FirstRejection,
    PodGroupFacts,
    PodTally,
    first_rejection,
)
from policies.autoscaler.node_group import ScaledGroup
from policies.model.node import Node
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.plugins.interpodaffinity import ANTI_AFFINITY, EXISTING
from policies.scheduler.plugins.noderesources import TOO_MANY_PODS, insufficient
from policies.scheduler.plugins.podtopologyspread.filtering import MISSING_KEY, SKEW_TOO_LARGE
from policies.scheduler.result import Rejections

_SKEW: Final = FirstRejection(SKEW_TOO_LARGE.texts, by_skew=True)
_NO_KEY: Final = FirstRejection(MISSING_KEY.texts)
_ANTI_AFFINITY: Final = FirstRejection(ANTI_AFFINITY.texts)
_EXISTING: Final = FirstRejection(EXISTING.texts)


class _Found(NamedTuple):
    """The first spot that takes a pod, those before it, and which of these are too skewed for a constraint.

    The constraint is a position and the minimum that holds.
    """

    spot: int | None
    gone: set[int]
    skewed: dict[tuple[int, int], list[int]]


class Packing:
    """Nodes with the pods that were put on them; spots are numbered, those of the cluster by their names.

    Attributes:
        facts: The cluster as it was.
        added: The nodes that were added, each with its group.
    """

    def __init__(self, facts: ClusterFacts) -> None:
        self.facts = facts
        self.added: list[tuple[Node, ScaledGroup]] = []
        # What forks share until one of them changes it.
        self._room: dict[int, dict[str, int]] = {}
        self._own_room = set[int]()
        self._tallies = [list(each.domains) for each in facts.pods]
        self._own_tallies = set[tuple[int, int]]()
        # By the domain of one constraint: what is too skewed for that need not be looked at.
        self._open = [facts.open_by_domain(number) for number in range(len(facts.pods))]
        self._own_open = set[tuple[int, str]]()
        self._closed = [list(each.closed) for each in facts.pods]
        # Spots that are too skewed while the minimum of a constraint is not above one, by both.
        self._parked: list[dict[tuple[int, int], tuple[int, ...]]] = [{} for _ in facts.pods]
        self._placed: list[tuple[int, str, int]] = []
        self._engine: ClusterIndex | None = None
        self._synced = (0, 0)
        # Where the last search ended, of all forks; the first one begins after the first node.
        self._last = [0]

    def fork(self, *, afresh: bool = False) -> Packing:
        """Return a copy that goes its own way; afresh, its searches begin after the first node."""
        twin = Packing(self.facts)
        twin.added, twin._placed = list(self.added), list(self._placed)
        twin._room, self._own_room = dict(self._room), set()
        twin._tallies = [list(each) for each in self._tallies]
        twin._open, twin._own_open = list(self._open), set()
        self._own_open, self._own_tallies = set(), set()
        twin._closed = [list(each) for each in self._closed]
        twin._parked = [dict(each) for each in self._parked]
        twin._engine = None if self._engine is None else self._engine.fork("")
        twin._synced, twin._last = self._synced, [0] if afresh else self._last
        return twin

    @property
    def spots(self) -> int:
        """How many nodes there are."""
        return len(self.facts.names) + len(self.added)

    def add(self, group: ScaledGroup, name: str) -> int:
        """Add a node of a group; return its spot."""
        spot, node = self.spots, group.node(name)
        self.added.append((node, group))
        arrival = self.facts.arrival(group)
        for number, position, key in arrival.counted:
            if node.labels[key] not in self._tallies[number][position].counts:
                self._tally(number, position).add_domain(node.labels[key])
        for number in arrival.open:
            domain = self._grouped(number, node.labels)
            if domain is not None:
                self._open_of(number, domain).append(spot)
        return spot

    def check(self, number: int, spot: int) -> FirstRejection | None:
        """Return why a node that was added takes no pod of a group; None if it does."""
        facts = self.facts.pods[number]
        if facts.by_filters:
            position = self._synchronized().nodes.positions()[self._name(spot)]
            return first_rejection(self._filtered(number), position)
        found = self.facts.on(number, self._added(spot)[1])
        return found.rejection or self._lacking(facts, spot) or self._refused(number, self._labels(spot))

    def check_new(self, number: int, group: ScaledGroup) -> FirstRejection | None:
        """Return why a new node of a group would take no pod of a group; None if it would."""
        if self.facts.pods[number].by_filters:
            trial = self.fork()
            return trial.check(number, trial.add(group, next(self.new_names(group))))
        found = self.facts.on(number, group)
        labels = self.facts.sample(group).labels
        return found.rejection or self._refused(number, labels, found.counted)

    def find(self, number: int, *, since: int = 0, but: int = -1) -> int | None:
        """Return a spot that takes a pod of a group: the first after the one found last; None if none does.

        Args:
            number: The group.
            since: The first spot that is looked at.
            but: A spot that is left out.
        """
        if self.facts.pods[number].by_filters:
            return self._after_last(spot for spot in self._feasible(number) if spot >= since and spot != but)
        if self._parked[number]:
            self._unpark(number)
        found, gone, skewed = self._search(number, self._spots(number, since), but)
        if found is not None:
            self._last[0] = found
        for key, skewed_spots in skewed.items():
            self._parked[number][key] = (*self._parked[number].get(key, ()), *skewed_spots)
        if gone:
            for domain in {self._grouped(number, self._labels(spot)) or "" for spot in gone}:
                may = self._open_of(number, domain)
                may[:] = [spot for spot in may if spot not in gone]
        return found

    def _spots(self, number: int, since: int) -> Iterable[int]:
        """Return the open spots that the constraint allows by which they are grouped.

        They are in the order of a search: from the one after the last that was found, and on from the first.
        """
        facts, last = self.facts.pods[number], self._last[0]
        may: Collection[list[int]] = self._open[number].values()
        if facts.grouped is not None:
            counts = self._tallies[number][facts.grouped].counts
            most = self._minimum(number, facts.grouped) + facts.limits[facts.grouped].most
            may = [spots for domain, spots in self._open[number].items() if counts.get(domain, 0) <= most]
        later, earlier = list[Iterator[int]](), list[Iterator[int]]()
        for spots in may:
            after, first = bisect_right(spots, last), bisect_left(spots, since) if since else 0
            later.append(islice(spots, max(after, first), None))
            earlier.append(islice(spots, first, after))
        if len(later) == 1:
            return chain(*later, *earlier)
        return chain(merge(*later), merge(*earlier))

    def _grouped(self, number: int, labels: Mapping[str, str]) -> str | None:
        """Return the domain by which open spots are grouped; None of a node without, which takes no pod."""
        facts = self.facts.pods[number]
        return "" if facts.grouped is None else labels.get(facts.limits[facts.grouped].key)

    def _search(self, number: int, spots: Iterable[int], but: int) -> _Found:
        """Return the first of some spots that takes a pod of a group, and those before it, which take none.

        It tells of a spot what ``_lacking`` and ``_refused`` tell; of thousands of spots most take none.
        """
        gone, skewed = set[int](), dict[tuple[int, int], list[int]]()
        compared, limits = self.facts.pods[number].compared.items(), self._limits(number)
        own, running = self._closed[number]
        closed = own | running
        known, labels_of, added, rooms = len(self.facts.names), self.facts.labels, self.added, self._room
        for spot in spots:
            if spot == but:
                continue
            room = rooms.get(spot) or self._room_of(spot)
            # Nothing makes room again.
            for name, amount in compared:
                if amount > room[name]:
                    break
            else:
                labels = labels_of[spot] if spot < known else added[spot - known][0].labels
                for key, counts, most, parked in limits:
                    domain = labels.get(key)
                    if domain is None:
                        break
                    if counts.get(domain, 0) > most:
                        skewed.setdefault(parked, []).append(spot)
                        break
                else:
                    if not closed or closed.isdisjoint(labels.items()):
                        return _Found(spot, gone, skewed)
            gone.add(spot)
        return _Found(None, gone, skewed)

    def _limits(self, number: int) -> list[tuple[str, dict[str, int], int, tuple[int, int]]]:
        """Return each constraint but that by which spots are grouped.

        That is its topology key, the pods of its domains, how many are allowed, and by what spots are parked.
        """
        facts, found = self.facts.pods[number], []
        for position, (key, most, _) in enumerate(facts.limits):
            if position != facts.grouped:
                least = self._minimum(number, position)
                counts = self._tallies[number][position].counts
                found.append((key, counts, least + most, (position, least)))
        return found

    def _after_last(self, spots: Iterable[int]) -> int | None:
        """Return the first of some spots after the one found last, which it then is; None of none."""
        may = list(spots)
        if not may:
            return None
        self._last[0] = may[bisect_right(may, self._last[0]) % len(may)]
        return self._last[0]

    def _unpark(self, number: int) -> None:
        """Open the spots again that are not too skewed any more, as far as is known."""
        parked = self._parked[number]
        back = [key for key in parked if self._minimum(number, key[0]) > key[1]]
        if back:
            domains = set[str]()
            for spot in [spot for key in back for spot in parked.pop(key)]:
                domain = self._grouped(number, self._labels(spot)) or ""
                domains.add(domain)
                self._open_of(number, domain).append(spot)
            for domain in domains:
                self._open[number][domain].sort()

    def _minimum(self, number: int, position: int) -> int:
        tally = self._tallies[number][position]
        return tally.least if len(tally.counts) >= self.facts.pods[number].limits[position].min_domains else 0

    def most(self, number: int, spot: int) -> int:
        """Return how many pods of a group may come to a node at once without another check: 1 as a rule.

        Of pods that nothing counts and nothing closes a domain to, it is as many as there is room for.
        """
        facts, effect = self.facts.pods[number], self.facts.effect(number)
        if facts.by_filters or facts.group.request.constraints or effect.counted or effect.closes:
            return 1
        room = self._room_of(spot)
        amounts = {**facts.compared, **facts.taken}
        return max(min(room[name] // amount for name, amount in amounts.items() if amount), 1)

    def put(self, number: int, names: Sequence[str], spot: int) -> None:
        """Put pods of a group on a node."""
        room, count = self._room_of(spot), len(names)
        if spot not in self._own_room:
            self._own_room.add(spot)
            room = self._room[spot] = dict(room)
        for resource, amount in self.facts.pods[number].taken.items():
            room[resource] -= amount * count
        self._placed += [(number, name, spot) for name in names]
        effect = self.facts.effect(number)
        if not (effect.counted or effect.closes):
            return
        labels = self._labels(spot)
        for other, position in effect.counted:
            if self._counts(other, position, spot):
                tally, domain = (
                    self._tally(other, position),
                    labels[self.facts.pods[other].limits[position].key],
                )
                for _ in names:
                    tally.add_pod(domain)
        for other, key, own in effect.closes:
            if key in labels:
                self._closed[other][not own] |= {(key, labels[key])}

    def _tally(self, number: int, position: int) -> PodTally:
        """Return a tally that may be changed."""
        if (number, position) not in self._own_tallies:
            self._own_tallies.add((number, position))
            self._tallies[number][position] = self._tallies[number][position].copy()
        return self._tallies[number][position]

    def _open_of(self, number: int, domain: str) -> list[int]:
        """Return the open spots of a group in a domain, which may be changed."""
        if (number, domain) not in self._own_open:
            self._own_open.add((number, domain))
            shared = self._open[number]
            self._open[number] = {**shared, domain: list(shared.get(domain, ()))}
        return self._open[number][domain]

    def _lacking(self, facts: PodGroupFacts, spot: int) -> FirstRejection | None:
        room, short = self._room_of(spot), None
        for name, amount in facts.compared.items():
            if amount > room[name]:
                short = [*(short or ()), name]
        if short is None:
            return None
        return FirstRejection(tuple(TOO_MANY_PODS if name == PODS else insufficient(name) for name in short))

    def _refused(
        self, number: int, labels: Mapping[str, str], new: tuple[bool, ...] = ()
    ) -> FirstRejection | None:
        """Return why spread or anti-affinity rejects a node, as ``podtopologyspread.filtering`` has it.

        Args:
            number: The group of pods.
            labels: The labels of the node.
            new: Of a node that is not there yet, whether pods on it count for each constraint.
        """
        tallies = self._tallies[number]
        for position, (key, most, min_domains) in enumerate(self.facts.pods[number].limits):
            tally, domain = tallies[position], labels.get(key)
            if domain is None:
                return _NO_KEY
            counts, least = tally.counts, tally.least
            domains = len(counts)
            if new and new[position] and domain not in counts:
                least, domains = 0, domains + 1
            minimum = least if domains >= min_domains else 0
            if counts.get(domain, 0) - minimum > most:
                return _SKEW
        own, running = self._closed[number]
        if own and not own.isdisjoint(labels.items()):
            return _ANTI_AFFINITY
        if running and not running.isdisjoint(labels.items()):
            return _EXISTING
        return None

    def _room_of(self, spot: int) -> dict[str, int]:
        room = self._room.get(spot)
        if room is None:
            if spot < len(self.facts.names):
                room = self.facts.room(spot)
            else:
                allocatable = self._added(spot)[0].allocatable
                room = {name: allocatable.get(name, 0) for name in self.facts.resources}
            self._room[spot] = room
        return room

    def _labels(self, spot: int) -> Mapping[str, str]:
        return self.facts.labels[spot] if spot < len(self.facts.names) else self._added(spot)[0].labels

    def _name(self, spot: int) -> str:
        return self.facts.names[spot] if spot < len(self.facts.names) else self._added(spot)[0].name

    def _added(self, spot: int) -> tuple[Node, ScaledGroup]:
        """Return the node of a spot that was added, and its group."""
        return self.added[spot - len(self.facts.names)]

    def _counts(self, number: int, position: int, spot: int) -> bool:
        if spot < len(self.facts.names):
            return self.facts.pods[number].counts(position, spot)
        return self.facts.on(number, self._added(spot)[1]).counted[position]

    def _feasible(self, number: int) -> list[int]:
        """Return the spots that all filters let pass."""
        feasible = np.logical_and.reduce([each.of_node == 0 for each in self._filtered(number)])
        names = self._synchronized().nodes.names()
        found = {names[position] for position in np.flatnonzero(feasible).tolist()}
        spots = [spot for spot, name in enumerate(self.facts.names) if name in found]
        first = len(self.facts.names)
        return spots + [first + at for at, (node, _) in enumerate(self.added) if node.name in found]

    def _filtered(self, number: int) -> tuple[Rejections, ...]:
        cluster, request = self._synchronized(), self.facts.pods[number].group.request
        with cluster.reading():
            view = NodeView(cluster, request.pod)
            return filter_nodes(view, request, pre_filter(view, request)).rejections

    def _synchronized(self) -> ClusterIndex:
        """Return the cluster with all nodes and pods that came."""
        if self._engine is None:
            self._engine = self.facts.cluster.fork("")
        nodes, pods = self._synced
        for node, _ in self.added[nodes:]:
            self._engine.nodes.put(node)
        for number, name, spot in self._placed[pods:]:
            self._engine.bind(self.facts.pods[number].group.request.pod, f"/{name}", self._name(spot))
        self._synced = len(self.added), len(self._placed)
        return self._engine

    def new_names(self, group: ScaledGroup) -> Iterator[str]:
        """Yield names for nodes of a group that no node has."""
        taken, number = {node.name for node, _ in self.added}, 0
        while True:
            number += 1
            name = f"{group.name}-new-{number}"
            if name not in taken and self.facts.cluster.nodes.find(name) is None:
                yield name
