"""Which workloads and other objects of a repository go with a workload, by their folders and selectors.

A repository with a folder for each environment declares one object several times. What goes with one of these
copies is what is in its own part of the repository, and what is in a folder that encloses it.

Thousands of workloads may have the same selector, which selects all of them. So what a selector selects is
gone through once, and only so far as is needed, and of each folder a few are kept: enough that for any
workload some of them differ from it. The index of a cluster's pods (``scheduler/columns.py``) has arrays
for the same, of sets that come and go; a linter without a cluster does not load numpy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeVar

from policies.model.labels import LabelSelector, Operator
from policies.model.workload import Workload

B = TypeVar("B")

#: Folders that a message names of workloads with one name. Keeps one line readable.
MAX_FOLDERS: Final = 3
#: How many others are reported at most: more than a message names, so that it can say that there are more.
FEW: Final = 4
#: How many of one name, or of one application, are kept: of these at least ``FEW`` differ in the other.
_ALIKE: Final = FEW + 1
#: How many are kept: at most so many are like a workload in its name or application, and ``FEW`` are not.
_KEPT: Final = 2 * _ALIKE + FEW


class CopyScope(NamedTuple):
    """Where a copy of an object is."""

    folder: str  #: Its folder.
    #: The largest folder around it that holds no other copy, so the whole repository ("") for an object that
    #: has none; None where folders inside its own hold other copies.
    part: str | None


#: A place with which everything goes, in whatever folder.
ANYWHERE: Final = CopyScope("", "")


class Copies:
    """In which folders each object of a repository is declared."""

    def __init__(self, declared: Iterable[tuple[Hashable, str]]) -> None:
        self._folders: dict[Hashable, set[str]] = {}
        self._below: dict[Hashable, Counter[str]] = {}
        for identity, folder in declared:
            self._folders.setdefault(identity, set()).add(folder)

    def place(self, identity: Hashable, folder: str) -> CopyScope:
        """Return the place of the copy in a folder.

        >>> copies = Copies([("web", "shop/prod/web"), ("web", "shop/staging/web")])
        >>> copies.place("web", "shop/prod/web").part
        'shop/prod'
        """
        folders = self._folders.get(identity, ())
        if len(folders) < 2:
            return CopyScope(folder, "")
        below = self._below.get(identity)
        if below is None:
            below = self._below[identity] = Counter(up for each in folders for up in enclosing(each))
        part = None
        for up in enclosing(folder):
            if below[up] > 1:
                break
            part = up
        return CopyScope(folder, part)


class FolderIndex(Generic[B]):
    """Things by their folders: a bucket for each folder, and one for each folder with all inside it."""

    def __init__(self, bucket: Callable[[], B]) -> None:
        self._bucket = bucket
        self._here: dict[str, B] = {}
        self._inside: dict[str, B] = {}

    def buckets_for(self, folder: str) -> Iterator[B]:
        """Yield every bucket that something in a folder belongs to; the caller puts it in each."""
        yield self._of(self._here, folder)
        for up in enclosing(folder):
            yield self._of(self._inside, up)

    def near(self, place: CopyScope) -> Iterator[B]:
        """Yield the buckets of what goes with a copy, the nearest first; a later one may hold the same."""
        is_own = place.part is not None
        for up in enclosing(place.folder):
            bucket = (self._inside if is_own else self._here).get(up)
            if bucket is not None:
                yield bucket
            is_own = is_own and up != place.part

    def _of(self, buckets: dict[str, B], folder: str) -> B:
        bucket = buckets.get(folder)
        if bucket is None:
            bucket = buckets[folder] = self._bucket()
        return bucket


class FolderSums:
    """Numbers of copies, summed up over those with which something in a folder goes."""

    def __init__(self) -> None:
        self._by_part: Counter[str] = Counter()
        self._above: Counter[str] = Counter()

    def add(self, place: CopyScope, number: int) -> None:
        """Add the number of a copy."""
        if place.part is not None:
            self._by_part[place.part] += number
        is_own = place.part is not None
        for up in enclosing(place.folder):
            if not is_own:
                self._above[up] += number
            is_own = is_own and up != place.part

    def of(self, folder: str) -> int:
        """Return the sum for what is in a folder."""
        return self._above[folder] + sum(self._by_part[up] for up in enclosing(folder))


def enclosing(folder: str) -> Iterator[str]:
    """Yield a folder and every folder that it lies in, the repository's own ("") last.

    >>> list(enclosing("shop/prod"))
    ['shop/prod', 'shop', '']
    """
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


class AppKey(NamedTuple):
    """The key by which workloads are compared: different applications differ in both name and application."""

    name: Hashable  #: The name of the object.
    application: Hashable  #: Which application it is.
    scopes: tuple[Hashable, ...] = (None,)  #: Only workloads that share one of these are compared.
    stays: bool = True  #: Whether it is reported as another; one that does not stay may still have others.


def by_object(workload: Workload) -> AppKey:
    """Tell workloads apart as objects: its copies in several folders, and its builds, are the same."""
    return AppKey(workload.identity, workload.source)


def titles(workloads: Iterable[Workload]) -> list[str]:
    """Return the kinds and names of workloads, each once, with the folders of those that share theirs."""
    folders: dict[str, dict[str, None]] = {}
    for workload in workloads:
        folders.setdefault(workload.title, {})[workload.folder or "."] = None
    return [
        title if len(places) == 1 else f"{title} in {' and '.join([*places][:MAX_FOLDERS])}"
        for title, places in folders.items()
    ]


def named(texts: Sequence[str]) -> str:
    """Return the names of others as a message lists them; ``FEW`` of them mean that there are more.

    >>> named(["a", "b"]), named(["a", "b", "c", "d"])
    ('a, b', 'a, b, c and others')
    """
    return ", ".join(texts[: FEW - 1]) + (" and others" if len(texts) >= FEW else "")


class Neighbors:
    """The workloads that one selector selects, and who of them are others to a workload."""

    def __init__(self, members: Iterable[tuple[Workload, AppKey]]) -> None:
        self._members: Iterator[tuple[int, tuple[Workload, AppKey]]] = enumerate(members)
        self._by_scope: dict[Hashable, FolderIndex[_Representatives]] = {}
        self._looked_at = 0

    def others(self, key: AppKey, place: CopyScope) -> list[Workload]:
        """Return the first few others that go with a workload at a place."""
        while True:
            found: dict[tuple[Hashable, Hashable], tuple[int, Workload]] = {}
            for scope in key.scopes:
                places = self._by_scope.get(scope)
                for few in () if places is None else places.near(place):
                    for pair, (number, other) in few.others(key):
                        found[pair] = min(
                            found.get(pair, (number, other)), (number, other), key=itemgetter(0)
                        )
            if len(found) >= FEW or not self._look_further():
                return [other for _, other in sorted(found.values(), key=itemgetter(0))[:FEW]]

    def _look_further(self) -> bool:
        """Go through as many members again as before; return whether there were any."""
        before = self._looked_at
        for number, (workload, key) in islice(self._members, max(before, _KEPT)):
            self._looked_at += 1
            for scope in key.scopes if key.stays else ():
                for few in self._by_scope.setdefault(scope, FolderIndex(_Representatives)).buckets_for(
                    workload.folder
                ):
                    few.add(number, workload, key)
        return self._looked_at > before


class _Representatives:
    """A few workloads, such that for every other one some of them differ from it in name and application."""

    __slots__ = ("_applications", "_kept", "_names")

    def __init__(self) -> None:
        self._kept: dict[tuple[Hashable, Hashable], tuple[int, Workload]] = {}
        self._names: Counter[Hashable] = Counter()
        self._applications: Counter[Hashable] = Counter()

    def add(self, number: int, workload: Workload, key: AppKey) -> None:
        """Keep a workload if there are too few like it."""
        name, application = key.name, key.application
        if len(self._kept) >= _KEPT or (name, application) in self._kept:
            return
        if self._names[name] < _ALIKE and self._applications[application] < _ALIKE:
            self._kept[name, application] = number, workload
            self._names[name] += 1
            self._applications[application] += 1

    def others(self, key: AppKey) -> Iterator[tuple[tuple[Hashable, Hashable], tuple[int, Workload]]]:
        """Yield those that are others to a workload, by name and application."""
        for pair, found in self._kept.items():
            if pair[0] != key.name and pair[1] != key.application:
                yield pair, found


class LabelIndex:
    """Numbers label sets from 0, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self._sets: list[Mapping[str, str]] = []
        self._by_value: dict[tuple[str, str], list[int]] = {}
        self._with_key: dict[str, list[int]] = {}

    def add(self, labels: Mapping[str, str]) -> int:
        """Return the number of a label set."""
        pairs = frozenset(labels.items())
        number = self._numbers.setdefault(pairs, len(self._sets))
        if number == len(self._sets):
            self._sets.append(labels)
            for pair in pairs:
                self._by_value.setdefault(pair, []).append(number)
                self._with_key.setdefault(pair[0], []).append(number)
        return number

    def find(self, labels: Mapping[str, str]) -> int | None:
        """Return the number that a label set has; None if it never came."""
        return self._numbers.get(frozenset(labels.items()))

    def matching(self, selector: LabelSelector) -> Iterator[int]:
        """Yield the numbers of the sets that a selector matches, ascending.

        Only sets are looked at that satisfy the requirement which the fewest satisfy; all of them for a
        selector that only requires labels to be absent, which most match.
        """
        lists = min(self._satisfying(selector), key=lambda lists: sum(map(len, lists)), default=None)
        found: Sequence[int] | range
        if lists is None:
            found = range(len(self._sets))
        else:
            found = lists[0] if len(lists) == 1 else sorted(chain(*lists))
        return (number for number in found if selector.matches(self._sets[number]))

    def _satisfying(self, selector: LabelSelector) -> Iterator[list[list[int]]]:
        """Yield for each requirement of a label the sets that have it, value by value."""
        for pair in selector.match_labels:
            yield [self._by_value.get(pair, [])]
        for entry in selector.match_expressions:
            if entry.operator is Operator.EXISTS:
                yield [self._with_key.get(entry.key, [])]
            elif entry.operator is Operator.IN:
                # A value may be listed twice.
                yield [self._by_value.get((entry.key, value), []) for value in dict.fromkeys(entry.values)]


class SelectedWorkloads:
    """Workloads, each with labels; those with the same labels are looked at once."""

    def __init__(self, workloads: Iterable[tuple[Mapping[str, str], Workload]]) -> None:
        self.index = LabelIndex()
        self._with_labels: list[list[Workload]] = []
        for labels, workload in workloads:
            number = self.index.add(labels)
            if number == len(self._with_labels):
                self._with_labels.append([])
            self._with_labels[number].append(workload)

    def matching(self, selector: LabelSelector) -> Iterator[Workload]:
        """Yield the workloads that a selector selects, those with the same labels together."""
        for number in self.index.matching(selector):
            yield from self._with_labels[number]
