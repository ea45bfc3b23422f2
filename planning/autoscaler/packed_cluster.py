"""What changes of a cluster as pods come to it, and so why a node takes no further one.

The matching pods of domains and the domains that anti-affinity closes are counted on, which is what the
filters PodTopologySpread and InterPodAffinity compute of a whole cluster; for some pods all filters are run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from policies.model.node import Node
from policies.model.pod import Pod
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugin_registry import filter_nodes, pre_filter
from policies.scheduler.plugins.interpodaffinity import ANTI_AFFINITY, EXISTING
from policies.scheduler.plugins.podtopologyspread.filtering import MISSING_KEY, SKEW_TOO_LARGE
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Rejections

#: A domain, by its topology key and its value.
Domain: TypeAlias = tuple[str, str]


class FirstRejection(NamedTuple):
    """Why a node takes no pod of a group: what the first filter says that rejects it."""

    texts: tuple[str, ...]  #: The reasons.
    by_skew: bool = False  #: Whether a spread constraint rejects the node for its skew.


def first_rejection(rejections: Iterable[Rejections], position: int) -> FirstRejection | None:
    """Return the reason of the first filter that rejects a node; None if none does."""
    for each in rejections:
        number = int(each.of_node[position])
        if number:
            reason = each.reasons[number - 1]
            return FirstRejection(reason.texts, by_skew=reason == SKEW_TOO_LARGE)
    return None


class SkewLimit(NamedTuple):
    """The numbers that a constraint compares for each node."""

    key: str  #: The topology key.
    most: int  #: By how many pods a domain may exceed the minimum without the pod itself.
    min_domains: int  #: With fewer domains the minimum is 0; 1 at least.


class PodTally:
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

    def copy(self) -> PodTally:
        """Return a tally of its own."""
        twin = PodTally({})
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


_SKEW: Final = FirstRejection(SKEW_TOO_LARGE.texts, by_skew=True)
_NO_KEY: Final = FirstRejection(MISSING_KEY.texts)
_ANTI_AFFINITY: Final = FirstRejection(ANTI_AFFINITY.texts)
_EXISTING: Final = FirstRejection(EXISTING.texts)


class PackedDomains:
    """The domains of groups of pods; what copies share is not changed.

    Attributes:
        tallies: The matching pods by domain, of each constraint of each group.

    Args:
        limits: The constraints of each group.
        tallies: Their pods.
        closed: Of each group the domains that its own anti-affinity closes, and those that running pods do.
    """

    def __init__(
        self,
        limits: Sequence[Sequence[SkewLimit]],
        tallies: Iterable[Sequence[PodTally]],
        closed: Iterable[Sequence[frozenset[Domain]]],
    ) -> None:
        self._limits, self.tallies = limits, [list(each) for each in tallies]
        self._closed = [list(each) for each in closed]
        self._own = set[tuple[int, int]]()

    def fork(self) -> PackedDomains:
        """Return a copy that is counted on by itself."""
        self._own = set()
        return PackedDomains(self._limits, self.tallies, self._closed)

    def minimum(self, number: int, position: int) -> int:
        """Return the global minimum of a constraint of a group."""
        tally = self.tallies[number][position]
        return tally.least if len(tally.counts) >= self._limits[number][position].min_domains else 0

    def closed(self, number: int) -> frozenset[Domain]:
        """Return the domains in which anti-affinity allows no pod of a group."""
        own, running = self._closed[number]
        return own | running

    def add_node(self, counted: Iterable[tuple[int, int, str]], labels: Mapping[str, str]) -> None:
        """Add the domains of a node, by its labels, to the constraints that count pods on it."""
        for number, position, key in counted:
            if labels[key] not in self.tallies[number][position].counts:
                self._changing(number, position).add_domain(labels[key])

    def add_pods(self, number: int, position: int, domain: str, pods: int) -> None:
        """Count pods of a domain for a constraint."""
        tally = self._changing(number, position)
        for _ in range(pods):
            tally.add_pod(domain)

    def close(self, number: int, domain: Domain, *, own: bool) -> None:
        """Close a domain to a group, by its own terms or those of a pod that came."""
        self._closed[number][not own] |= {domain}

    def _changing(self, number: int, position: int) -> PodTally:
        """Return a tally that may be changed."""
        if (number, position) not in self._own:
            self._own.add((number, position))
            self.tallies[number][position] = self.tallies[number][position].copy()
        return self.tallies[number][position]

    def rejection(
        self, number: int, labels: Mapping[str, str], new: tuple[bool, ...] = ()
    ) -> FirstRejection | None:
        """Return why spread or anti-affinity rejects a node; None if neither does.

        Args:
            number: The group of pods.
            labels: The labels of the node.
            new: Of a node that is not there yet, whether pods on it count for each constraint.
        """
        tallies = self.tallies[number]
        for position, (key, most, min_domains) in enumerate(self._limits[number]):
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


class FilteredCluster:
    """A cluster that is copied, and gets what came, once the filters are run of it.

    Args:
        cluster: The cluster as it was, which stays so.
    """

    def __init__(self, cluster: ClusterIndex) -> None:
        self._cluster, self._changed = cluster, False
        self._nodes: list[Node] = []
        self._pods: list[tuple[Pod, Sequence[str], str]] = []

    def fork(self) -> FilteredCluster:
        """Return a copy that goes its own way."""
        twin = FilteredCluster(self._cluster.fork("") if self._changed else self._cluster)
        twin._changed, twin._nodes, twin._pods = self._changed, list(self._nodes), list(self._pods)
        return twin

    def add(self, node: Node) -> None:
        """Add a node."""
        self._nodes.append(node)

    def bind(self, pod: Pod, names: Sequence[str], node: str) -> None:
        """Put pods that are alike on a node, by their names."""
        self._pods.append((pod, names, node))

    def rejection(self, request: SchedulingRequest, node: str) -> FirstRejection | None:
        """Return why a node takes no pod of a request; None if it does."""
        return first_rejection(self._rejections(request), self._cluster.nodes.positions()[node])

    def feasible(self, request: SchedulingRequest) -> set[str]:
        """Return the names of the nodes that all filters let pass."""
        feasible = np.logical_and.reduce([each.of_node == 0 for each in self._rejections(request)])
        names = self._cluster.nodes.names()
        return {names[position] for position in np.flatnonzero(feasible).tolist()}

    def _rejections(self, request: SchedulingRequest) -> tuple[Rejections, ...]:
        """Return what the filters reject, of the cluster with all nodes and pods that came."""
        if not self._changed:
            self._cluster, self._changed = self._cluster.fork(""), True
        for node in self._nodes:
            self._cluster.nodes.put(node)
        for pod, names, place in self._pods:
            for name in names:
                self._cluster.bind(pod, f"/{name}", place)
        self._nodes, self._pods = [], []
        with self._cluster.reading():
            view = NodeView(self._cluster, request.pod)
            return filter_nodes(view, request, pre_filter(view, request)).rejections
