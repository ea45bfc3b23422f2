"""The documents about the nodes that an autoscaler may add, and all of their errors.

NodeGroups has the node groups of a cluster and its Cluster Autoscaler, InstanceTypes the instance types that
Karpenter may choose among.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias

from policies.manifests.fields import (
    NAME_TAKEN,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    required_value,
    shown_name,
    unsupported_value,
)
from policies.manifests.wire import DocumentFields, Keywords
from policies.model.constraint import INT32_MAX
from policies.model.labels import NAME_LENGTH, SUBDOMAIN_LENGTH, label_key_errors, label_value_errors
from policies.model.quantity import read_amounts
from policies.model.taints import TaintEffect
from policies.model.topology_keys import ZONE

#: The most nodes that a group may have: as many as Kubernetes supports in a cluster.
MOST_NODES_OF_GROUP: Final = 5_000
#: The most groups of a document: of each, every pending pod is compared with a node.
MOST_GROUPS: Final = 1_000
#: What a pattern of names may hold; ``.*`` stands for any characters, of which there may be few.
_PATTERN: Final = re.compile(r"\^?[A-Za-z0-9_./:*-]*\$?")
#: The resources without which nothing can be compared.
_NEEDED: Final = ("cpu", "memory")
_GROUPS, _PRIORITIES = FieldPath(("groups",)), FieldPath(("priorities",))
#: A number of nodes of a group.
GroupSize: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=MOST_NODES_OF_GROUP)]
#: The most instance types of a document: more than any provider has.
MOST_TYPES: Final = 2_000
#: The most zones and ways to buy one.
MOST_OFFERINGS: Final = 100
_TYPES: Final = FieldPath(("instanceTypes",))


class Expander(StrEnum):
    """The expanders of Cluster Autoscaler that need no prices and no other program."""

    LEAST_WASTE = "least-waste"
    MOST_PODS = "most-pods"
    LEAST_NODES = "least-nodes"
    PRIORITY = "priority"
    RANDOM = "random"


class CloudProvider(StrEnum):
    """The providers with labels of their own in which similar groups may differ."""

    AWS = "aws"
    AZURE = "azure"
    GCE = "gce"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTaint(DocumentFields):
    """A taint of each new node."""

    key: Annotated[str, Keywords(minLength=1)]  #: Its key.
    value: str = ""  #: Its value.
    effect: str  #: NoSchedule, PreferNoSchedule or NoExecute.


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPriority(DocumentFields):
    """Node groups of one priority."""

    priority: int  #: The priority: the highest wins.
    #: Patterns that are looked for in names of node groups: letters, digits and "-_./:" stand for themselves,
    #: "." for any character, ".*" for any characters, "^" and "$" for the ends.
    names: Annotated[tuple[str, ...], Keywords(minItems=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry(DocumentFields):
    """One node group."""

    name: Annotated[str, Keywords(minLength=1, maxLength=SUBDOMAIN_LENGTH, examples=["web-a"])]  #: Its name.
    zone: str = ""  #: The zone of its nodes, as their label topology.kubernetes.io/zone.
    labels: Mapping[str, str] = field(default_factory=dict)  #: The other labels of its nodes.
    taints: tuple[GroupTaint, ...] = ()  #: The taints of its nodes.
    #: What pods may request of a node: cpu, memory and others. Without pods it takes 110.
    allocatable: Annotated[Mapping[str, Any], Keywords(examples=[{"cpu": "3920m", "memory": "14Gi"}])]
    #: What a node has in all; without it, what is allocatable. Expanders and the comparison of similar groups
    #: read it.
    capacity: Mapping[str, Any] | None = None
    min_size: GroupSize = 0  #: The least nodes, below which none is removed. No scale-up reads it.
    max_size: GroupSize  #: The most nodes.
    #: How many nodes it has. Without it, the nodes of the cluster with all of its labels.
    size: GroupSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleDownSettings(DocumentFields):
    """How Cluster Autoscaler removes nodes."""

    #: The share of its CPU and memory up to which the pods of a node may request them for it to be removed
    #: (--scale-down-utilization-threshold).
    utilization_threshold: Annotated[float, Keywords(minimum=0, maximum=1)] = 0.5
    #: The most nodes that are removed at once (--max-scale-down-parallelism).
    max_parallelism: Annotated[GroupSize, Keywords(minimum=1)] = 10
    #: The most of them whose pods go elsewhere (--max-drain-parallelism).
    max_drain_parallelism: GroupSize = 1
    #: Whether pods of kube-system without a PodDisruptionBudget keep their node during their first hour
    #: (--skip-nodes-with-system-pods).
    skip_nodes_with_system_pods: bool = True
    #: Whether pods with hostPath or emptyDir volumes keep their node (--skip-nodes-with-local-storage).
    skip_nodes_with_local_storage: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerSettings(DocumentFields):
    """How Cluster Autoscaler is started."""

    #: What chooses among node groups (--expander), one after another. random takes any that are left, and so
    #: does the end of the list.
    expanders: Annotated[tuple[Expander, ...], Keywords(minItems=1, maxItems=5)] = (Expander.LEAST_WASTE,)
    priorities: tuple[GroupPriority, ...] = ()  #: The priorities of the priority expander.
    #: Whether new nodes are shared among similar groups (--balance-similar-node-groups).
    balance_similar_node_groups: bool = False
    #: The most nodes of the cluster (--max-nodes-total); 0 for no limit.
    max_nodes_total: Annotated[int, Keywords(minimum=0, maximum=INT32_MAX)] = 0
    #: The provider in whose own labels similar groups may differ.
    cloud_provider: CloudProvider = CloudProvider.OTHER
    scale_down: ScaleDownSettings = field(default_factory=ScaleDownSettings)  #: How nodes are removed.


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroups(AutoscalerSettings):
    """The node groups of a cluster, and how its Cluster Autoscaler is started."""

    #: The node groups, in the order in which Cluster Autoscaler has them.
    groups: Annotated[tuple[GroupEntry, ...], Keywords(minItems=1, maxItems=MOST_GROUPS)]

    def check(self, found: ErrorList) -> None:
        """Record what the form of the fields does not tell."""
        found.extend(repeated_name_errors((group.name for group in self.groups), _GROUPS))
        for number, group in enumerate(self.groups):
            found.extend(_group_errors(group, _GROUPS.index(number)))
        for number, entry in enumerate(self.priorities):
            for position, text in enumerate(entry.names):
                if not is_pattern(text):
                    path = _PRIORITIES.index(number).child("names").index(position)
                    form = 'must hold letters, digits, "-_./:", ".*", and "^" and "$" at the ends'
                    found.add(invalid_value(path, text, form, VALUE_INVALID))


def _group_errors(group: GroupEntry, path: FieldPath) -> Iterator[FieldError]:
    if group.min_size > group.max_size:
        text = f"must be at most maxSize, {group.max_size}"
        yield invalid_value(path.child("minSize"), group.min_size, text, VALUE_INVALID)
    yield from label_errors(group.labels, path.child("labels"))
    yield from label_value_errors(group.zone, path.child("zone"), VALUE_INVALID)
    if group.zone and group.labels.get(ZONE, group.zone) != group.zone:
        text = f"must be that of zone, {group.zone}"
        yield invalid_value(path.child("labels").key(ZONE), group.labels[ZONE], text, VALUE_INVALID)
    for number, taint in enumerate(group.taints):
        entry = {"key": taint.key, "value": taint.value, "effect": taint.effect}
        yield from taint_errors(entry, path.child("taints").index(number))
    yield from amount_errors(group.allocatable, group.capacity, path)


def repeated_name_errors(names: Iterable[str], path: FieldPath) -> Iterator[FieldError]:
    """Yield the error of each entry of a list that has the name of one before it.

    Args:
        names: The names of the entries.
        path: The list.
    """
    taken = set[str]()
    for number, name in enumerate(names):
        if name in taken:
            yield duplicate_value(path.index(number).child("name"), name, NAME_TAKEN)
        taken.add(name)


def taint_errors(taint: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what no taint of a node can be, of the fields that are texts."""
    key, value, effect = taint.get("key"), taint.get("value"), taint.get("effect")
    if isinstance(effect, str) and effect not in list(TaintEffect):
        yield unsupported_value(path.child("effect"), effect, list(TaintEffect), VALUE_INVALID)
    if isinstance(key, str):
        yield from label_key_errors(key, path.child("key"), VALUE_INVALID)
    if isinstance(value, str):
        yield from label_value_errors(value, path.child("value"), VALUE_INVALID)


def label_errors(labels: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what no label of a node can be."""
    for key, value in labels.items():
        if isinstance(key, str):
            yield from label_key_errors(key, path, VALUE_INVALID)
        if isinstance(value, str):
            yield from label_value_errors(value, path.key(shown_name(str(key))), VALUE_INVALID)


def amount_errors(
    allocatable: Mapping[str, Any], capacity: Mapping[str, Any] | None, path: FieldPath
) -> Iterator[FieldError]:
    """Yield what is wrong with what a described node has, and what of that is allocatable."""
    for name, given in (("allocatable", allocatable), ("capacity", capacity)):
        if given is not None:
            amounts = ErrorList()
            read_amounts(given, path.child(name), amounts)
            yield from amounts.errors
            missing = (needed for needed in _NEEDED if needed not in given)
            yield from (required_value(path.child(name).child(each), "", VALUE_INVALID) for each in missing)


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern of names.

    >>> is_pattern("^web-.*-a$"), is_pattern("(a+)+")
    (True, False)
    """
    return _PATTERN.fullmatch(text) is not None and "*" not in text.replace(".*", "")


def matches(pattern: str, name: str) -> bool:
    """Return whether a name has what a pattern describes, as Go's regular expressions have it.

    The parts between ``.*`` are looked for one after another, so each is read a few times at most.

    >>> [matches(pattern, "web-spot-a") for pattern in ("spot", "^spot", "w.b.*-a$", "a.*w")]
    [True, False, True, False]
    """
    start, end = pattern.startswith("^"), pattern.endswith("$")
    parts = pattern.removeprefix("^").removesuffix("$").split(".*")
    if not start:
        parts.insert(0, "")
    if not end:
        parts.append("")
    first, *middle = parts
    last = middle.pop() if middle else None
    if last is None:
        return len(first) == len(name) and _at(first, name, 0)
    at, stop = len(first), len(name) - len(last)
    if stop < at or not _at(first, name, 0) or not _at(last, name, stop):
        return False
    for part in middle:
        found = next((place for place in range(at, stop - len(part) + 1) if _at(part, name, place)), None)
        if found is None:
            return False
        at = found + len(part)
    return True


def _at(part: str, name: str, place: int) -> bool:
    """Return whether a part of a pattern describes a name from a place on."""
    text = name[place : place + len(part)]
    return len(text) == len(part) and all(a in (".", b) for a, b in zip(part, text, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferingEntry(DocumentFields):
    """Zones in which an instance type can be had at one price."""

    #: The zones, as the label topology.kubernetes.io/zone; without any, its nodes have no zone.
    zones: Annotated[
        tuple[str, ...], Keywords(maxItems=MOST_OFFERINGS, examples=[["eu-west-1a", "eu-west-1b"]])
    ] = ()
    #: How it is bought: on-demand, spot or reserved.
    capacity_type: Literal["on-demand", "spot", "reserved"] = "on-demand"
    #: What a node costs an hour, in any currency. If any is missing, the smallest instance type is taken, not
    #: the cheapest.
    price: Annotated[float | None, Keywords(minimum=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypeEntry(DocumentFields):
    """One instance type."""

    #: Its name, as the label node.kubernetes.io/instance-type.
    name: Annotated[str, Keywords(minLength=1, maxLength=NAME_LENGTH, examples=["m6i.xlarge"])]
    #: The other labels of its nodes. Without those of kubernetes.io/arch and kubernetes.io/os it is amd64 and
    #: linux.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: What pods may request of a node: cpu, memory and others. Without pods it takes 110.
    allocatable: Annotated[Mapping[str, Any], Keywords(examples=[{"cpu": "3920m", "memory": "14Gi"}])]
    #: What a node has in all, which limits of NodePools count; without it, what is allocatable.
    capacity: Mapping[str, Any] | None = None
    #: Where it can be had.
    offerings: Annotated[tuple[OfferingEntry, ...], Keywords(minItems=1, maxItems=MOST_OFFERINGS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTypes(DocumentFields):
    """The instance types that Karpenter may choose among."""

    #: The instance types.
    instance_types: Annotated[tuple[InstanceTypeEntry, ...], Keywords(minItems=1, maxItems=MOST_TYPES)]

    def check(self, found: ErrorList) -> None:
        """Record what the form of the fields does not tell."""
        found.extend(repeated_name_errors((entry.name for entry in self.instance_types), _TYPES))
        for number, entry in enumerate(self.instance_types):
            path = _TYPES.index(number)
            found.extend(label_value_errors(entry.name, path.child("name"), VALUE_INVALID))
            found.extend(label_errors(entry.labels, path.child("labels")))
            found.extend(amount_errors(entry.allocatable, entry.capacity, path))
            for position, offering in enumerate(entry.offerings):
                zones = path.child("offerings").index(position).child("zones")
                for at, zone in enumerate(offering.zones):
                    found.extend(label_value_errors(zone, zones.index(at), VALUE_INVALID))
