"""The other workloads of a namespace that a selector selects: a few of them, found without looking at all.

Thousands of workloads may have the same selector, which selects all of them. So what a selector selects is
gone through once, and only so far as is needed, and of each folder a few are kept: enough that for any
workload some of them differ from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

from policies.model.declared import Workload
from policies.model.folders import Place, Places

#: How many others are told at most: more than a message names, so that it can say that there are more.
FEW: Final = 4
#: How many of one name, or of one application, are kept: of these at least ``FEW`` differ in the other.
_ALIKE: Final = FEW + 1
#: How many are kept: at most so many are like a workload in its name or application, and ``FEW`` are not.
_KEPT: Final = 2 * _ALIKE + FEW


class Kinship(NamedTuple):
    """What tells whether two workloads are different applications: both name and application must differ.

    Attributes:
        name: The name of the object.
        application: Which application it is.
        scopes: Only workloads that share one of these are compared.
        stays: Whether it is told as another; one that does not stay may still have others.
    """

    name: Hashable
    application: Hashable
    scopes: tuple[Hashable, ...] = (None,)
    stays: bool = True


def by_object(workload: Workload) -> Kinship:
    """Tell workloads apart as objects: copies of one object in several folders are the same."""
    return Kinship(workload.identity, workload.identity)


def named(texts: Sequence[str]) -> str:
    """Return what a message says of others, of which ``FEW`` stand for more.

    >>> named(["a", "b"]), named(["a", "b", "c", "d"])
    ('a, b', 'a, b, c and others')
    """
    return ", ".join(texts[: FEW - 1]) + (" and others" if len(texts) >= FEW else "")


class Neighbors:
    """The workloads that one selector selects, and who of them are others to a workload."""

    def __init__(self, members: Iterable[tuple[Workload, Kinship]]) -> None:
        self._members: Iterator[tuple[int, tuple[Workload, Kinship]]] = enumerate(members)
        self._samples: dict[Hashable, Places[_Sample]] = {}
        self._looked_at = 0

    def others(self, kinship: Kinship, place: Place) -> list[Workload]:
        """Return the first few others that go with a workload at a place."""
        while True:
            found: dict[tuple[Hashable, Hashable], tuple[int, Workload]] = {}
            for scope in kinship.scopes:
                places = self._samples.get(scope)
                for sample in () if places is None else places.near(place):
                    for pair, (number, other) in sample.others(kinship):
                        found[pair] = min(
                            found.get(pair, (number, other)), (number, other), key=itemgetter(0)
                        )
            if len(found) >= FEW or not self._look_further():
                return [other for _, other in sorted(found.values(), key=itemgetter(0))[:FEW]]

    def _look_further(self) -> bool:
        """Go through as many members again as before; return whether there were any."""
        before = self._looked_at
        for number, (workload, kinship) in islice(self._members, max(before, _KEPT)):
            self._looked_at += 1
            for scope in kinship.scopes if kinship.stays else ():
                for sample in self._samples.setdefault(scope, Places(_Sample)).buckets_for(workload.folder):
                    sample.add(number, workload, kinship)
        return self._looked_at > before


class _Sample:
    """A few workloads, such that for every other one some of them differ from it in name and application."""

    __slots__ = ("_applications", "_kept", "_names")

    def __init__(self) -> None:
        self._kept: dict[tuple[Hashable, Hashable], tuple[int, Workload]] = {}
        self._names: Counter[Hashable] = Counter()
        self._applications: Counter[Hashable] = Counter()

    def add(self, number: int, workload: Workload, kinship: Kinship) -> None:
        """Keep a workload if there are too few like it."""
        name, application = kinship.name, kinship.application
        if len(self._kept) >= _KEPT or (name, application) in self._kept:
            return
        if self._names[name] < _ALIKE and self._applications[application] < _ALIKE:
            self._kept[name, application] = number, workload
            self._names[name] += 1
            self._applications[application] += 1

    def others(self, kinship: Kinship) -> Iterator[tuple[tuple[Hashable, Hashable], tuple[int, Workload]]]:
        """Yield those that are others to a workload, by name and application."""
        for pair, found in self._kept.items():
            if pair[0] != kinship.name and pair[1] != kinship.application:
                yield pair, found
