"""The nodes, storage and priority classes of a cluster, for rules about where pods and volumes could be.

Source of the classes: ``pkg/apis/scheduling/types.go`` and ``plugin/pkg/admission/priority/admission.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from policies.manifests.fields import ErrorList, FieldPath, text_member
from policies.model.cluster_kinds import CLAIM
from policies.model.node import Node, without_transient
from policies.model.object_table import ObjectTable
from policies.model.storage import Storage
from policies.model.storage_objects import PersistentVolumeClaim, StorageClass
from policies.model.taints import Taint

_PATH: Final = FieldPath()
T = TypeVar("T")
_name = attrgetter("name")


class PriorityClass(NamedTuple):
    """A class of priorities."""

    name: str  #: Its name.
    value: int  #: The priority of its pods.
    preempts: bool = True  #: Whether its pods may have others evicted.
    is_default: bool = False  #: Whether pods without a class have it.

    @property
    def keys(self) -> tuple[str, ...]:
        """The names by which pods have it: its own, and the empty one of pods without a class."""
        return (self.name, "") if self.is_default else (self.name,)


#: The classes that every cluster has.
SYSTEM_CLASSES: Final = {
    entry.name: entry
    for entry in (
        PriorityClass("system-cluster-critical", 2_000_000_000),
        PriorityClass("system-node-critical", 2_000_001_000),
    )
}


def read_priority_class(obj: Mapping[str, Any], found: ErrorList) -> PriorityClass:
    """Read a PriorityClass; what is of the wrong type is recorded and read as absent."""
    path = _PATH.child("metadata")
    return PriorityClass(
        found.name(found.mapping(obj.get("metadata"), path), path),
        found.integer(obj.get("value"), _PATH.child("value")) or 0,
        found.text(obj.get("preemptionPolicy"), _PATH.child("preemptionPolicy")) != "Never",
        found.flag(obj.get("globalDefault"), _PATH.child("globalDefault")),
    )


def class_of(spec: Mapping[str, Any], classes: ObjectTable[PriorityClass]) -> PriorityClass | None:
    """Return the class that the API server gives a pod's priority by; None if it is not known.

    Args:
        spec: The spec of the pod.
        classes: The classes of the cluster.
    """
    if name := text_member(spec, "priorityClassName"):
        return classes.get(name) or SYSTEM_CLASSES.get(name)
    defaults = [entry for entry in classes if entry.is_default]
    return defaults[0] if defaults else None


@dataclass(frozen=True, slots=True)
class KnownStorage:
    """The storage of a cluster, which may change while it is looked at."""

    storage: Storage  #: Its objects.
    reading: Callable[[], AbstractContextManager[Any]] = nullcontext  #: Holds changes back.

    def storage_class(self, name: str) -> StorageClass | None:
        """Return a class, the default one for an empty name; None if it is not known."""
        with self.reading():
            return self.storage.classes.get(name or self.storage.default_class())

    @property
    def knows_claims(self) -> bool:
        """Whether a claim that is not there is known not to exist."""
        return self.storage.knows(CLAIM)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim, or None if there is none of that name."""
        with self.reading():
            return self.storage.claims.get(name, namespace)

    def values_of(self, claim: PersistentVolumeClaim, key: str) -> frozenset[str] | None:
        """Return the values of a node label where the volume of a claim is; None if that is not known."""
        with self.reading():
            volume = self.storage.volumes.get(claim.volume)
            return None if volume is None else volume.values_of(key)

    def has_free_volumes(self, storage_class: str) -> bool:
        """Return whether claims of a class may be given volumes that are there already."""
        with self.reading():
            return bool(self.storage.free_volumes(storage_class))


@dataclass(frozen=True)
class ClusterTopology:
    """The nodes of a cluster, or only the domains that a policy lists.

    Rules check manifests, which outlive a drain: cordons and taints for a condition that passes are left out.
    """

    nodes: tuple[Node, ...] | None = None  #: The nodes; None where only domains are known.
    #: The values of topology keys that a policy lists, also those without a node at the moment.
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    storage: KnownStorage | None = None  #: What is known of volumes; None where nothing is.
    priority_classes: tuple[PriorityClass, ...] = ()  #: The classes of priorities that are known.
    #: What was derived from it, by whatever that depends on besides; for who derives it.
    memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _by_label: dict[str, dict[str, list[Node]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.nodes is not None:
            object.__setattr__(self, "nodes", tuple(map(without_transient, self.nodes)))

    def anew(self) -> ClusterTopology:
        """Return the same without what was derived from it, which need not be kept."""
        return replace(self)

    def values(self, key: str) -> frozenset[str] | None:
        """Return the known values of a topology key; None if nothing is known of it.

        With nodes everything is known of every key: one that no node carries has no value.
        """
        listed = self.domains.get(key)
        if self.nodes is None:
            return None if listed is None else frozenset(listed)
        carried = self._carried.get(key, frozenset())
        # A copy of thousands of names for each of hundreds of terms would take longer than all rules.
        return carried.union(listed) if listed else carried

    def derive(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what follows from the nodes and from what the key says; computed once while it is kept."""
        found: T | None = self.memo.get(key)
        if found is None:
            found = self.memo[key] = compute()
        return found

    def nodes_with(self, key: str) -> dict[str, list[Node]]:
        """Return the nodes of each value of a topology key, by value; look only."""
        if key not in self._carried:
            return {}
        # Nothing of a pod decides about it, so there are no more than labels of nodes.
        if key not in self._by_label:
            found: dict[str, list[Node]] = {}
            for node in self.nodes or ():
                if key in node.labels:
                    found.setdefault(node.labels[key], []).append(node)
            self._by_label[key] = dict(sorted(found.items()))
        return self._by_label[key]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all nodes."""
        return frozenset([node.name for node in self.nodes or ()])

    def names_with(self, key: str) -> frozenset[str]:
        """Return the names of the nodes that have a label."""
        nodes = self.nodes_with(key).values()
        return self.derive(("names_with", key), lambda: frozenset(map(_name, chain.from_iterable(nodes))))

    @property
    def keys(self) -> Collection[str]:
        """The labels that nodes have."""
        return self._carried.keys()

    @cached_property
    def taint_count(self) -> int:
        """How many taints there are in the distinct lists of nodes: each list is compared once."""
        return sum(map(len, self.tainted))

    @cached_property
    def tainted(self) -> dict[tuple[Taint, ...], list[Node]]:
        """The nodes with taints, by their lists of them: most nodes have the taints of others."""
        found: dict[tuple[Taint, ...], list[Node]] = {}
        for node in self.nodes or ():
            if node.taints:
                found.setdefault(node.taints, []).append(node)
        return found

    @cached_property
    def _carried(self) -> dict[str, frozenset[str]]:
        values: dict[str, set[str]] = {}
        for node in self.nodes or ():
            for key, value in node.labels.items():
                values.setdefault(key, set()).add(value)
        return {key: frozenset(found) for key, found in values.items()}
