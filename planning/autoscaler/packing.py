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
from typing import NamedTuple

from planning.autoscaler.cluster_facts import ClusterFacts, PodGroupFacts
from planning.autoscaler.node_group import ScaledGroup
from planning.autoscaler.packed_cluster import FilteredCluster, FirstRejection, PackedDomains
from policies.model.node import Node
from policies.scheduler.node_table import PODS
from policies.scheduler.plugins.noderesources import TOO_MANY_PODS, insufficient


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
        self._domains = PackedDomains(
            [each.limits for each in facts.pods],
            [each.domains for each in facts.pods],
            [each.closed for each in facts.pods],
        )
        # By the domain of one constraint: what is too skewed for that need not be looked at.
        self._open = [facts.open_by_domain(number) for number in range(len(facts.pods))]
        self._own_open = set[tuple[int, str]]()
        # Spots that are too skewed while the minimum of a constraint is not above one, by both.
        self._parked: list[dict[tuple[int, int], tuple[int, ...]]] = [{} for _ in facts.pods]
        self._filtered = FilteredCluster(facts.cluster)
        # Where the last search ended, of all forks; the first one begins after the first node.
        self._last = [0]

    def fork(self, *, afresh: bool = False) -> Packing:
        """Return a copy that goes its own way; afresh, its searches begin after the first node."""
        twin = Packing(self.facts)
        twin.added, twin._filtered = list(self.added), self._filtered.fork()
        twin._room, self._own_room = dict(self._room), set()
        twin._open, twin._own_open = list(self._open), set()
        self._own_open, twin._domains = set(), self._domains.fork()
        twin._parked = [dict(each) for each in self._parked]
        twin._last = [0] if afresh else self._last
        return twin

    @property
    def spots(self) -> int:
        """How many nodes there are."""
        return len(self.facts.nodes) + len(self.added)

    def add(self, group: ScaledGroup, name: str) -> int:
        """Add a node of a group; return its spot."""
        spot, node = self.spots, group.node(name)
        self.added.append((node, group))
        self._filtered.add(node)
        arrival = self.facts.arrival(group)
        self._domains.add_node(arrival.counted, node.labels)
        for number in arrival.open:
            domain = self._grouped(number, node.labels)
            if domain is not None:
                self._open_of(number, domain).append(spot)
        return spot

    def check(self, number: int, spot: int) -> FirstRejection | None:
        """Return why a node that was added takes no pod of a group; None if it does."""
        facts = self.facts.pods[number]
        if facts.by_filters:
            return self._filtered.rejection(facts.group.request, self._node(spot).name)
        found = self.facts.on(number, self._group(spot))
        lacking = found.rejection or self._lacking(facts, spot)
        return lacking or self._domains.rejection(number, self._node(spot).labels)

    def check_new(self, number: int, group: ScaledGroup) -> FirstRejection | None:
        """Return why a new node of a group would take no pod of a group; None if it would."""
        if self.facts.pods[number].by_filters:
            trial = self.fork()
            return trial.check(number, trial.add(group, next(self.new_names(group))))
        found = self.facts.on(number, group)
        labels = self.facts.sample(group).labels
        return found.rejection or self._domains.rejection(number, labels, found.counted)

    def find(self, number: int, *, since: int = 0, but: int = -1) -> int | None:
        """Return a spot that takes a pod of a group: the first after the one found last; None if none does.

        Args:
            number: The group.
            since: The first spot that is looked at.
            but: A spot that is left out.
        """
        if self.facts.pods[number].by_filters:
            return self._filter(number, since, but)
        if self._parked[number]:
            self._unpark(number)
        found, gone, skewed = self._search(number, self._spots(number, since), but)
        if found is not None:
            self._last[0] = found
        for key, skewed_spots in skewed.items():
            self._parked[number][key] = (*self._parked[number].get(key, ()), *skewed_spots)
        if gone:
            for domain in {self._grouped(number, self._node(spot).labels) or "" for spot in gone}:
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
            counts = self._domains.tallies[number][facts.grouped].counts
            most = self._domains.minimum(number, facts.grouped) + facts.limits[facts.grouped].most
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

        It compares what ``_lacking`` and ``PackedDomains.rejection`` do: of thousands most take none.
        """
        gone, skewed = set[int](), dict[tuple[int, int], list[int]]()
        compared, limits = self.facts.pods[number].compared.items(), self._limits(number)
        closed = self._domains.closed(number)
        known, labels_of, added, rooms = len(self.facts.nodes), self.facts.labels, self.added, self._room
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
                least = self._domains.minimum(number, position)
                counts = self._domains.tallies[number][position].counts
                found.append((key, counts, least + most, (position, least)))
        return found

    def _filter(self, number: int, since: int, but: int) -> int | None:
        """Return what ``find`` does for a pod that goes through all filters."""
        feasible = self._filtered.feasible(self.facts.pods[number].group.request)
        nodes = enumerate(chain(self.facts.nodes, (node for node, _ in self.added)))
        may = [spot for spot, node in nodes if spot >= since and spot != but and node.name in feasible]
        if not may:
            return None
        self._last[0] = may[bisect_right(may, self._last[0]) % len(may)]
        return self._last[0]

    def _unpark(self, number: int) -> None:
        """Open the spots again that are not too skewed any more, as far as is known."""
        parked = self._parked[number]
        back = [key for key in parked if self._domains.minimum(number, key[0]) > key[1]]
        if back:
            domains = set[str]()
            for spot in [spot for key in back for spot in parked.pop(key)]:
                domain = self._grouped(number, self._node(spot).labels) or ""
                domains.add(domain)
                self._open_of(number, domain).append(spot)
            for domain in domains:
                self._open[number][domain].sort()

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
        facts, node = self.facts.pods[number], self._node(spot)
        for resource, amount in facts.taken.items():
            room[resource] -= amount * count
        self._filtered.bind(facts.group.request.pod, names, node.name)
        effect = self.facts.effect(number)
        if not (effect.counted or effect.closes):
            return
        labels = node.labels
        for other, position in effect.counted:
            if self._counts(other, position, spot):
                domain = labels[self.facts.pods[other].limits[position].key]
                self._domains.add_pods(other, position, domain, count)
        for other, key, own in effect.closes:
            if key in labels:
                self._domains.close(other, (key, labels[key]), own=own)

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

    def _room_of(self, spot: int) -> dict[str, int]:
        room = self._room.get(spot)
        if room is None:
            if spot < len(self.facts.nodes):
                room = self.facts.room(spot)
            else:
                allocatable = self._node(spot).allocatable
                room = {name: allocatable.get(name, 0) for name in self.facts.resources}
            self._room[spot] = room
        return room

    def _node(self, spot: int) -> Node:
        known = len(self.facts.nodes)
        return self.facts.nodes[spot] if spot < known else self.added[spot - known][0]

    def _group(self, spot: int) -> ScaledGroup:
        """Return the group of a node that was added."""
        return self.added[spot - len(self.facts.nodes)][1]

    def _counts(self, number: int, position: int, spot: int) -> bool:
        if spot < len(self.facts.nodes):
            return self.facts.pods[number].counted[position][spot]
        return self.facts.on(number, self._group(spot)).counted[position]

    def new_names(self, group: ScaledGroup) -> Iterator[str]:
        """Yield names for nodes of a group that no node has."""
        taken, number = {node.name for node, _ in self.added}, 0
        while True:
            number += 1
            name = f"{group.name}-new-{number}"
            if name not in taken and self.facts.cluster.nodes.find(name) is None:
                yield name
