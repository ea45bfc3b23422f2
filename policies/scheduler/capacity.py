"""How many pods fit under hard constraints, in whatever order the scheduler places them.

An upper bound, and a certain one. With ``minimum`` the smallest count over a constraint's domains, a domain
takes a pod only while its count stays within ``minimum + maxSkew``; and the minimum grows only once every
domain holds more than it. So the highest minima that could ever be reached are found by raising them from 0
while pods fit, and what fits at those minima is the most that ever does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import sub
from typing import Final, NamedTuple, TypeAlias

#: Pods that a node never holds: kubelets are run with 110 to 500. Together with the next it bounds what
#: the search costs, whatever number of replicas a manifest has.
MOST_ON_A_NODE: Final = 1_000
#: Comparisons up to which the highest minima are searched: they take some 10 ms. Two keys need some 50, and
#: region, zone and host some hundred, whatever the number of nodes and pods.
MOST_COMPARISONS: Final = 2_000
#: Shapes of domains in a shape that a comparison sums up in the time that it takes besides.
PAIRS_A_COMPARISON: Final = 16
#: Pods that a cluster never holds: https://kubernetes.io/docs/setup/best-practices/cluster-large/.
MOST_IN_A_CLUSTER: Final = 150_000


@dataclass(frozen=True, slots=True, eq=False)
class DomainCapacities:
    """The domains of one topology key that pods can go to, and how many each may hold.

    Each is itself only: what was found out about some capacities is kept by who they are.
    """

    key: str  #: The topology key.
    domains: Mapping[str, frozenset[str]]  #: The names of the usable nodes of each domain that has some.
    limit: int  #: How many pods a domain may hold above the minimum.
    #: Whether the minimum can be more than 0: no domain counts that no pod can reach, and there are as many
    #: as ``minDomains`` requires.
    rises: bool


class UndecidedError(Exception):
    """How many pods fit was not found within the comparisons that a search may take."""

    def __init__(self, what: str = "constraints", others: str = "each other") -> None:
        super().__init__(f"its {what} take too long to compare with {others}")


class Room(NamedTuple):
    """The result of a search for the largest number of pods that fit."""

    pods: int  #: How many pods fit.
    is_certain: bool  #: Whether no more do; the search was given up otherwise.

    def below(self, wanted: int) -> int | None:
        """Return how many pods fit; None if as many as are wanted may.

        Raises:
            UndecidedError: The search was given up before that many fit.
        """
        if self.pods >= wanted:
            return None
        if not self.is_certain:
            raise UndecidedError
        return self.pods


def most_pods(capacities: Sequence[DomainCapacities]) -> Room | None:
    """Return how many pods fit at most, whatever is wanted.

    Args:
        capacities: What every hard constraint allows, each over the same nodes.

    Returns:
        None if more may fit than the nodes ever hold. There is no result either if the domains of one key
        overlap with those of another so that neither holds the other whole (racks and rows).

    >>> hosts = DomainCapacities("host", {name: frozenset({name}) for name in "abcd"}, 1, rises=True)
    >>> zones = DomainCapacities("zone", {"x": frozenset("abc"), "y": frozenset("d")}, 1, rises=True)
    >>> most_pods([hosts, zones]).below(4), most_pods([hosts]), most_pods([zones])
    (3, None, None)
    """
    if not all(capacity.domains for capacity in capacities):
        return Room(0, is_certain=True)
    levels = _levels(capacities) if capacities else None
    if levels is None:
        return None
    try:
        room = Room(levels.room(levels.climb((0,) * len(levels.levels), 0, [])), is_certain=True)
    except UndecidedError:
        room = Room(levels.room(levels.reached), is_certain=False)
    nodes = sum(map(len, capacities[0].domains.values()))
    return room if room.pods < min(MOST_IN_A_CLUSTER, MOST_ON_A_NODE * max(1, nodes)) else None


#: One minimum for each level, the finest first.
_Minima: TypeAlias = tuple[int, ...]


class _Step(NamedTuple):
    """One minimum that rises."""

    before: _Minima  #: All minima before.
    level: int  #: Whose minimum rises.
    to: int  #: What it rises to.

    def later(self, rise: _Minima, times: int) -> _Step:
        """Return the same step when the minima have risen that many times more."""
        return _Step(_later(self.before, rise, times), self.level, self.to + times * rise[self.level])


def _later(minima: _Minima, rise: _Minima, times: int) -> _Minima:
    return tuple(low + times * by for low, by in zip(minima, rise, strict=True))


class _Level(NamedTuple):
    """The limits that all constraints on the same domains put on them together."""

    limit: int  #: How many pods a domain may hold above the minimum; 0 if that never rises.
    ceiling: int  #: How many it may hold whatever the minimum.
    #: What is in domains: pairs of a shape of the level below and how many of it. A cluster has thousands of
    #: domains, and few shapes.
    shapes: Sequence[tuple[tuple[int, int], ...]]
    inside: Sequence[int]  #: The most domains that are in one domain of each level above.

    def cap(self, minimum: int) -> int:
        """Return how many pods a domain may hold."""
        return min(minimum + self.limit, self.ceiling) if self.limit else self.ceiling


@dataclass(slots=True)
class _Levels:
    """Capacities from the finest to the coarsest, each domain with the domains of the level below in it."""

    levels: Sequence[_Level]  #: One for each set of domains.
    tops: Sequence[int]  #: How many domains of the coarsest have each of its shapes.
    sizes: Sequence[int]  #: What a comparison costs that looks at a level and those below.
    spent: int = 0  #: What all comparisons have cost.
    reached: _Minima = ()  #: The last minima that can be reached for certain.

    def __post_init__(self) -> None:
        self.reached = (0,) * len(self.levels)

    def room(self, minima: _Minima) -> int:
        """Return how many pods fit at these minima."""
        most = self._most(len(self.levels) - 1, minima)
        return sum(count * each for count, each in zip(self.tops, most, strict=True))

    def climb(self, minima: _Minima, level: int, steps: list[_Step]) -> _Minima:
        """Raise the minima from a level on as far as that goes, and note the steps.

        The minimum of a level rises by one, and the coarser ones as far as they can; and that as often as the
        same steps can be repeated. Whether a minimum can rise to some number is a comparison with sums and
        minima of minima, which is concave: what can be done now, and once more from where it ends when it was
        done many times, can be done each time in between. For the same reason all minima that can rise by one
        here and there can rise from here to there.

        Raises:
            UndecidedError: It takes too many comparisons.
        """
        self.reached = minima
        if level == len(minima) - 1:
            highest = max(minima[level], self._highest(level, minima))
            if highest > minima[level]:
                steps.append(_Step(minima, level, highest))
            return (*minima[:level], highest)
        minima = self.climb(minima, level + 1, steps)
        while self._highest(level, minima) > minima[level]:
            first = _Step(minima, level, minima[level] + 1)
            raised = (*minima[:level], first.to, *minima[level + 1 :])
            repeated = [first]
            after = self.climb(raised, level + 1, repeated)
            rise = tuple(map(sub, after, minima))
            steps += repeated
            if times := self._repeats(repeated, rise):
                steps += [step.later(rise, times) for step in repeated]
                # What ends a leap may let the coarser ones rise once more.
                minima = self.climb(_later(after, rise, times), level + 1, steps)
                continue
            each = [_Step(raised, place, low + 1) for place, low in enumerate(raised) if rise[place]]
            if times := self._repeats(each, rise) if self._can_repeat(each, rise, 0) else 0:
                steps += [step.later(rise, at) for step in each for at in (0, times)]
            minima = self.climb(tuple(map(max, after, _later(raised, rise, times))), level + 1, steps)
        return minima

    def _repeats(self, steps: Sequence[_Step], rise: _Minima) -> int:
        """Return how often the same steps can be made again, each time from where they ended."""
        times = 1
        while self._can_repeat(steps, rise, times):
            times *= 2
        step = times = times // 2
        while step := step // 2:
            if self._can_repeat(steps, rise, times + step):
                times += step
        return times

    def _can_repeat(self, steps: Sequence[_Step], rise: _Minima, times: int) -> bool:
        """Return whether steps can be made when they have been made that many times more."""
        repeated = (step.later(rise, times) for step in steps)
        return all(self._highest(level, before) >= to for before, level, to in repeated)

    def _most(self, top: int, minima: _Minima) -> list[int]:
        """Return how many pods a domain of each shape can hold, given its own limit and those below."""
        most = [self.levels[0].cap(minima[0])]
        for level, minimum in zip(self.levels[1 : top + 1], minima[1:], strict=False):
            cap = level.cap(minimum)
            most = [min(cap, held) for held in _sums(level.shapes, most)]
        return most

    def _highest(self, position: int, minima: _Minima) -> int:
        """Return how many pods every domain of a level could hold, whatever its own minimum.

        Raises:
            UndecidedError: There were too many comparisons.
        """
        level = self.levels[position]
        if not level.limit:
            return 0
        self.spent += self.sizes[position]
        if self.spent > MOST_COMPARISONS:
            raise UndecidedError
        held = _sums(level.shapes, self._most(position - 1, minima)) if position else ()
        above = zip(self.levels[position + 1 :], minima[position + 1 :], level.inside, strict=True)
        caps = (coarse.cap(minimum) // count for coarse, minimum, count in above)
        return min(MOST_IN_A_CLUSTER, level.ceiling, *held, *caps)


def _sums(shapes: Sequence[tuple[tuple[int, int], ...]], below: Sequence[int]) -> list[int]:
    """Return how many pods the domains in each shape can hold together."""
    return [sum(count * below[shape] for shape, count in inside) for inside in shapes]


def _levels(capacities: Sequence[DomainCapacities]) -> _Levels | None:
    """Order capacities so that each domain lies within one of the next; None if that cannot be."""
    ordered = sorted(capacities, key=lambda capacity: -len(capacity.domains))
    same = [[ordered[0]]]
    shapes: list[list[tuple[tuple[int, int], ...]]] = [[()]]
    of_domains = [0] * len(ordered[0].domains)
    inside: list[list[int]] = [[]]
    # For each level below, how many of its domains are in each domain.
    counts: list[list[int]] = []
    for fine, coarse in pairwise(ordered):
        children = _children(fine, coarse)
        if children is None:
            return None
        if len(children) == len(of_domains):
            same[-1].append(coarse)
            of_domains = [of_domains[child] for (child,) in children]
            counts = [[count[child] for (child,) in children] for count in counts]
            continue
        counts = [[sum(count[child] for child in within) for within in children] for count in counts]
        counts.append([len(within) for within in children])
        for count, above in zip(counts, inside, strict=True):
            above.append(max(count))
        within_each = [Counter(of_domains[child] for child in within) for within in children]
        numbers: dict[tuple[tuple[int, int], ...], int] = {}
        of_domains = [numbers.setdefault(tuple(sorted(one.items())), len(numbers)) for one in within_each]
        same.append([coarse])
        shapes.append(list(numbers))
        inside.append([])
    tops = Counter(of_domains)
    levels = map(_level, same, shapes, inside)
    pairs = accumulate(sum(map(len, of_level)) for of_level in shapes)
    sizes = [1 + count // PAIRS_A_COMPARISON for count in pairs]
    return _Levels(tuple(levels), [tops[shape] for shape in range(len(shapes[-1]))], sizes)


def _level(
    same: Sequence[DomainCapacities], shapes: Sequence[tuple[tuple[int, int], ...]], inside: Sequence[int]
) -> _Level:
    limit = min((entry.limit for entry in same if entry.rises), default=0)
    ceiling = min((entry.limit for entry in same if not entry.rises), default=MOST_IN_A_CLUSTER)
    return _Level(limit, ceiling, shapes, inside)


def _children(fine: DomainCapacities, coarse: DomainCapacities) -> list[list[int]] | None:
    """Return for each coarse domain the positions of the fine ones in it; None if one is not in any whole."""
    domains = list(fine.domains.values())
    home = {node: number for number, nodes in enumerate(domains) for node in nodes}
    children = []
    for nodes in coarse.domains.values():
        numbers = sorted({home[node] for node in nodes if node in home})
        if any(not domains[number] <= nodes for number in numbers):
            return None
        children.append(numbers)
    return children if sum(map(len, children)) == len(domains) else None
