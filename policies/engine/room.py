"""How many pods hard constraints leave room for, however the scheduler places them one after another.

An upper bound, and a certain one. With ``minimum`` the smallest count over a constraint's domains, a domain
takes a pod only while its count stays within ``minimum + maxSkew``; and the minimum grows only once every
domain holds more than it. So the highest minima that could ever be reached are found by raising them from 0
while there is room, and the room at those minima is the most that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The domains of one topology key that pods can go to, and how many each may hold.

    Each is itself only: what was found out about some families is kept by who they are.

    Attributes:
        key: The topology key.
        domains: The names of the usable nodes of each domain that has some.
        limit: How many pods a domain may hold above the minimum.
        rises: Whether the minimum can be more than 0: no domain counts that no pod can reach, and there are
            as many as ``minDomains`` asks for.
    """

    key: str
    domains: Mapping[str, frozenset[str]]
    limit: int
    rises: bool


def most_pods(families: Sequence[Family], wanted: int) -> int | None:
    """Return how many pods fit at most.

    Args:
        families: What every hard constraint allows, each over the same nodes.
        wanted: How many are wanted.

    Returns:
        None if ``wanted`` may fit, or if the domains of one key overlap with those of another so that neither
        holds the other whole (racks and rows): of that nothing is said.

    >>> hosts = Family("host", {name: frozenset({name}) for name in "abcd"}, 1, rises=True)
    >>> zones = Family("zone", {"x": frozenset("abc"), "y": frozenset("d")}, 1, rises=True)
    >>> most_pods([hosts, zones], 4), most_pods([hosts], 99), most_pods([zones], 99)
    (3, None, None)
    """
    levels = _levels(families)
    if levels is None:
        return None
    while True:
        room = levels.room()
        if room is None or room >= wanted:
            return None
        if not levels.rise():
            return room


@dataclass(slots=True)
class _Levels:
    """Families from the finest to the coarsest, each domain with the domains of the level below in it.

    Attributes:
        families: The families.
        children: For each level, for each domain, the positions of its domains one level below.
        minima: The highest minimum that each family is known to be able to reach.
    """

    families: list[Family]
    children: list[list[list[int]]]
    minima: list[int]

    def room(self) -> int | None:
        """Return how many pods fit at these minima; None without families."""
        return sum(self._most(len(self.families) - 1)) if self.families else None

    def rise(self) -> bool:
        """Raise the first minimum that can be raised by one; False if none can."""
        for level, family in enumerate(self.families):
            if family.rises and self._can_rise(level):
                self.minima[level] += 1
                return True
        return False

    def _cap(self, level: int) -> int:
        return self.minima[level] + self.families[level].limit

    def _most(self, top: int) -> list[int]:
        """Return how many pods each domain of a level can hold, given its own limit and those below."""
        most = [self._cap(0)] * len(self.families[0].domains)
        for level in range(1, top + 1):
            cap = self._cap(level)
            most = [min(cap, sum(most[child] for child in inside)) for inside in self.children[level]]
        return most

    def _can_rise(self, level: int) -> bool:
        """Tell whether every domain of a level could hold one pod more than the minimum at the same time."""
        least = self.minima[level] + 1
        if min(self._most(level), default=0) < least:
            return False
        needed = [least] * len(self.families[level].domains)
        for above in range(level + 1, len(self.families)):
            needed = [sum(needed[child] for child in inside) for inside in self.children[above]]
            if max(needed) > self._cap(above):
                return False
        return True


def _levels(families: Sequence[Family]) -> _Levels | None:
    """Order families so that each domain lies within one of the next; None if that cannot be."""
    ordered = sorted(families, key=lambda family: -len(family.domains))
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
