"""The objects of a cluster besides its nodes and pods, kept up to date event by event.

Users store objects of up to 1.5 MiB, and whoever changes an annotation of one has it read by every replica.
So of those that take long to read it is kept what was read: of an event only what has changed is read.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import Any, Final

import orjson

from policies.manifests.fields import ErrorList, member, text_member
from policies.manifests.sanitize import one_line
from policies.model.cluster_kinds import BUDGET, LIST_NAMES, PRIORITY_CLASS, Kind
from policies.model.object_table import ObjectTable, Reader
from policies.model.scaling import EvictionBudget, read_eviction_budget
from policies.model.snapshot import SNAPSHOT_KINDS, Snapshot
from policies.model.step_counter import StepCounter
from policies.model.storage import Storage
from policies.model.storage_readers import READERS as STORAGE_READERS
from policies.model.topology import PriorityClass, read_priority_class

#: Bytes up to which an object is read anew with every event, spec and labels as JSON: that takes some 4 ms at
#: most. Nearly all objects are smaller, and nothing is kept of them.
READ_ANEW: Final = 2**14
#: What may change while the spec stays.
_NOT_SPEC: Final = frozenset({"metadata", "status"})


class KeptParts:
    """The parts of large objects as they were read, for as long as spec and labels stay as they are."""

    def __init__(self) -> None:
        # By kind, namespace and name: the digest, and the parts.
        self._kept: defaultdict[Kind, dict[tuple[str, str], tuple[bytes, dict[str, Any]]]] = defaultdict(dict)

    def of(self, kind: Kind, obj: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the parts of an object, for ``ErrorList.kept``: empty if spec or labels have changed.

        None for a small object, which is read anew.
        """
        # Runs for every event: of small objects nothing but their size is found out.
        kept, text = self._kept[kind], _spec_text(obj)
        if len(text) <= READ_ANEW and not kept:
            return None
        metadata = member(obj, "metadata")
        key = text_member(metadata, "namespace"), text_member(metadata, "name")
        if len(text) <= READ_ANEW:
            kept.pop(key, None)
            return None
        digest = blake2b(text, digest_size=16).digest()
        if kept.get(key, (b"",))[0] != digest:
            kept[key] = digest, {}
        return kept[key][1]

    def forget(self, kind: Kind, namespace: str, name: str) -> None:
        """Forget an object that is gone."""
        self._kept[kind].pop((namespace, name), None)

    def forget_kind(self, kind: Kind) -> None:
        """Forget all objects of a kind."""
        self._kept.pop(kind, None)


def _spec_text(obj: Mapping[str, Any]) -> bytes:
    """Return spec and labels as JSON; empty for what no API server sends, such as too many levels."""
    # Classes have no spec: they are all spec.
    spec = obj.get("spec") or {name: value for name, value in obj.items() if name not in _NOT_SPEC}
    try:
        return orjson.dumps((spec, member(obj, "metadata").get("labels")))
    except TypeError:
        return b""


#: What reads the kinds that are kept as they are read.
READERS: Final[Mapping[Kind, Reader[Any]]] = STORAGE_READERS | {
    BUDGET: read_eviction_budget,
    PRIORITY_CLASS: read_priority_class,
}


class IndexedObjects:
    """The services, owners, storage, budgets and classes of a cluster.

    One writer applies events, any number of readers use it under ``reading``; a lock keeps a reader from
    seeing half an event.

    Attributes:
        snapshot: Services, namespaces and the owners that have selectors.
        storage: Claims, volumes and classes.
        steps: What counts the steps of whoever reads now: every loop over what is stored takes its own first.
    """

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.steps = StepCounter()
        self._tables: dict[Kind, ObjectTable[Any]] = {
            kind: ObjectTable(kind, read) for kind, read in READERS.items()
        }
        self.storage = Storage(self._tables, self.steps)
        # Reentrant, so that several evaluations can be made of one state of the cluster.
        self._lock = threading.RLock()
        self._parts = KeptParts()

    def reading(self, steps: StepCounter | None = None) -> AbstractContextManager[object]:
        """Hold events back while the index is read; what was computed may be used afterwards.

        Args:
            steps: Counts what is looked at meanwhile; None leaves it to who reads already.
        """
        return self._lock if steps is None else self._counted(steps)

    @contextmanager
    def _counted(self, steps: StepCounter) -> Iterator[None]:
        with self._lock:
            # Parts of the index have the counter of the index, so that changes only what it has left.
            self.steps.left, steps.left = steps.left, self.steps.left
            try:
                yield
            finally:
                self.steps.left, steps.left = steps.left, self.steps.left

    def _take_objects(self, other: IndexedObjects, *, snapshot: Snapshot) -> None:
        """Take the objects of another as copies, but for the snapshot."""
        self._tables = {kind: table.copy() for kind, table in other._tables.items()}
        self.storage, self.snapshot = other.storage.copy(self._tables, self.steps), snapshot

    def _apply_object(self, kind: Kind, obj: Mapping[str, Any], found: ErrorList) -> None:
        if kind in SNAPSHOT_KINDS:
            self.snapshot.apply(obj, found, self._lock)
        elif kind in READERS:
            self._tables[kind].apply(obj, found, self._lock)

    def _remove_object(self, kind: Kind, namespace: str, name: str) -> None:
        if kind in READERS:
            self._tables[kind].remove(namespace, name)
        else:
            self.snapshot.remove(*kind, namespace, name)

    @property
    def budgets(self) -> ObjectTable[EvictionBudget]:
        """The PodDisruptionBudgets."""
        return self._tables[BUDGET]

    @property
    def priority_classes(self) -> ObjectTable[PriorityClass]:
        """The PriorityClasses."""
        return self._tables[PRIORITY_CLASS]

    def list_kinds(self, kinds: Iterable[Kind]) -> None:
        """Take note that all objects of some kinds are known, also where there is none."""
        with self._lock:
            for kind in READERS.keys() & kinds:
                self._tables[kind].mark_listed()

    def set_unread(self, kind: Kind, why: str) -> None:
        """Take note why the objects of a kind cannot be read, of which none is kept; empty: all are known."""
        with self._lock:
            if why:
                self._parts.forget_kind(kind)
                self._tables[kind].mark_unread(why)
            else:
                self.list_kinds((kind,))

    @property
    def unread(self) -> dict[str, str]:
        """Why objects cannot be read, where that is known, by the field that lists them in a request."""
        return {LIST_NAMES[kind]: table.unread for kind, table in self._tables.items() if table.unread}

    def knows(self, kind: Kind) -> bool:
        """Return whether the objects of a kind are known: they were listed, or there is one."""
        return kind not in READERS or self._tables[kind].known


def unread_warning(unread: Mapping[str, str]) -> str:
    """Return the warning that a cluster is read without some kinds; there is at least one.

    Args:
        unread: Why each cannot be read, by its list in answers.

    >>> unread_warning({"csiNodes": "no right to list and watch csinodes.storage.k8s.io"})
    'not read, so not modeled where it matters: csiNodes (no right to list and watch csinodes.storage.k8s.io)'
    """
    named = ", ".join(f"{name} ({why})" for name, why in unread.items())
    return f"not read, so not modeled where it matters: {one_line(named)}"
