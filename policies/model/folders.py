"""Which of the things in a repository's folders go with an object, when folders hold copies of it.

A repository with a folder for each environment declares one object several times. What goes with one of these
copies is what lies in its own part of the repository, and what lies in a folder that encloses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

B = TypeVar("B")


class Place(NamedTuple):
    """Where a copy of an object is.

    Attributes:
        folder: Its folder.
        part: The largest folder around it that holds no other copy, so the whole repository ("") for an
            object that has none; None where folders inside its own hold other copies.
    """

    folder: str
    part: str | None


class Copies:
    """In which folders each object of a repository is declared."""

    def __init__(self) -> None:
        self._folders: dict[Hashable, set[str]] = {}
        self._below: dict[Hashable, Counter[str]] = {}

    def add(self, identity: Hashable, folder: str) -> None:
        """Take in that an object is declared in a folder."""
        self._folders.setdefault(identity, set()).add(folder)

    def place(self, identity: Hashable, folder: str) -> Place:
        """Return the place of the copy in a folder.

        >>> copies = Copies()
        >>> for folder in ("shop/prod/web", "shop/staging/web"):
        ...     copies.add("web", folder)
        >>> copies.place("web", "shop/prod/web").part
        'shop/prod'
        """
        folders = self._folders.get(identity, ())
        if len(folders) < 2:
            return Place(folder, "")
        below = self._below.get(identity)
        if below is None:
            below = self._below[identity] = Counter(up for each in folders for up in enclosing(each))
        part = None
        for up in enclosing(folder):
            if below[up] > 1:
                break
            part = up
        return Place(folder, part)


class Places(Generic[B]):
    """Things by their folders: a bucket for each folder, and one for each folder with all inside it."""

    def __init__(self, bucket: Callable[[], B]) -> None:
        self._bucket = bucket
        self._here: dict[str, B] = {}
        self._inside: dict[str, B] = {}

    def buckets_for(self, folder: str) -> Iterator[B]:
        """Yield every bucket that something in a folder belongs to; who asks puts it in each."""
        yield self._of(self._here, folder)
        for up in enclosing(folder):
            yield self._of(self._inside, up)

    def near(self, place: Place) -> Iterator[B]:
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


class Sums:
    """Numbers of copies, summed up over those with which something in a folder goes."""

    def __init__(self) -> None:
        self._by_part: Counter[str] = Counter()
        self._above: Counter[str] = Counter()

    def add(self, place: Place, number: int) -> None:
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
