"""Node groups of documents, or deduced from the nodes of a cluster.

Documents are NodeGroups, and objects of Cluster API with annotations for Cluster Autoscaler. Nodes of one
deduced group are alike in all but name and zone.

Source: ``cloudprovider/clusterapi/clusterapi_{utils,unstructured,nodegroup}.go``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from policies.autoscaler.autoscaler import ClusterAutoscaler
from policies.autoscaler.karpenter.reader import NODE_CLASS, NODE_POOL, KarpenterReader
from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.autoscaler.node_group import (
    USUAL_PODS,
    GroupOrigin,
    ScaledGroup,
    described_amounts,
    read_template_taints,
)
from policies.autoscaler.scale_up import MOST_NODES, AutoscalerSettings
from policies.config import instance_types, node_groups
from policies.config.node_groups import CloudProvider, GroupEntry, NodeGroups
from policies.config.node_groups_loader import read_node_groups
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    METADATA,
    NAME,
    NAME_TAKEN,
    SPEC,
    VALUE_INVALID,
    ErrorList,
    FieldError,
    FieldPath,
    descend,
    duplicate_value,
    invalid_value,
    member,
    required_value,
    text_member,
    unsupported_value,
)
from policies.model.node import Node, without_transient
from policies.model.quantity import read_amounts
from policies.model.scaling import KARPENTER_GROUP, KARPENTER_NODE_LABEL
from policies.model.taints import Taint, TaintEffect
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE, ZONE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS

#: The group of Cluster API, and its kinds that Cluster Autoscaler scales.
_CAPI_GROUP: Final = "cluster.x-k8s.io"
_CAPI_KINDS: Final = ("MachineDeployment", "MachineSet", "MachinePool")
_MIN: Final = f"{_CAPI_GROUP}/cluster-api-autoscaler-node-group-min-size"
_MAX: Final = f"{_CAPI_GROUP}/cluster-api-autoscaler-node-group-max-size"
_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
#: The resources of the annotations, by their names there.
_RESOURCES: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": PODS}
#: What kube-proxy takes of each node that is made up from annotations: ``BuildKubeProxy``.
_KUBE_PROXY: Final = {"cpu": 100, PODS: 1}
#: The labels of such a node: ``buildGenericLabels``.
_GENERIC: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
_ANNOTATIONS: Final = METADATA.child("annotations")

#: The rules that documents break.
NOT_MODELED: Final = "not-modeled"
#: The kinds of documents that describe the nodes of an autoscaler, and nothing else.
DESCRIBED: Final = (node_groups.KIND, NODE_POOL, instance_types.KIND)
#: What is said of documents without a node group.
NO_GROUP: Final = (
    f"no node group: neither {node_groups.KIND}, nor a {NODE_POOL}, nor an object with {_MIN} and {_MAX}"
)
#: What is said of documents for both autoscalers.
BOTH: Final = "NodePools are Karpenter's, the other groups Cluster Autoscaler's: give those of one of them"
#: How the API groups of Karpenter's providers start.
_OF_PROVIDERS: Final = "karpenter."
#: What is said where no node is in a group.
NONE_DEDUCED: Final = "the cluster has no node of a node group"


def is_described(value: object) -> bool:
    """Return whether a document describes an autoscaler's nodes and nothing else, whatever its errors."""
    kind, group = text_member(value, "kind"), text_member(value, "apiVersion").partition("/")[0]
    return kind in (node_groups.KIND, instance_types.KIND) or (kind == NODE_POOL and group == KARPENTER_GROUP)


def is_node_class(value: object) -> bool:
    """Return whether a document is a NodeClass of a provider of Karpenter, which is passed over."""
    kind, group = text_member(value, "kind"), text_member(value, "apiVersion").partition("/")[0]
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
        kind, api_group = text_member(value, "kind"), text_member(value, "apiVersion").partition("/")[0]
        if kind == node_groups.KIND:
            document = read_node_groups(value, found)
            if self._document is not None:
                found.add(duplicate_value(FieldPath(("kind",)), kind, NAME_TAKEN))
            elif not found.errors:
                self._document = document
                for position, entry in enumerate(document.groups):
                    group = _group_of(entry, self._cluster)
                    self._add(group, FieldPath(("groups",)).index(position).child("name"), found)
        elif api_group == _CAPI_GROUP and kind in _CAPI_KINDS:
            for group in _of_cluster_api(value, self._cluster, found):
                self._add(group, NAME, found)
        elif api_group == KARPENTER_GROUP or kind == instance_types.KIND:
            found.extend(self._karpenter.take(value, NOT_MODELED))
        elif not is_node_class(value):
            kinds = (*DESCRIBED, *_CAPI_KINDS)
            found.add(unsupported_value(FieldPath(("kind",)), value.get("kind"), kinds, NOT_MODELED))
        self._check_one(kind, found)
        return found.errors

    def _check_one(self, kind: str, found: ErrorList) -> None:
        """Record that there are documents of both autoscalers."""
        if self._karpenter.has_pools and self._groups:
            found.add(invalid_value(FieldPath(("kind",)), kind, BOTH, NOT_MODELED))

    def _add(self, group: ScaledGroup, path: FieldPath, found: ErrorList) -> None:
        if any(group.name == other.name for other in self._groups):
            found.add(duplicate_value(path, group.name, NAME_TAKEN))
        self._groups.append(group)

    def autoscaler(self) -> NodeAutoscaler | None:
        """Return the autoscaler that the documents describe; None if there is no node group and no NodePool.

        Raises:
            DocumentError: NodePools have no instance type.
        """
        if self._karpenter.has_pools:
            return self._karpenter.karpenter(self._cluster)
        if not self._groups:
            return None
        return ClusterAutoscaler(groups=tuple(self._groups), settings=_settings(self._document))


#: The labels of managed groups, with the provider whose they are.
POOL_LABELS: Final = {
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


def read_autoscaler(objects: Iterable[ManifestObject], cluster: ClusterIndex) -> NodeAutoscaler:
    """Return Cluster Autoscaler or Karpenter as documents of a file describe it.

    Args:
        objects: One NodeGroups document at most, and objects of Cluster API; or NodePools, and one
            InstanceTypes document at most.
        cluster: Whose nodes are counted for groups that do not say how many they have.

    Raises:
        DocumentError: A document is not what it should be, or there is no node group; holds every error.
    """
    reader, problems = AutoscalerReader(cluster), list[str]()
    for entry in objects:
        content: object = entry.value
        problems += entry.problems(reader.take(content if isinstance(content, dict) else {}))
    autoscaler = None if problems else reader.autoscaler()
    if autoscaler is None:
        raise DocumentError(problems or [NO_GROUP])
    return autoscaler


def _settings(document: NodeGroups | None) -> AutoscalerSettings:
    if document is None:
        return AutoscalerSettings()
    priorities: dict[int, list[str]] = {}
    for entry in document.priorities:
        priorities.setdefault(entry.priority, []).extend(entry.names)
    return AutoscalerSettings(
        expanders=document.expanders,
        balances=document.balance_similar_node_groups,
        max_nodes_total=document.max_nodes_total,
        provider=document.cloud_provider,
        priorities=priorities,
        scale_down=document.scale_down,
    )


def _group_of(entry: GroupEntry, cluster: ClusterIndex) -> ScaledGroup:
    labels = {**entry.labels, **({ZONE: entry.zone} if entry.zone else {})}
    allocatable = described_amounts(entry.allocatable)
    capacity = allocatable if entry.capacity is None else described_amounts(entry.capacity)
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in entry.taints)
    node = Node(entry.name, labels, taints, unschedulable=False, allocatable=allocatable)
    nodes = _nodes_with(labels, cluster)
    return ScaledGroup(
        name=entry.name,
        template=node,
        capacity=capacity,
        size=len(nodes) if entry.size is None else entry.size,
        max_size=entry.max_size,
        min_size=entry.min_size,
        nodes=nodes,
    )


def _nodes_with(labels: Mapping[str, str], cluster: ClusterIndex) -> frozenset[str]:
    """Return the names of the nodes that have all of some labels."""
    wanted = labels.items()
    return frozenset(node.name for node in cluster.nodes.listed() if wanted <= node.labels.items())


def _of_cluster_api(value: Mapping[str, Any], cluster: ClusterIndex, found: ErrorList) -> list[ScaledGroup]:
    """Return the node group of an object with both sizes; none of one that is not scaled.

    Its nodes are those with the labels of its annotation: no object says which Machines they are.
    """
    metadata = found.mapping(value.get("metadata"), METADATA)
    annotations = found.labels(metadata.get("annotations"), _ANNOTATIONS)
    is_scaled = all(member(metadata, "annotations").get(key) is not None for key in (_MIN, _MAX))
    if not is_scaled and not found.errors:
        return []
    least, most = (_size(annotations, key, found) for key in (_MIN, _MAX))
    if least is not None and most is not None and least > most:
        text = f"must be at most {most}"
        found.add(invalid_value(_ANNOTATIONS.key(_MIN), annotations[_MIN], text, VALUE_INVALID))
    name = found.name(metadata, METADATA)
    amounts = _annotated_amounts(annotations, found) if is_scaled else {}
    capacity = {PODS: USUAL_PODS, **amounts}
    labels = _labels(annotations.get(f"{_CAPACITY}labels", ""), found)
    template = Node(
        name,
        {**_GENERIC, **labels},
        _taints(value, annotations.get(f"{_CAPACITY}taints", ""), found),
        unschedulable=False,
        allocatable={key: max(amount - _KUBE_PROXY.get(key, 0), 0) for key, amount in capacity.items()},
    )
    replicas = found.integer(member(value, "spec").get("replicas"), SPEC.child("replicas"))
    if replicas is not None and replicas < 0:
        found.add(invalid_value(SPEC.child("replicas"), replicas, "must not be negative", VALUE_INVALID))
    if found.errors:
        return []
    group = ScaledGroup(
        name=name,
        template=template,
        capacity=capacity,
        size=replicas or 0,
        max_size=most or 0,
        min_size=least or 0,
        nodes=_nodes_with(labels, cluster) if labels else frozenset(),
    )
    return [group]


def _annotated_amounts(annotations: Mapping[str, str], found: ErrorList) -> dict[str, int]:
    """Return what a node has by annotations."""
    stated = [(_CAPACITY + key, resource) for key, resource in _RESOURCES.items()]
    count, kind = f"{_CAPACITY}gpu-count", f"{_CAPACITY}gpu-type"
    if annotations.get(kind):
        stated.append((count, annotations[kind]))
    elif annotations.get(count):
        text = "names the resource of which there are so many"
        found.add(required_value(_ANNOTATIONS.key(kind), text, VALUE_INVALID))
    amounts: dict[str, int] = {}
    for key, resource in stated:
        if key in annotations:
            # The path of an amount has the name of its resource, which no annotation has.
            read = ErrorList()
            amounts |= read_amounts({resource: annotations[key]}, FieldPath(), read)
            found.extend(replace(error, path=_ANNOTATIONS.key(key)) for error in read.errors)
    for needed in ("cpu", "memory"):
        if _CAPACITY + needed not in annotations:
            text = "nodes of this group cannot be made up without it"
            found.add(required_value(_ANNOTATIONS.key(_CAPACITY + needed), text, VALUE_INVALID))
    return amounts


def _size(annotations: Mapping[str, str], key: str, found: ErrorList) -> int | None:
    text = annotations.get(key)
    if text is None:
        return None  # It is no text, which is recorded.
    if not (text.isascii() and text.isdecimal() and len(text) <= len("99999")):
        found.add(invalid_value(_ANNOTATIONS.key(key), text, "must be a number of nodes", VALUE_INVALID))
        return None
    return int(text)


def _labels(text: str, found: ErrorList) -> dict[str, str]:
    labels = {}
    for entry in filter(None, text.split(",")):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            form = "must be KEY=VALUE, of which there may be several, separated by commas"
            found.add(invalid_value(_ANNOTATIONS.key(f"{_CAPACITY}labels"), entry, form, VALUE_INVALID))
        labels[key] = value
    return labels


def _taints(value: Mapping[str, Any], text: str, found: ErrorList) -> tuple[Taint, ...]:
    """Return the taints of the annotation, and those of the machines that it does not override."""
    taints = []
    for entry in filter(None, text.split(",")):
        pair, _, effect = entry.rpartition(":")
        key, _, text = pair.partition("=")
        if not key or effect not in list(TaintEffect):
            form = "must be KEY=VALUE:EFFECT, of which there may be several, separated by commas"
            found.add(invalid_value(_ANNOTATIONS.key(f"{_CAPACITY}taints"), entry, form, VALUE_INVALID))
        else:
            taints.append(Taint(key, text, effect))
    way = ("spec", "template", "spec")
    spec, path = descend(value, way, found), FieldPath(way).child("taints")
    overridden = {(taint.key, taint.effect) for taint in taints}
    own = read_template_taints(spec.get("taints"), path, found)
    return (*taints, *(taint for taint in own if (taint.key, taint.effect) not in overridden))


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
    """
    nodes = [without_transient(node) for node in cluster.nodes.listed()]
    karpenter = sum(KARPENTER_NODE_LABEL in node.labels for node in nodes)
    nodes = [node for node in nodes if not any(key in node.labels for key in _NOT_SCALED)]
    own = _own_labels(nodes)
    shapes: dict[_Shape, list[Node]] = {}
    for node in nodes:
        shapes.setdefault(_shape(node, own), []).append(node)
    provider = next(
        (found for key, found in POOL_LABELS.items() if _any_has(nodes, key)), CloudProvider.OTHER
    )
    groups = sorted(_groups(shapes), key=lambda group: group.name)
    settings = AutoscalerSettings(provider=provider)
    return ClusterAutoscaler(groups=tuple(groups), settings=settings, karpenter_nodes=karpenter)


def _any_has(nodes: Sequence[Node], key: str) -> bool:
    return any(key in node.labels for node in nodes)


def _own_labels(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the keys of labels that tell nodes apart: of more than one node, each has another value."""
    carriers, values = Counter[str](), set[tuple[str, str]]()
    for node in nodes:
        carriers.update(node.labels.keys())
        values.update(node.labels.items())
    distinct = Counter(key for key, _ in values)
    zones = {ZONE, *POOL_LABELS}
    own = {
        key for key, count in carriers.items() if count > 1 and distinct[key] == count and key not in zones
    }
    return frozenset({HOSTNAME, *own})


def _shape(node: Node, own: frozenset[str]) -> _Shape:
    labels = frozenset((key, value) for key, value in node.labels.items() if key not in own)
    pool = next((node.labels[key] for key in POOL_LABELS if key in node.labels), "")
    return _Shape(pool, node.labels.get(ZONE, ""), labels, node.taints, node.allocatable.get("cpu", 0))


def _groups(shapes: dict[_Shape, list[Node]]) -> Iterable[ScaledGroup]:
    taken = Counter[str]()
    for shape, nodes in shapes.items():
        labels = dict(shape.labels)
        parts = (shape.pool or labels.get(INSTANCE_TYPE, "") or "nodes", shape.zone)
        name = "-".join(filter(None, parts))
        taken[name] += 1
        name = name if taken[name] == 1 else f"{name}-{taken[name]}"
        # Nodes of one kind differ by some memory: a pod must fit the least of them.
        keys = set.intersection(*(set(node.allocatable) for node in nodes))
        least = {key: min(node.allocatable[key] for node in nodes) for key in sorted(keys)}
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
