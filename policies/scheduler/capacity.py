"""How many pods fit under hard constraints, in whatever order the scheduler places them.

An upper bound, and a certain one. With ``minimum`` the smallest count over a constraint's domains, a domain
takes a pod only while its count stays within ``minimum + maxSkew``; and the minimum grows only once every
domain holds more than it. So the highest minima that could ever be reached are found by raising them from 0
while pods fit, and what fits at those minima is the most that ever does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: Pods that a node never holds: kubelets are run with 110 to 500. Together with the next it bounds what
#: the search costs, whatever number of replicas a manifest has.
MOST_ON_A_NODE: Final = 1_000
#: Pods that a cluster never holds: https://kubernetes.io/docs/setup/best-practices/cluster-large/.
MOST_IN_A_CLUSTER: Final = 150_000


@dataclass(frozen=True, slots=True, eq=False)
class DomainCapacities:
    """The domains of one topology key that pods can go to, and how many each may hold.

    Each is itself only: what was found out about some capacities is kept by who they are.

    Attributes:
        key: The topology key.
        domains: The names of the usable nodes of each domain that has some.
        limit: How many pods a domain may hold above the minimum.
        rises: Whether the minimum can be more than 0: no domain counts that no pod can reach, and there are
            as many as ``minDomains`` requires.
    """

    key: str
    domains: Mapping[str, frozenset[str]]
    limit: int
    rises: bool


def max_pods(capacities: Sequence[DomainCapacities], wanted: int) -> int | None:
    """Return how many pods fit at most.

    Args:
        capacities: What every hard constraint allows, each over the same nodes.
        wanted: How many are wanted.

    Returns:
        None if ``wanted`` may fit, or more than so many nodes ever hold; or if the domains of one key overlap
        with those of another so that neither holds the other whole (racks and rows): of that nothing is said.

    >>> hosts = DomainCapacities("host", {name: frozenset({name}) for name in "abcd"}, 1, rises=True)
    >>> zones = DomainCapacities("zone", {"x": frozenset("abc"), "y": frozenset("d")}, 1, rises=True)
    >>> max_pods([hosts, zones], 4), max_pods([hosts], 99), max_pods([zones], 99)
    (3, None, None)
    """
    levels = _levels(capacities)
    if levels is None:
        return None
    nodes = sum(map(len, levels.capacities[0].domains.values())) if capacities else 0
    wanted = min(wanted, MOST_IN_A_CLUSTER, MOST_ON_A_NODE * max(1, nodes))
    while True:
        room = levels.room()
        if room is None or room >= wanted:
            return None
        if not levels.rise():
            return room


@dataclass(slots=True)
class _Levels:
    """Capacities from the finest to the coarsest, each domain with the domains of the level below in it.

    Attributes:
        capacities: The capacities.
        children: For each level, for each domain, the positions of its domains one level below.
        minima: The highest minimum that each capacity is known to be able to reach.
    """

    capacities: list[DomainCapacities]
    children: list[list[list[int]]]
    minima: list[int]

    def room(self) -> int | None:
        """Return how many pods fit at these minima; None without capacities."""
        return sum(self._most(len(self.capacities) - 1)) if self.capacities else None

    def rise(self) -> bool:
        """Raise the first minimum that can be raised, as far as that goes; False if none can."""
        for level, capacity in enumerate(self.capacities):
            before = self.minima[level]
            step = 1 if capacity.rises else 0
            # Twice as far each time it went well, and half as far each time it did not.
            while step and self._can_hold(level, self.minima[level] + step):
                self.minima[level] += step
                step *= 2
            while step := step // 2:
                if self._can_hold(level, self.minima[level] + step):
                    self.minima[level] += step
            if self.minima[level] > before:
                return True
        return False

    def _cap(self, level: int) -> int:
        return self.minima[level] + self.capacities[level].limit

    def _most(self, top: int) -> list[int]:
        """Return how many pods each domain of a level can hold, given its own limit and those below."""
        most = [self._cap(0)] * len(self.capacities[0].domains)
        for level in range(1, top + 1):
            cap = self._cap(level)
            most = [min(cap, sum(most[child] for child in inside)) for inside in self.children[level]]
        return most

    def _can_hold(self, level: int, least: int) -> bool:
        """Return whether every domain of a level could hold so many pods, more than the minimum."""
        if least > MOST_IN_A_CLUSTER:
            return False
        # Its own limit rises with the minimum, one by one, and is never what is in the way.
        below = self._most(level - 1) if level else []
        inside = self.children[level]
        if level and min((sum(below[child] for child in children) for children in inside), default=0) < least:
            return False
        if not self.capacities[level].domains:
            return False
        needed = [least] * len(self.capacities[level].domains)
        for above in range(level + 1, len(self.capacities)):
            needed = [sum(needed[child] for child in inside) for inside in self.children[above]]
            if max(needed) > self._cap(above):
                return False
        return True


def _levels(capacities: Sequence[DomainCapacities]) -> _Levels | None:
    """Order capacities so that each domain lies within one of the next; None if that cannot be."""
    ordered = sorted(capacities, key=lambda capacity: -len(capacity.domains))
    children: list[list[list[int]]] = [[]]
    for fine, coarse in pairwise(ordered):
        inside: list[list[int]] = []
        placed = 0
        domains = list(fine.domains.values())
        home = {node: number for number, nodes in enumerate(domains) for node in nodes}
        for nodes in coarse.domains.values():
            numbers = sorted({home[node] for node in nodes if node in home})
            if any(not domains[number] <= nodes for number in numbers):
                return None
            placed += len(numbers)
            inside.append(numbers)
        if placed != len(domains):
            return None
        children.append(inside)
    return _Levels(ordered, children, [0] * len(ordered))
