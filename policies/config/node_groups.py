"""The NodeGroups document: the node groups of a cluster, its Cluster Autoscaler, and all of its errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from policies.config.own_kinds import OwnKind
from policies.config.read_document import read_document
from policies.manifests.fields import (
    NAME_TAKEN,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    member,
    objects_at,
    required_value,
    shown_name,
    unsupported_value,
)
from policies.manifests.wire import DocumentFields, Keywords
from policies.model.constraint import INT32_MAX
from policies.model.labels import SUBDOMAIN_LENGTH, label_key_errors, label_value_errors
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
#: A number of nodes of a group.
GroupSize: TypeAlias = Annotated[int, Keywords(minimum=0, maximum=MOST_NODES_OF_GROUP)]


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
    """A taint of each new node.

    Attributes:
        key: Its key.
        value: Its value.
        effect: NoSchedule, PreferNoSchedule or NoExecute.
    """

    key: Annotated[str, Keywords(minLength=1)]
    value: str = ""
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPriority(DocumentFields):
    """Node groups of one priority.

    Attributes:
        priority: The priority: the highest wins.
        names: Patterns that are looked for in names of node groups: letters, digits and "-_./:" stand for
            themselves, "." for any character, ".*" for any characters, "^" and "$" for the ends.
    """

    priority: int
    names: Annotated[tuple[str, ...], Keywords(minItems=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry(DocumentFields):
    """One node group.

    Attributes:
        name: Its name.
        zone: The zone of its nodes, as their label topology.kubernetes.io/zone.
        labels: The other labels of its nodes.
        taints: The taints of its nodes.
        allocatable: What pods may request of a node: cpu, memory and others. Without pods it takes 110.
        capacity: What a node has in all; without it, what is allocatable. Expanders and the comparison of
            similar groups read it.
        min_size: The least nodes, below which none is removed. No scale-up reads it.
        max_size: The most nodes.
        size: How many nodes it has. Without it, the nodes of the cluster with all of its labels.
    """

    name: Annotated[str, Keywords(minLength=1, maxLength=SUBDOMAIN_LENGTH, examples=["web-a"])]
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[GroupTaint, ...] = ()
    allocatable: Annotated[Mapping[str, Any], Keywords(examples=[{"cpu": "3920m", "memory": "14Gi"}])]
    capacity: Mapping[str, Any] | None = None
    min_size: GroupSize = 0
    max_size: GroupSize
    size: GroupSize | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleDownSettings(DocumentFields):
    """How Cluster Autoscaler removes nodes.

    Attributes:
        utilization_threshold: The share of its CPU and memory up to which the pods of a node may request them
            for it to be removed (--scale-down-utilization-threshold).
        max_parallelism: The most nodes that are removed at once (--max-scale-down-parallelism).
        max_drain_parallelism: The most of them whose pods go elsewhere (--max-drain-parallelism).
        skip_nodes_with_system_pods: Whether pods of kube-system without a PodDisruptionBudget keep their node
            during their first hour (--skip-nodes-with-system-pods).
        skip_nodes_with_local_storage: Whether pods with hostPath or emptyDir volumes keep their node
            (--skip-nodes-with-local-storage).
    """

    utilization_threshold: Annotated[float, Keywords(minimum=0, maximum=1)] = 0.5
    max_parallelism: Annotated[GroupSize, Keywords(minimum=1)] = 10
    max_drain_parallelism: GroupSize = 1
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerSettings(DocumentFields):
    """How Cluster Autoscaler is started.

    Attributes:
        expanders: What chooses among node groups (--expander), one after another. random takes any that are
            left, and so does the end of the list.
        priorities: The priorities of the priority expander.
        balance_similar_node_groups: Whether new nodes are shared among similar groups
            (--balance-similar-node-groups).
        max_nodes_total: The most nodes of the cluster (--max-nodes-total); 0 for no limit.
        cloud_provider: The provider in whose own labels similar groups may differ.
        scale_down: How nodes are removed.
    """

    expanders: Annotated[tuple[Expander, ...], Keywords(minItems=1, maxItems=5)] = (Expander.LEAST_WASTE,)
    priorities: tuple[GroupPriority, ...] = ()
    balance_similar_node_groups: bool = False
    max_nodes_total: Annotated[int, Keywords(minimum=0, maximum=INT32_MAX)] = 0
    cloud_provider: CloudProvider = CloudProvider.OTHER
    scale_down: ScaleDownSettings = field(default_factory=ScaleDownSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroups(AutoscalerSettings):
    """The node groups of a cluster, and how its Cluster Autoscaler is started.

    Attributes:
        groups: The node groups, in the order in which Cluster Autoscaler has them.
    """

    groups: Annotated[tuple[GroupEntry, ...], Keywords(minItems=1, maxItems=MOST_GROUPS)]


def read_node_groups(value: object, found: ErrorList) -> NodeGroups:
    """Return a NodeGroups document, and record everything that is wrong with it."""
    document = read_document(NodeGroups, OwnKind.NODE_GROUPS, value, found)
    raw = value if isinstance(value, dict) else {}
    names = set[str]()
    for where, group in objects_at(raw.get("groups"), FieldPath(("groups",))):
        found.extend(_group_errors(group, where, names))
    for where, entry in objects_at(raw.get("priorities"), FieldPath(("priorities",))):
        path = where.child("names")
        texts = entry.get("names")
        for number, text in enumerate(texts if isinstance(texts, list) else ()):
            if isinstance(text, str) and not is_pattern(text):
                form = 'must hold letters, digits, "-_./:", ".*", and "^" and "$" at the ends'
                found.add(invalid_value(path.index(number), text, form, VALUE_INVALID))
    return document


def _group_errors(group: Mapping[str, Any], path: FieldPath, names: set[str]) -> Iterator[FieldError]:
    name, most, zone = group.get("name"), group.get("maxSize"), group.get("zone")
    if isinstance(name, str):
        if name in names:
            yield duplicate_value(path.child("name"), name, NAME_TAKEN)
        names.add(name)
    if type(group.get("minSize")) is int and type(most) is int and group["minSize"] > most:
        text = f"must be at most maxSize, {most}"
        yield invalid_value(path.child("minSize"), group["minSize"], text, VALUE_INVALID)
    labels = member(group, "labels")
    yield from label_errors(labels, path.child("labels"))
    if isinstance(zone, str):
        yield from label_value_errors(zone, path.child("zone"), VALUE_INVALID)
    if isinstance(zone, str) and zone and labels.get(ZONE, zone) != zone:
        text = f"must be that of zone, {zone}"
        yield invalid_value(path.child("labels").key(ZONE), labels[ZONE], text, VALUE_INVALID)
    for where, taint in objects_at(group.get("taints"), path.child("taints")):
        yield from taint_errors(taint, where)
    yield from amount_errors(group, path)


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


def amount_errors(entry: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    """Yield what is wrong with what a described node has, and what of that is allocatable."""
    for name in ("allocatable", "capacity"):
        if isinstance(entry.get(name), dict):
            amounts = ErrorList()
            read_amounts(entry[name], path.child(name), amounts)
            yield from amounts.errors
            missing = (needed for needed in _NEEDED if needed not in entry[name])
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
