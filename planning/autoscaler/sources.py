"""Cluster Autoscaler or Karpenter, as documents describe them or the nodes of a cluster show.

The door of this package: who has a ``NodeSource`` of it needs nothing else of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.deduced_groups import deduce
from planning.autoscaler.karpenter.reader import NODE_CLASS, NODE_POOL, NOT_MODELED, KarpenterReader
from planning.autoscaler.node_group import ScaledGroup, described_amounts
from planning.simulation.node_source import NodeSource
from policies.config.form import read
from policies.config.node_groups import AutoscalerSettings, GroupEntry, NodeGroups
from policies.config.own_kinds import OwnKind
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    NAME_TAKEN,
    ErrorList,
    FieldError,
    FieldPath,
    duplicate_value,
    invalid_value,
    text_member,
    unsupported_value,
)
from policies.model.node import Node
from policies.model.scaling import KARPENTER_GROUP
from policies.model.taints import Taint
from policies.model.topology_keys import ZONE
from policies.scheduler.index import ClusterIndex

#: The kinds of documents that describe the nodes of an autoscaler, and nothing else.
DESCRIBED: Final = (OwnKind.NODE_GROUPS, NODE_POOL, OwnKind.INSTANCE_TYPES)
#: What is said of documents without a node group.
NO_GROUP: Final = f"no node group: neither {OwnKind.NODE_GROUPS} nor a {NODE_POOL}"
#: What is said where no node is in a group.
NONE_DEDUCED: Final = "the cluster has no node of a node group"
#: What is said of documents for both autoscalers.
BOTH: Final = "NodePools are Karpenter's, the other groups Cluster Autoscaler's: give those of one of them"
#: How the API groups of Karpenter's providers start.
_OF_PROVIDERS: Final = "karpenter."


def _kind_of(value: object) -> tuple[str, str]:
    """Return the kind of a document, and its API group; empty where they are no texts."""
    return text_member(value, "kind"), text_member(value, "apiVersion").partition("/")[0]


def is_described(value: object) -> bool:
    """Return whether a document describes an autoscaler's nodes and nothing else, whatever its errors."""
    kind, group = _kind_of(value)
    is_own = kind in (OwnKind.NODE_GROUPS, OwnKind.INSTANCE_TYPES)
    return is_own or (kind, group) == (NODE_POOL, KARPENTER_GROUP)


def is_node_class(value: object) -> bool:
    """Return whether a document is a NodeClass of a provider of Karpenter, which is passed over."""
    kind, group = _kind_of(value)
    return kind.endswith(NODE_CLASS) and group.startswith(_OF_PROVIDERS)


class AutoscalerReader:
    """Reads documents that describe Cluster Autoscaler or Karpenter, one after another.

    Args:
        cluster: Whose nodes are counted for groups that do not say how many they have.
    """

    def __init__(self, cluster: ClusterIndex) -> None:
        self._cluster = cluster
        self._groups: list[ScaledGroup] = []
        self._document: NodeGroups | None = None
        self._karpenter = KarpenterReader()

    def take(self, value: Mapping[str, Any]) -> list[FieldError]:
        """Take a document in, unless something is wrong with it, which is returned."""
        found = ErrorList()
        kind, api_group = _kind_of(value)
        if kind == OwnKind.NODE_GROUPS:
            document = read(NodeGroups, value, found)
            if self._document is not None:
                found.add(duplicate_value(FieldPath(("kind",)), kind, NAME_TAKEN))
            elif document is not None and not found.errors:
                self._document = document
                for position, entry in enumerate(document.groups):
                    group = _group_of(entry, self._cluster)
                    self._add(group, FieldPath(("groups",)).index(position).child("name"), found)
        elif api_group == KARPENTER_GROUP or kind == OwnKind.INSTANCE_TYPES:
            self._karpenter.take(value, found)
        elif not is_node_class(value):
            found.add(unsupported_value(FieldPath(("kind",)), value.get("kind"), DESCRIBED, NOT_MODELED))
        if self._karpenter.has_pools and self._groups:
            found.add(invalid_value(FieldPath(("kind",)), kind, BOTH, NOT_MODELED))
        return found.errors

    def _add(self, group: ScaledGroup, path: FieldPath, found: ErrorList) -> None:
        if any(group.name == other.name for other in self._groups):
            found.add(duplicate_value(path, group.name, NAME_TAKEN))
        self._groups.append(group)

    def autoscaler(self) -> NodeSource:
        """Return the autoscaler that the documents describe.

        Raises:
            DocumentError: There is no node group and no NodePool, or NodePools have no instance type.
        """
        if self._karpenter.has_pools:
            return self._karpenter.karpenter(self._cluster)
        if not self._groups:
            raise DocumentError([NO_GROUP])
        return ClusterAutoscaler(groups=tuple(self._groups), settings=self._document or AutoscalerSettings())


def read_autoscaler(objects: Iterable[ManifestObject], cluster: ClusterIndex) -> NodeSource:
    """Return Cluster Autoscaler or Karpenter as documents of a file describe it.

    Args:
        objects: One NodeGroups document; or NodePools, and one InstanceTypes document at most.
        cluster: Whose nodes are counted for groups that do not say how many they have.

    Raises:
        DocumentError: A document is not what it should be, or there is no node group; holds every error.
    """
    reader, problems = AutoscalerReader(cluster), list[str]()
    for entry in objects:
        content: object = entry.value
        problems += entry.problems(reader.take(content if isinstance(content, dict) else {}))
    if problems:
        raise DocumentError(problems)
    return reader.autoscaler()


def deduced(cluster: ClusterIndex) -> NodeSource:
    """Return Cluster Autoscaler with the node groups that the nodes of a cluster show.

    Raises:
        DocumentError: No node is in a group.
    """
    found = deduce(cluster)
    if not found.groups:
        raise DocumentError([NONE_DEDUCED])
    return found


def _group_of(entry: GroupEntry, cluster: ClusterIndex) -> ScaledGroup:
    labels = {**entry.labels, **({ZONE: entry.zone} if entry.zone else {})}
    allocatable, capacity = described_amounts(entry)
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in entry.taints)
    node = Node(entry.name, labels, taints, unschedulable=False, allocatable=allocatable)
    wanted = labels.items()
    nodes = frozenset(each.name for each in cluster.nodes.listed() if wanted <= each.labels.items())
    return ScaledGroup(
        name=entry.name,
        template=node,
        capacity=capacity,
        size=len(nodes) if entry.size is None else entry.size,
        max_size=entry.max_size,
        min_size=entry.min_size,
        nodes=nodes,
    )
