"""The objects of one kind in a cluster, and whether all of them are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, Final, Generic, Protocol, TypeVar

from policies.manifests.fields import ErrorList
from policies.model.cluster_kinds import CLUSTER_SCOPED, Kind
from policies.model.workload import DEFAULT_NAMESPACE


class NamedObject(Protocol):
    """An object as it is kept; it also has a ``namespace`` if its kind has."""

    @property
    def name(self) -> str:
        """Its name."""


Entry = TypeVar("Entry", bound=NamedObject)
#: What reads an object of a kind. It records what is wrong, and returns an entry in any case.
Reader = Callable[[Mapping[str, Any], ErrorList], Entry]
#: In place of a lock where one thread has all objects.
ALONE: Final = nullcontext()


class ObjectTable(Generic[Entry]):
    """The objects of one kind. Threads that share it need a lock.

    Attributes:
        version: Another number after every change.
        unread: Why the objects cannot be read; empty if nothing is known to hinder it.
        compact: Returns an object that shares with others what is equal: a cluster has thousands.
    """

    def __init__(self, kind: Kind, read: Reader[Entry]) -> None:
        self.version = 0
        self.compact: Callable[[Entry], Entry] = _unchanged
        self._kind, self._read = kind, read
        self._namespaced = kind not in CLUSTER_SCOPED
        # By namespace, empty for a kind without, and name: so no object needs a key of both.
        self._entries: dict[str, dict[str, Entry]] = {}
        # Whether a copy has the same entries: the first of the two that changes takes its own.
        self._is_shared = False
        self._listed = False
        self.unread = ""

    def copy(self) -> ObjectTable[Entry]:
        """Return a table of its own with the same objects, which are copied when one of the two changes."""
        fork = ObjectTable(self._kind, self._read)
        fork._entries, fork.version, fork._listed = self._entries, self.version, self._listed
        fork.unread = self.unread
        fork._is_shared = self._is_shared = True
        return fork

    def mark_listed(self) -> None:
        """Take note that all objects are known, also if there is none."""
        self._listed, self.unread = True, ""

    def mark_unread(self, why: str) -> None:
        """Take note that the objects cannot be read; those that are there may be out of date, and go."""
        self._listed, self.unread = False, why
        for namespace, name in list(self.names()):
            self.remove(namespace, name)

    @property
    def known(self) -> bool:
        """Whether the objects are known: they were listed, or there is one."""
        return not self.unread and (self._listed or bool(self._entries))

    def __iter__(self) -> Iterator[Entry]:
        return chain.from_iterable(entries.values() for entries in self._entries.values())

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def get(self, name: str, namespace: str = "") -> Entry | None:
        """Return an object, or None if there is none of that namespace and name."""
        return self._entries.get(namespace, {}).get(name)

    def of(self, namespace: str) -> Iterator[Entry]:
        """Yield the objects of a namespace."""
        return iter(self._entries.get(namespace, {}).values())

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the namespace, empty for a kind without, and the name of each object."""
        return ((namespace, name) for namespace, entries in self._entries.items() for name in entries)

    def apply(
        self, obj: Mapping[str, Any], found: ErrorList, lock: AbstractContextManager[object] = ALONE
    ) -> None:
        """Take an object in, in place of the one of its namespace and name; one with errors is left out.

        It may be large, and is read before the lock is taken.
        """
        before = found.count
        entry = self._read(obj, found)
        with lock:
            if found.count == before:
                self.put(entry)
            else:
                self.remove(getattr(entry, "namespace", ""), entry.name)

    def put(self, entry: Entry) -> None:
        """Add an object, or replace the one of its namespace and name."""
        namespace = self._place(getattr(entry, "namespace", ""))
        if self.get(entry.name, namespace) != entry:
            entry = self.compact(entry)
            self._own().setdefault(namespace, {})[entry.name] = entry

    def remove(self, namespace: str, name: str) -> None:
        """Forget an object; one that was never there changes nothing."""
        namespace = self._place(namespace)
        if self.get(name, namespace) is None:
            return
        entries = self._own()
        del entries[namespace][name]
        if not entries[namespace]:
            del entries[namespace]

    def _place(self, namespace: str) -> str:
        return namespace or DEFAULT_NAMESPACE if self._namespaced else ""

    def _own(self) -> dict[str, dict[str, Entry]]:
        """Return the entries to change them."""
        self.version += 1
        if self._is_shared:
            self._entries = {namespace: dict(held) for namespace, held in self._entries.items()}
            self._is_shared = False
        return self._entries


def _unchanged(entry: Entry) -> Entry:
    return entry
