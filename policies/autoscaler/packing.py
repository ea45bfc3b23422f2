"""Pods put on nodes of a cluster by the scheduler's filters alone, and nodes added to it.

What follows from the nodes is computed by the scheduler's own filters, once for each group of pods; the
room of nodes, the matching pods of domains and the domains that anti-affinity closes are then counted on as
pods come. Pods with pod affinity, ports of nodes or volumes go through the filters each time.

Source: ``simulator/clustersnapshot/predicate``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from policies.autoscaler.node_group import ScaledGroup
from policies.autoscaler.pod_groups import PodGroup
from policies.model.constraint import WhenUnsatisfiable
from policies.model.interpod_terms import InterPodTerm
from policies.model.node import Node
from policies.model.pod_reading import EVERY_AMOUNT
from policies.model.pod_volumes import NO_VOLUMES
from policies.scheduler.eligibility import eligible_nodes, required_keys
from policies.scheduler.evaluate import count_spread
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.plugins.interpodaffinity import ANTI_AFFINITY, EXISTING, InterPodCounts
from policies.scheduler.plugins.noderesources import TOO_MANY_PODS, compared_requests, insufficient
from policies.scheduler.plugins.podtopologyspread.filtering import MISSING_KEY, SKEW_TOO_LARGE
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Rejections

#: The plugins of which an empty node alone tells nothing.
_COUNTED: Final = frozenset({Plugin.POD_TOPOLOGY_SPREAD, Plugin.INTER_POD_AFFINITY})


class FirstRejection(NamedTuple):
    """Why a node takes no pod of a group: what the first filter says that rejects it.

    Attributes:
        texts: The reasons.
        by_skew: Whether a spread constraint rejects the node for its skew.
    """

    texts: tuple[str, ...]
    by_skew: bool = False


_SKEW: Final = FirstRejection(SKEW_TOO_LARGE.texts, by_skew=True)
_NO_KEY: Final = FirstRejection(MISSING_KEY.texts)
_ANTI_AFFINITY: Final = FirstRejection(ANTI_AFFINITY.texts)
_EXISTING: Final = FirstRejection(EXISTING.texts)
#: What rejects nodes of the cluster for good; nobody asks why.
_NEVER: Final = FirstRejection(())


#: A domain, by its topology key and its value.
_Domain: TypeAlias = tuple[str, str]


class _Refusal(NamedTuple):
    """Why spread or anti-affinity rejects a node; of a skew, which constraint, and the minimum."""

    rejection: FirstRejection
    constraint: int = 0
    minimum: int = 0


class _OnNewNodes(NamedTuple):
    """How the nodes of a node group meet a group of pods.

    Attributes:
        rejection: Why they take none, whatever comes; None if they may.
        counted: Whether pods on them count, for each constraint.
    """

    rejection: FirstRejection | None
    counted: tuple[bool, ...]


class _Tally:
    """The matching pods of the domains of a constraint.

    Attributes:
        counts: Of each domain.
        least: The fewest of any domain.
    """

    __slots__ = ("_with", "counts", "least")

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        self._with = Counter(self.counts.values())
        self.least = min(self.counts.values(), default=0)

    def copy(self) -> _Tally:
        """Return a tally of its own."""
        twin = _Tally({})
        twin.counts, twin._with, twin.least = dict(self.counts), self._with.copy(), self.least
        return twin

    def add_domain(self, domain: str) -> None:
        """Add a domain without pods, unless it is there."""
        if domain not in self.counts:
            self.counts[domain] = self.least = 0
            self._with[0] += 1

    def add_pod(self, domain: str) -> None:
        """Count a pod of a domain."""
        count = self.counts[domain]
        self.counts[domain] = count + 1
        self._with[count] -= 1
        self._with[count + 1] += 1
        if count == self.least and not self._with[count]:
            self.least += 1


class PodGroupFacts:
    """What follows for a group of pods from the nodes of a cluster as it is.

    Attributes:
        group: The group.
        compared: What a node must have left.
        taken: What a pod takes of its node.
        domains: The matching pods by domain, of each constraint.
        by_filters: Whether each pod goes through all filters.
        open: The positions of the nodes that may take some, but for the skew.
        closed: The domains that anti-affinity closes: terms of the pod itself, and those of running pods.
    """

    def __init__(self, group: PodGroup, cluster: ClusterIndex) -> None:
        self.group = group
        request = group.request
        self.compared = {PODS: 1, **compared_requests(request)}
        self.taken = {PODS: 1, **dict(request.pod.requests)}
        with cluster.reading():
            view = NodeView(cluster, request.pod)
            counts = InterPodCounts(view, request)
            self.by_filters = _needs_filters(view, request)
            self.domains = [_Tally(each.domains.by_value()) for each in count_spread(request, cluster)]
            self._counted = _counted(view, request)
            self.open = [] if self.by_filters else _open_nodes(view, request)
            self.terms = counts.resolved(request.pod.terms.anti_affinity)
            own = ((term, counts.selected_by_all([term])) for term in self.terms)
            self.closed = (
                _closed(view, own),
                _closed(view, counts.of_running(cluster.anti_affinity)),
            )
        self._of_group: dict[str, _OnNewNodes] = {}

    def counts(self, constraint: int, position: int) -> bool:
        """Return whether pods on a node of the cluster count for a constraint."""
        return self._counted[constraint][position]

    def on(self, group: ScaledGroup, alone: Callable[[ScaledGroup], ClusterIndex]) -> _OnNewNodes:
        """Return how new nodes of a group meet the pods.

        Args:
            group: The node group.
            alone: Returns a cluster with one such node.
        """
        found = self._of_group.get(group.name)
        if found is None:
            request = self.group.request
            view = NodeView(alone(group), request.pod)
            rejections, _ = filter_nodes(view, request)
            lasting = [each for each in rejections if each.plugin not in _COUNTED]
            counted = tuple(each[0] for each in _counted(view, request))
            found = self._of_group[group.name] = _OnNewNodes(_first(lasting, 0), counted)
        return found

    def matched_by(self, other: PodGroup) -> list[int]:
        """Return the positions of the constraints that count the pods of another group."""
        request, pod = self.group.request, other.request.pod
        if request.pod.namespace != pod.namespace:
            return []
        return [
            position
            for position, applied in enumerate(request.constraints)
            if applied.selector is not None
            and not applied.counts_nothing(request.behavior)
            and applied.selector.matches(pod.labels)
        ]


def _needs_filters(view: NodeView, request: SchedulingRequest) -> bool:
    """Return whether more changes for a pod as others come than what is counted."""
    pod = request.pod
    if pod.terms.affinity or pod.ports or pod.volumes is not NO_VOLUMES:
        return True
    return pod.reading.amounts != EVERY_AMOUNT or bool(view.index.nominated_pods())


def _closed(view: NodeView, terms: Iterable[tuple[InterPodTerm, NDArray[np.int64]]]) -> frozenset[_Domain]:
    """Return the domains with any of the pods that terms are about, counted by node."""
    found = set[_Domain]()
    for term, pods in terms:
        label = view.label(term.topology_key)
        numbers = np.unique(label.numbers[label.present & (pods > 0)])
        found |= {(term.topology_key, label.texts[number]) for number in numbers.tolist()}
    return frozenset(found)


def _counted(view: NodeView, request: SchedulingRequest) -> list[list[bool]]:
    """Return on which nodes pods count, for each constraint."""
    constraints = [applied.constraint for applied in request.constraints]
    keys = required_keys(constraints, WhenUnsatisfiable.DO_NOT_SCHEDULE)
    found = (eligible_nodes(each, view, keys=keys, behavior=request.behavior) for each in constraints)
    return [nodes.tolist() for nodes in found]


def _open_nodes(view: NodeView, request: SchedulingRequest) -> list[int]:
    """Return the positions of the nodes that every filter lets pass, but for the skew."""
    rejections, _ = filter_nodes(view, request, pre_filter(view, request))
    passed = np.ones(len(view.slots), np.bool_)
    for each in rejections:
        skewed = each.reasons.index(SKEW_TOO_LARGE) + 1 if SKEW_TOO_LARGE in each.reasons else 0
        passed &= (each.of_node == 0) | ((each.of_node == skewed) & (skewed > 0))
    return np.flatnonzero(passed).tolist()


def _first(rejections: Iterable[Rejections], position: int) -> FirstRejection | None:
    """Return what the first filter says that rejects a node; None if none does."""
    for each in rejections:
        number = int(each.of_node[position])
        if number:
            reason = each.reasons[number - 1]
            return FirstRejection(reason.texts, by_skew=reason == SKEW_TOO_LARGE)
    return None


class _Effect(NamedTuple):
    """What a pod of a group changes for others where it comes.

    Attributes:
        counted: The constraints that count it, as group and position.
        closes: The groups to which it closes a domain, with the topology key and whether by their own terms.
    """

    counted: list[tuple[int, int]]
    closes: list[tuple[int, str, bool]]


class ClusterFacts:
    """A cluster as it is, and how groups of pods meet its nodes.

    Attributes:
        cluster: The cluster, which must not change.
        pods: Of each group.
        names: The names of the nodes.
        labels: The labels of each.
    """

    def __init__(self, cluster: ClusterIndex, groups: Sequence[PodGroup]) -> None:
        self.cluster = cluster
        self.pods = [PodGroupFacts(group, cluster) for group in groups]
        self.names = cluster.nodes.names()
        self.labels = [node.labels for node in cluster.nodes.listed()]
        self.resources = sorted({name for facts in self.pods for name in (*facts.compared, *facts.taken)})
        self._namespaces = {name: namespace.labels for name, namespace in cluster.snapshot.namespaces.items()}
        self._effects: dict[int, _Effect] = {}
        self._free: list[list[int]] = []
        self._alone: dict[str, ClusterIndex] = {}

    def room(self, position: int) -> dict[str, int]:
        """Return what a node of the cluster has left of what pods ask for."""
        if not self._free:
            view = NodeView(self.cluster, self.pods[0].group.request.pod)
            for name in self.resources:
                allocatable, used = view.resource(name)
                self._free.append((allocatable - used).tolist())
        return {name: free[position] for name, free in zip(self.resources, self._free, strict=True)}

    def on(self, number: int, group: ScaledGroup) -> _OnNewNodes:
        """Return how new nodes of a group meet a group of pods."""
        return self.pods[number].on(group, self._only_node)

    def _only_node(self, group: ScaledGroup) -> ClusterIndex:
        alone = self._alone.get(group.name)
        if alone is None:
            alone = self._alone[group.name] = ClusterIndex()
            alone.nodes.put(group.node(group.name))
        return alone

    def effect(self, number: int) -> _Effect:
        """Return what a pod of a group changes for others, and for those of its own group."""
        found = self._effects.get(number)
        if found is None:
            placed = self.pods[number]
            found = self._effects[number] = _Effect([], [])
            for other, facts in enumerate(self.pods):
                found.counted.extend((other, position) for position in facts.matched_by(placed.group))
                own = self._selecting(facts.terms, placed.group)
                running = self._selecting(placed.terms, facts.group)
                found.closes.extend((other, term.topology_key, True) for term in own)
                found.closes.extend((other, term.topology_key, False) for term in running)
        return found

    def _selecting(self, terms: Iterable[InterPodTerm], group: PodGroup) -> Iterator[InterPodTerm]:
        pod = group.request.pod
        labels = self._namespaces.get(pod.namespace, {})
        return (term for term in terms if term.selects(pod.namespace, labels, pod.labels))


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
        self._open = [list(each.open) for each in facts.pods]
        self._own_open = set(range(len(facts.pods)))
        self._closed = [list(each.closed) for each in facts.pods]
        # Spots that are too skewed while the minimum of a constraint is not above one, by both.
        self._parked: list[dict[tuple[int, int], tuple[int, ...]]] = [{} for _ in facts.pods]
        self._placed: list[tuple[int, str, int]] = []
        self._engine: ClusterIndex | None = None
        self._synced = (0, 0)
        # Where the last search ended, of all forks; the first one begins after the first node.
        self._last = [0]

    def fork(self) -> Packing:
        """Return a copy that goes its own way."""
        twin = Packing(self.facts)
        twin.added, twin._placed = list(self.added), list(self._placed)
        twin._room, self._own_room = dict(self._room), set()
        twin._tallies = [list(each) for each in self._tallies]
        twin._open, twin._own_open = list(self._open), set()
        self._own_open, self._own_tallies = set(), set()
        twin._closed = [list(each) for each in self._closed]
        twin._parked = [dict(each) for each in self._parked]
        twin._engine = None if self._engine is None else self._engine.fork("")
        twin._synced, twin._last = self._synced, self._last
        return twin

    @property
    def spots(self) -> int:
        """How many nodes there are."""
        return len(self.facts.names) + len(self.added)

    def add(self, group: ScaledGroup, name: str) -> int:
        """Add a node of a group; return its spot."""
        spot, node = self.spots, group.node(name)
        self.added.append((node, group))
        for number, facts in enumerate(self.facts.pods):
            found = self.facts.on(number, group)
            for position, applied in enumerate(facts.group.request.constraints):
                if found.counted[position]:
                    domain = node.labels[applied.constraint.topology_key]
                    if domain not in self._tallies[number][position].counts:
                        self._tally(number, position).add_domain(domain)
            if found.rejection is None and not facts.by_filters:
                self._open_of(number).append(spot)
        return spot

    def check(self, number: int, spot: int) -> FirstRejection | None:
        """Return why a node that was added takes no pod of a group; None if it does."""
        facts = self.facts.pods[number]
        if facts.by_filters:
            name = self.added[spot - len(self.facts.names)][0].name
            rejections = self._filtered(number)
            return _first(rejections, self._synchronized().nodes.positions()[name])
        found = self.facts.on(number, self.added[spot - len(self.facts.names)][1])
        rejection = found.rejection or self._lacking(facts, spot)
        refusal = None if rejection is not None else self._refused(number, self._labels(spot))
        return rejection if refusal is None else refusal.rejection

    def check_new(self, number: int, group: ScaledGroup) -> FirstRejection | None:
        """Return why a new node of a group would take no pod of a group; None if it would."""
        name = next(self.new_names(group))
        if self.facts.pods[number].by_filters:
            trial = self.fork()
            return trial.check(number, trial.add(group, name))
        found = self.facts.on(number, group)
        if found.rejection is not None:
            return found.rejection
        refusal = self._refused(number, group.node(name).labels, found.counted)
        return None if refusal is None else refusal.rejection

    def find(self, number: int, *, since: int = 0, but: int = -1) -> int | None:
        """Return a spot that takes a pod of a group: the first after the one found last; None if none does.

        Args:
            number: The group.
            since: The first spot that is looked at.
            but: A spot that is left out.
        """
        if self.facts.pods[number].by_filters:
            return self._after_last(spot for spot in self._feasible(number) if spot >= since and spot != but)
        self._unpark(number)
        facts, may, gone, found = self.facts.pods[number], self._open[number], set[int](), None
        after, first = bisect_right(may, self._last[0]), bisect_left(may, since)
        # From the one after the last, and on from the first.
        for at in (*range(max(after, first), len(may)), *range(first, after)):
            spot = may[at]
            if spot == but:
                continue
            if self._lacking(facts, spot) is not None:
                # Nothing makes room again.
                gone.add(spot)
                continue
            refusal = self._refused(number, self._labels(spot))
            if refusal is None:
                found = self._last[0] = spot
                break
            gone.add(spot)
            if refusal.rejection is _SKEW:
                key = (refusal.constraint, refusal.minimum)
                self._parked[number][key] = (*self._parked[number].get(key, ()), spot)
        if gone:
            self._open[number] = [spot for spot in may if spot not in gone]
            self._own_open.add(number)
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
            spots = [spot for key in back for spot in parked.pop(key)]
            self._open[number] = sorted([*self._open[number], *spots])
            self._own_open.add(number)

    def _minimum(self, number: int, position: int) -> int:
        constraint = self.facts.pods[number].group.request.constraints[position].constraint
        tally = self._tallies[number][position]
        return tally.least if len(tally.counts) >= max(constraint.min_domains, 1) else 0

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
        room, labels = self._room_of(spot), self._labels(spot)
        if spot not in self._own_room:
            self._own_room.add(spot)
            room = self._room[spot] = dict(room)
        for resource, amount in self.facts.pods[number].taken.items():
            room[resource] -= amount * len(names)
        effect = self.facts.effect(number)
        for name in names:
            self._placed.append((number, name, spot))
            for other, position in effect.counted:
                if self._counts(other, position, spot):
                    constraint = self.facts.pods[other].group.request.constraints[position].constraint
                    self._tally(other, position).add_pod(labels[constraint.topology_key])
        for other, key, own in effect.closes:
            if key in labels:
                self._closed[other][not own] |= {(key, labels[key])}

    def _tally(self, number: int, position: int) -> _Tally:
        """Return a tally that may be changed."""
        if (number, position) not in self._own_tallies:
            self._own_tallies.add((number, position))
            self._tallies[number][position] = self._tallies[number][position].copy()
        return self._tallies[number][position]

    def _open_of(self, number: int) -> list[int]:
        """Return the open spots of a group, which may be changed."""
        if number not in self._own_open:
            self._own_open.add(number)
            self._open[number] = list(self._open[number])
        return self._open[number]

    def _lacking(self, facts: PodGroupFacts, spot: int) -> FirstRejection | None:
        room = self._room_of(spot)
        short = [name for name, amount in facts.compared.items() if amount > room[name]]
        if not short:
            return None
        return FirstRejection(tuple(TOO_MANY_PODS if name == PODS else insufficient(name) for name in short))

    def _refused(self, number: int, labels: Mapping[str, str], new: tuple[bool, ...] = ()) -> _Refusal | None:
        """Return why spread or anti-affinity rejects a node, as ``podtopologyspread.filtering`` has it.

        Args:
            number: The group of pods.
            labels: The labels of the node.
            new: Of a node that is not there yet, whether pods on it count for each constraint.
        """
        for position, applied in enumerate(self.facts.pods[number].group.request.constraints):
            constraint, tally = applied.constraint, self._tallies[number][position]
            domain = labels.get(constraint.topology_key)
            if domain is None:
                return _Refusal(_NO_KEY)
            least, domains = tally.least, len(tally.counts)
            if new and new[position] and domain not in tally.counts:
                least, domains = 0, domains + 1
            minimum = least if domains >= max(constraint.min_domains, 1) else 0
            if tally.counts.get(domain, 0) + applied.self_match - minimum > constraint.max_skew:
                return _Refusal(_SKEW, position, minimum)
        own, running = self._closed[number]
        if own and any(labels.get(key) == value for key, value in own):
            return _Refusal(_ANTI_AFFINITY)
        if running and any(labels.get(key) == value for key, value in running):
            return _Refusal(_EXISTING)
        return None

    def _room_of(self, spot: int) -> dict[str, int]:
        room = self._room.get(spot)
        if room is None:
            existing = len(self.facts.names)
            if spot < existing:
                room = self.facts.room(spot)
            else:
                allocatable = self.added[spot - existing][0].allocatable
                room = {name: allocatable.get(name, 0) for name in self.facts.resources}
            self._room[spot] = room
        return room

    def _labels(self, spot: int) -> Mapping[str, str]:
        existing = len(self.facts.names)
        return self.facts.labels[spot] if spot < existing else self.added[spot - existing][0].labels

    def _counts(self, number: int, position: int, spot: int) -> bool:
        existing = len(self.facts.names)
        if spot < existing:
            return self.facts.pods[number].counts(position, spot)
        return self.facts.on(number, self.added[spot - existing][1]).counted[position]

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
        existing = len(self.facts.names)
        for number, name, spot in self._placed[pods:]:
            node_name = self.facts.names[spot] if spot < existing else self.added[spot - existing][0].name
            self._engine.bind(self.facts.pods[number].group.request.pod, f"/{name}", node_name)
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
