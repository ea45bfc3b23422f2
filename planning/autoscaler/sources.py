"""Cluster Autoscaler or Karpenter, as documents describe them or the nodes of a cluster show.

The door of this package: who has a ``NodeSource`` of it needs nothing else of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.karpenter.reader import NODE_CLASS, NODE_POOL, NOT_MODELED, KarpenterReader
from planning.autoscaler.node_group import GroupOrigin, ScaledGroup, described_amounts, least_amounts
from planning.autoscaler.scale_up import MOST_NODES
from planning.simulation.node_source import NodeSource
from policies.config.form import read
from policies.config.node_groups import AutoscalerSettings, CloudProvider, GroupEntry, NodeGroups
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
from policies.model.node import Node, without_transient
from policies.model.scaling import KARPENTER_GROUP, KARPENTER_NODE_LABEL
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE, ZONE
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
#: The labels of managed groups, with the provider whose they are.
_POOL_LABELS: Final = {
    "eks.amazonaws.com/nodegroup": CloudProvider.AWS,
    "alpha.eksctl.io/nodegroup-name": CloudProvider.AWS,
    "cloud.google.com/gke-nodepool": CloudProvider.GCE,
    "kubernetes.azure.com/agentpool": CloudProvider.AZURE,
    "agentpool": CloudProvider.AZURE,
}
#: What the nodes carry that Cluster Autoscaler does not add: those of a control plane and of Karpenter.
_NOT_SCALED: Final = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    KARPENTER_NODE_LABEL,
)


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
            elif not found.errors:
                self._document = document
        elif api_group == KARPENTER_GROUP or kind == OwnKind.INSTANCE_TYPES:
            self._karpenter.take(value, found)
        elif not is_node_class(value):
            found.add(unsupported_value(FieldPath(("kind",)), value.get("kind"), DESCRIBED, NOT_MODELED))
        if self._karpenter.has_pools and self._document is not None:
            found.add(invalid_value(FieldPath(("kind",)), kind, BOTH, NOT_MODELED))
        return found.errors

    def autoscaler(self) -> NodeSource:
        """Return the autoscaler that the documents describe.

        Raises:
            DocumentError: There is no node group and no NodePool, or NodePools have no instance type.
        """
        if self._karpenter.has_pools:
            return self._karpenter.karpenter(self._cluster)
        if self._document is None:
            raise DocumentError([NO_GROUP])
        groups = tuple(_group_of(entry, self._cluster) for entry in self._document.groups)
        return ClusterAutoscaler(groups=groups, settings=self._document)


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


class _Shape(NamedTuple):
    pool: str
    zone: str
    labels: frozenset[tuple[str, str]]
    taints: tuple[Taint, ...]
    cpu: int


def deduce(cluster: ClusterIndex) -> ClusterAutoscaler:
    """Return the node groups that the nodes of a cluster show, one for each zone, by their names.

    Of a group nobody knows how many nodes it may have: as many as one scale-up may add. What its nodes have
    besides what is allocatable is not known either.

    Raises:
        DocumentError: No node is in a group.
    """
    nodes = [without_transient(node) for node in cluster.nodes.listed()]
    karpenter = sum(KARPENTER_NODE_LABEL in node.labels for node in nodes)
    nodes = [node for node in nodes if not any(key in node.labels for key in _NOT_SCALED)]
    own = _own_labels(nodes)
    if not nodes:
        raise DocumentError([NONE_DEDUCED])
    shapes: dict[_Shape, list[Node]] = {}
    for node in nodes:
        shapes.setdefault(_shape(node, own), []).append(node)
    keys = {key for node in nodes for key in node.labels}
    provider = next((found for key, found in _POOL_LABELS.items() if key in keys), CloudProvider.OTHER)
    groups = sorted(_groups(shapes), key=lambda group: group.name)
    settings = AutoscalerSettings(cloud_provider=provider)
    return ClusterAutoscaler(groups=tuple(groups), settings=settings, karpenter_nodes=karpenter)


def _own_labels(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the keys of labels that tell nodes apart: of more than one node, each has another value."""
    carriers, values = Counter[str](), set[tuple[str, str]]()
    for node in nodes:
        carriers.update(node.labels.keys())
        values.update(node.labels.items())
    distinct = Counter(key for key, _ in values)
    zones = {ZONE, *_POOL_LABELS}
    own = {
        key for key, count in carriers.items() if count > 1 and distinct[key] == count and key not in zones
    }
    return frozenset({HOSTNAME, *own})


def _shape(node: Node, own: frozenset[str]) -> _Shape:
    labels = frozenset((key, value) for key, value in node.labels.items() if key not in own)
    pool = next((node.labels[key] for key in _POOL_LABELS if key in node.labels), "")
    return _Shape(pool, node.labels.get(ZONE, ""), labels, node.taints, node.allocatable.get("cpu", 0))


def _groups(shapes: dict[_Shape, list[Node]]) -> Iterable[ScaledGroup]:
    taken = Counter[str]()
    for shape, nodes in shapes.items():
        labels = dict(shape.labels)
        parts = (shape.pool or labels.get(INSTANCE_TYPE, "") or "nodes", shape.zone)
        name = "-".join(filter(None, parts))
        taken[name] += 1
        name = name if taken[name] == 1 else f"{name}-{taken[name]}"
        # Nodes of one kind differ by some memory.
        least = least_amounts(nodes)
        template = Node(name, labels, shape.taints, unschedulable=False, allocatable=least)
        yield ScaledGroup(
            name=name,
            template=template,
            capacity=least,
            size=len(nodes),
            max_size=len(nodes) + MOST_NODES,
            nodes=frozenset(node.name for node in nodes),
            origin=GroupOrigin.MANAGED if shape.pool else GroupOrigin.DEDUCED,
        )
