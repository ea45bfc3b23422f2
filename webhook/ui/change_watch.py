"""Which objects of a live cluster changed since it was read, without a second copy of them.

The reflectors of ``webhook.kube`` watch every kind; of each object a hash is kept, of what the page looks
at. So heartbeats change nothing, and memory is some 300 bytes an object.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from policies.manifests.fields import FieldError, member, object_items
from policies.model.cluster_kinds import NODE, POD, Kind
from policies.model.snapshot import identity, kind_of
from webhook.kube.api_server import ApiServer
from webhook.kube.reflector import Reflector
from webhook.kube.watched_resources import EVERYTHING

#: The hash of what is looked at of each object, by its namespace and name.
_Hashes = dict[tuple[str, str], int]
#: What every write changes, of metadata.
_PASSING: Final = frozenset({"managedFields", "resourceVersion", "generation"})
#: What is looked at apart, or is the same for all of a kind.
_APART: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
#: What is looked at of a status, by kind; of other kinds all of it.
_STATUS: Final[Mapping[Kind, tuple[str, ...]]] = {
    NODE: ("allocatable", "capacity"),
    POD: ("phase", "nominatedNodeName"),
}


class ChangeWatch:
    """Watches a cluster from ``start`` to ``stop``, once; an ``ObjectStore`` of its reflectors."""

    def __init__(self, api: ApiServer) -> None:
        """Prepare the reflectors; no thread is started and no request is sent yet."""
        self._lock = threading.Lock()
        self._read: dict[Kind, _Hashes] = {}
        self._now: dict[Kind, _Hashes] = {}
        self._changed: set[tuple[Kind, tuple[str, str]]] = set()
        self._reflectors = [Reflector(api, resource, self) for resource in EVERYTHING]

    def start(self) -> None:
        """Begin to list and watch, a thread for each kind."""
        for reflector in self._reflectors:
            reflector.start()

    def stop(self) -> None:
        """End the threads, soon."""
        for reflector in self._reflectors:
            reflector.stop()

    def changed(self) -> dict[str, int]:
        """Return how many objects differ from those that were read, by kind."""
        with self._lock:
            counts = Counter(kind[1] for kind, _ in self._changed)
        return dict(sorted(counts.items()))

    def unwatched(self) -> list[str]:
        """Return the kinds that are not watched, each with the reason."""
        return [reflector.record.title for reflector in self._reflectors if reflector.record.last_error]

    def was_read(self, read: Mapping[Kind, _Hashes]) -> None:
        """Compare with another reading from now on; what is not in it counts as new.

        Args:
            read: The hashes of its objects: see ``ReadHashes``.
        """
        with self._lock:
            self._read = dict(read)
            # A kind that is not listed yet is taken to be as it was read.
            self._changed = {
                (kind, key)
                for kind, now in self._now.items()
                for key in now.keys() | self._read.get(kind, {}).keys()
                if now.get(key) != self._read.get(kind, {}).get(key)
            }

    def apply(self, obj: Mapping[str, Any]) -> list[FieldError]:
        """Note an object as it is now; none is left out."""
        kind, key, found = kind_of(obj), identity(obj), fingerprint(obj)
        with self._lock:
            self._now.setdefault(kind, dict(self._read.get(kind, {})))[key] = found
            self._compare(kind, key)
        return []

    def remove(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        """Note that an object is gone."""
        of_kind, key = (api_version, kind), (namespace, name)
        with self._lock:
            self._now.setdefault(of_kind, dict(self._read.get(of_kind, {}))).pop(key, None)
            self._compare(of_kind, key)

    def names(self, kind: Kind) -> set[tuple[str, str]]:
        """Return the namespace and name of each object of a kind, as it was read or is now."""
        with self._lock:
            return set(self._now.get(kind, self._read.get(kind, {})))

    def count(self, kind: Kind) -> int:
        """Return how many objects of a kind there are."""
        with self._lock:
            return len(self._now.get(kind, {}))

    def _compare(self, kind: Kind, key: tuple[str, str]) -> None:
        if self._now[kind].get(key) == self._read.get(kind, {}).get(key):
            self._changed.discard((kind, key))
        else:
            self._changed.add((kind, key))


class ReadHashes(dict[Kind, _Hashes]):
    """The hashes of the objects of one reading, which is shown each."""

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Note an object."""
        self.setdefault(kind_of(obj), {})[identity(obj)] = fingerprint(obj)


def fingerprint(obj: Mapping[str, Any]) -> int:
    """Return a hash of what is looked at of an object, the same within one process."""
    kind, status = kind_of(obj), member(obj, "status")
    metadata = {name: value for name, value in member(obj, "metadata").items() if name not in _PASSING}
    if kind in _STATUS:
        kept = {name: status.get(name) for name in _STATUS[kind]}
        kept["conditions"] = list(_conditions(object_items(status.get("conditions"))))
    else:
        kept = dict(status)
    if kind == NODE:
        # Controllers write the time of their last look there.
        metadata.pop("annotations", None)
    rest = {name: value for name, value in obj.items() if name not in _APART}
    return hash(_text([metadata, kept, rest]))


def _conditions(conditions: Iterable[Mapping[str, Any]]) -> Iterable[list[Any]]:
    return ([each.get(name) for name in ("type", "status", "message")] for each in conditions)


def _text(value: object) -> bytes:
    try:
        # Lists and watches may have fields in another order.
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return repr(value).encode()  # A number that no API has.
