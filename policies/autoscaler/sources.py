"""Node groups of documents: NodeGroups, and objects of Cluster API with annotations for Cluster Autoscaler.

Source: ``cloudprovider/clusterapi/clusterapi_{utils,unstructured,nodegroup}.go``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policies.autoscaler.autoscaler import ClusterAutoscaler
from policies.autoscaler.node_group import ScaledGroup
from policies.autoscaler.scale_up import AutoscalerSettings
from policies.config import node_groups
from policies.config.node_groups import GroupEntry, NodeGroups
from policies.config.node_groups_loader import build_node_groups, node_groups_errors
from policies.manifests.documents import ManifestObject
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    ErrorList,
    FieldPath,
    duplicate_value,
    invalid_value,
    member,
    required_value,
    shown,
    text_member,
    unsupported_value,
)
from policies.model.node import Node
from policies.model.quantity import read_amounts
from policies.model.taints import Taint, TaintEffect, read_taints
from policies.model.topology_keys import ZONE
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS

#: How many pods a node takes where nothing is said: the kubelet's default.
USUAL_PODS: Final = 110
#: The group of Cluster API, and its kinds that Cluster Autoscaler scales.
_CAPI_GROUP: Final = "cluster.x-k8s.io"
_CAPI_KINDS: Final = ("MachineDeployment", "MachineSet", "MachinePool")
#: What Karpenter's documents are of.
_KARPENTER_GROUP: Final = "karpenter.sh"
_MIN: Final = f"{_CAPI_GROUP}/cluster-api-autoscaler-node-group-min-size"
_MAX: Final = f"{_CAPI_GROUP}/cluster-api-autoscaler-node-group-max-size"
_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
#: The resources of the annotations, by their names there.
_RESOURCES: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": PODS}
#: What kube-proxy takes of each node that is made up from annotations: ``BuildKubeProxy``.
_KUBE_PROXY: Final = {"cpu": 100, PODS: 1}
#: The labels of such a node: ``buildGenericLabels``.
_GENERIC: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
_ANNOTATIONS: Final = FieldPath(("metadata", "annotations"))

#: The rules that documents break.
NOT_MODELED: Final = "not-modeled"
NAME_TAKEN: Final = "name-taken"
VALUE_INVALID: Final = "value-invalid"


def read_autoscaler(objects: Iterable[ManifestObject], cluster: ClusterIndex) -> ClusterAutoscaler:
    """Return Cluster Autoscaler as documents describe it.

    Args:
        objects: One NodeGroups document at most, and objects of Cluster API.
        cluster: Whose nodes are counted for groups that do not say how many they have.

    Raises:
        DocumentError: A document is not what it should be, or there is no node group; holds every error.
    """
    problems: list[str] = []
    groups: list[ScaledGroup] = []
    document: NodeGroups | None = None
    for entry in objects:
        found = ErrorList()
        content: object = entry.value
        value: dict[str, Any] = content if isinstance(content, dict) else {}
        kind, group = text_member(value, "kind"), text_member(value, "apiVersion").partition("/")[0]
        if kind == node_groups.KIND:
            found.extend(node_groups_errors(entry.value))
            if document is not None:
                found.add(duplicate_value(FieldPath(("kind",)), kind, NAME_TAKEN))
            elif not found.errors:
                document = build_node_groups(value)
                groups += (_group_of(each, cluster) for each in document.groups)
        elif group == _CAPI_GROUP and kind in _CAPI_KINDS:
            groups += _of_cluster_api(value, found)
        elif group == _KARPENTER_GROUP:
            text = f"{kind} of Karpenter is not modeled: --autoscale is Cluster Autoscaler"
            found.add(invalid_value(FieldPath(("kind",)), kind, text, NOT_MODELED))
        else:
            kinds = (node_groups.KIND, *_CAPI_KINDS)
            found.add(unsupported_value(FieldPath(("kind",)), value.get("kind"), kinds, NOT_MODELED))
        problems += entry.problems(found.errors)
    names = [group.name for group in groups]
    problems += (f"two node groups are called {shown(name)}" for name in _repeated(names))
    if not groups and not problems:
        annotations = f"{_MIN} and {_MAX}"
        problems.append(f"no node group: neither {node_groups.KIND} nor an object with {annotations}")
    if problems:
        raise DocumentError(problems)
    return ClusterAutoscaler(groups=tuple(groups), settings=_settings(document))


def _repeated(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


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
    )


def _group_of(entry: GroupEntry, cluster: ClusterIndex) -> ScaledGroup:
    labels = {**entry.labels, **({ZONE: entry.zone} if entry.zone else {})}
    allocatable = _amounts(entry.allocatable)
    capacity = allocatable if entry.capacity is None else _amounts(entry.capacity)
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in entry.taints)
    node = Node(entry.name, labels, taints, unschedulable=False, allocatable=allocatable)
    size = _count(labels, cluster) if entry.size is None else entry.size
    return ScaledGroup(name=entry.name, template=node, capacity=capacity, size=size, max_size=entry.max_size)


def _amounts(raw: Mapping[str, Any]) -> dict[str, int]:
    return {PODS: USUAL_PODS, **read_amounts(raw, FieldPath(), ErrorList())}


def _count(labels: Mapping[str, str], cluster: ClusterIndex) -> int:
    """Return how many nodes have all of some labels."""
    return sum(labels.items() <= node.labels.items() for node in cluster.nodes.listed())


def _of_cluster_api(value: Mapping[str, Any], found: ErrorList) -> list[ScaledGroup]:
    """Return the node group of an object with both sizes; none of one that is not scaled."""
    annotations = member(member(value, "metadata"), "annotations")
    sizes = [_size(annotations, key, found) for key in (_MIN, _MAX)]
    if sizes[0] is None or sizes[1] is None:
        return []
    name = text_member(value.get("metadata"), "name")
    amounts: dict[str, int] = {}
    for key, resource in _RESOURCES.items():
        text = annotations.get(_CAPACITY + key)
        if text is not None:
            path = _ANNOTATIONS.key(_CAPACITY + key)
            read = ErrorList()
            amounts |= read_amounts({resource: text}, path, read)
            found.extend(read.errors)
    if gpus := annotations.get(f"{_CAPACITY}gpu-count"):
        gpu = text_member(annotations, f"{_CAPACITY}gpu-type")
        amounts |= read_amounts({gpu: gpus}, _ANNOTATIONS.key(f"{_CAPACITY}gpu-count"), found) if gpu else {}
    for needed in ("cpu", "memory"):
        if needed not in amounts:
            text = "nodes of this group cannot be made up without it"
            found.add(required_value(_ANNOTATIONS.key(_CAPACITY + needed), text, VALUE_INVALID))
    capacity = {PODS: USUAL_PODS, **amounts}
    template = Node(
        name,
        {**_GENERIC, **_labels(text_member(annotations, f"{_CAPACITY}labels"))},
        _taints(value, text_member(annotations, f"{_CAPACITY}taints"), found),
        unschedulable=False,
        allocatable={key: max(amount - _KUBE_PROXY.get(key, 0), 0) for key, amount in capacity.items()},
    )
    replicas = member(value, "spec").get("replicas")
    size = replicas if isinstance(replicas, int) else 0
    return [ScaledGroup(name=name, template=template, capacity=capacity, size=size, max_size=sizes[1])]


def _size(annotations: Mapping[str, Any], key: str, found: ErrorList) -> int | None:
    text = annotations.get(key)
    if text is None:
        return None
    if not (isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= len("99999")):
        found.add(invalid_value(_ANNOTATIONS.key(key), text, "must be a number of nodes", VALUE_INVALID))
        return None
    return int(text)


def _labels(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {key.strip(): value.strip() for key, _, value in pairs}


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
    spec = member(member(member(value, "spec"), "template"), "spec")
    path = FieldPath(("spec", "template", "spec", "taints"))
    overridden = {(taint.key, taint.effect) for taint in taints}
    own = read_taints(spec.get("taints"), path, found)
    return (*taints, *(taint for taint in own if (taint.key, taint.effect) not in overridden))
