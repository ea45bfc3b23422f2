"""A node group: nodes that are alike, of which an autoscaler may add some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policies.config.node_groups import GroupEntry, InstanceTypeEntry, taint_errors
from policies.manifests.fields import (
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    field_names,
    required_value,
)
from policies.model.node import Node
from policies.model.quantity import read_amounts
from policies.model.taints import Taint, read_taints
from policies.model.topology_keys import HOSTNAME
from policies.scheduler.node_table import PODS

#: How many pods a node takes where nothing is said: the kubelet's default.
USUAL_PODS: Final = 110
#: The labels of the platform of a node that does not say otherwise.
USUAL_LABELS: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}

#: The fields of a taint.
_TAINT_FIELDS: Final = field_names("key", "value", "effect", "timeAdded")


class GroupOrigin(StrEnum):
    """Where a node group comes from."""

    DOCUMENT = "document"
    MANAGED = "managed"
    DEDUCED = "deduced"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledGroup:
    """A node group."""

    name: str  #: Its name.
    template: Node  #: What each new node is like; its name has no meaning.
    #: What a node has before the system's share is taken off, in the units of its allocatable amounts;
    #: options are compared by it.
    capacity: Mapping[str, int]
    size: int  #: How many nodes it has or waits for.
    max_size: int  #: The most that it may have.
    min_size: int = 0  #: The least that it may have.
    #: The names of those of the cluster's nodes that it has, as far as they are known.
    nodes: frozenset[str] = frozenset()
    origin: GroupOrigin = GroupOrigin.DOCUMENT  #: Where it comes from.

    @property
    def room(self) -> int:
        """How many nodes it may get."""
        return max(self.max_size - self.size, 0)

    def node(self, name: str) -> Node:
        """Return a new node of the group."""
        return self.template._replace(name=name, labels={**self.template.labels, HOSTNAME: name}, images=())


def described_amounts(entry: GroupEntry | InstanceTypeEntry) -> tuple[dict[str, int], dict[str, int]]:
    """Return what is allocatable of a described node, and what it has in all; its document has no errors."""
    allocatable, capacity = (
        {PODS: USUAL_PODS, **read_amounts(raw, FieldPath(), ErrorList())}
        for raw in (entry.allocatable, entry.allocatable if entry.capacity is None else entry.capacity)
    )
    return allocatable, capacity


def least_amounts(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the least of each resource that is allocatable of all nodes: a pod must fit any of them."""
    keys = set.intersection(*(set(node.allocatable) for node in nodes))
    return {key: min(node.allocatable[key] for node in nodes) for key in sorted(keys)}


def read_template_taints(raw: object, path: FieldPath, found: ErrorList) -> tuple[Taint, ...]:
    """Read the taints of nodes that are to be made; each has a key and an effect."""
    taints = read_taints(raw, path, found)
    for where, entry in ErrorList().objects(raw, path):  # what is no object is recorded already
        found.unknown(entry, where, known=_TAINT_FIELDS)
        for field in ("key", "effect"):
            if entry.get(field) in (None, ""):
                found.add(required_value(where.child(field), "", VALUE_INVALID))
        found.extend(taint_errors({name: value for name, value in entry.items() if value != ""}, where))
    return taints
