"""The matching pods of domains, and the domains that anti-affinity closes, counted on as pods come.

It is what the filters PodTopologySpread and InterPodAffinity compute of a whole cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from policies.scheduler.plugins.interpodaffinity import ANTI_AFFINITY, EXISTING
from policies.scheduler.plugins.podtopologyspread.filtering import MISSING_KEY, SKEW_TOO_LARGE
from policies.scheduler.result import Rejections

#: A domain, by its topology key and its value.
Domain: TypeAlias = tuple[str, str]


class FirstRejection(NamedTuple):
    """Why a node takes no pod of a group: what the first filter says that rejects it.

    Attributes:
        texts: The reasons.
        by_skew: Whether a spread constraint rejects the node for its skew.
    """

    texts: tuple[str, ...]
    by_skew: bool = False


def first_rejection(rejections: Iterable[Rejections], position: int) -> FirstRejection | None:
    """Return the reason of the first filter that rejects a node; None if none does."""
    for each in rejections:
        number = int(each.of_node[position])
        if number:
            reason = each.reasons[number - 1]
            return FirstRejection(reason.texts, by_skew=reason == SKEW_TOO_LARGE)
    return None


class SkewLimit(NamedTuple):
    """The numbers that a constraint compares for each node.

    Attributes:
        key: The topology key.
        most: By how many pods a domain may exceed the minimum without the pod itself.
        min_domains: With fewer domains the minimum is 0; 1 at least.
    """

    key: str
    most: int
    min_domains: int


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

    def add_domain(self, number: int, position: int, domain: str) -> None:
        """Add a domain to those of a constraint, unless it is there."""
        if domain not in self.tallies[number][position].counts:
            self._changing(number, position).add_domain(domain)

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
