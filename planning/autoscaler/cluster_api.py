"""Node groups of objects of Cluster API, which their annotations describe for Cluster Autoscaler.

Source: ``cloudprovider/clusterapi/clusterapi_{utils,unstructured,nodegroup}.go``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from planning.autoscaler.node_group import USUAL_LABELS, USUAL_PODS, ScaledGroup, read_template_taints
from policies.manifests.fields import (
    METADATA,
    SPEC,
    VALUE_INVALID,
    ErrorList,
    FieldPath,
    descend,
    invalid_value,
    member,
    required_value,
)
from policies.model.node import Node
from policies.model.quantity import read_amounts
from policies.model.taints import Taint, TaintEffect
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS

#: The group of Cluster API, and its kinds that Cluster Autoscaler scales.
GROUP: Final = "cluster.x-k8s.io"
KINDS: Final = ("MachineDeployment", "MachineSet", "MachinePool")
MIN_SIZE: Final = f"{GROUP}/cluster-api-autoscaler-node-group-min-size"
MAX_SIZE: Final = f"{GROUP}/cluster-api-autoscaler-node-group-max-size"
_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
#: The resources of the annotations, by their names there.
_RESOURCES: Final = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": PODS}
#: What kube-proxy takes of each node that is made up from annotations: ``BuildKubeProxy``.
_KUBE_PROXY: Final = {"cpu": 100, PODS: 1}
_ANNOTATIONS: Final = METADATA.child("annotations")


def nodes_with(labels: Mapping[str, str], cluster: ClusterIndex) -> frozenset[str]:
    """Return the names of the nodes that have all of some labels."""
    wanted = labels.items()
    return frozenset(node.name for node in cluster.nodes.listed() if wanted <= node.labels.items())


def read_scaled_object(
    value: Mapping[str, Any], cluster: ClusterIndex, found: ErrorList
) -> ScaledGroup | None:
    """Return the node group of an object with both sizes; None of one that is not scaled.

    Its nodes are those with the labels of its annotation: no object says which Machines they are.
    """
    metadata = found.mapping(value.get("metadata"), METADATA)
    annotations = found.labels(metadata.get("annotations"), _ANNOTATIONS)
    is_scaled = all(member(metadata, "annotations").get(key) is not None for key in (MIN_SIZE, MAX_SIZE))
    if not is_scaled and not found.errors:
        return None
    least, most = (_size(annotations, key, found) for key in (MIN_SIZE, MAX_SIZE))
    if least is not None and most is not None and least > most:
        text = f"must be at most {most}"
        found.add(invalid_value(_ANNOTATIONS.key(MIN_SIZE), annotations[MIN_SIZE], text, VALUE_INVALID))
    name = found.name(metadata, METADATA)
    amounts = _annotated_amounts(annotations, found) if is_scaled else {}
    capacity = {PODS: USUAL_PODS, **amounts}
    labels = _labels(annotations.get(f"{_CAPACITY}labels", ""), found)
    template = Node(
        name,
        {**USUAL_LABELS, **labels},
        _taints(value, annotations.get(f"{_CAPACITY}taints", ""), found),
        unschedulable=False,
        allocatable={key: max(amount - _KUBE_PROXY.get(key, 0), 0) for key, amount in capacity.items()},
    )
    replicas = found.integer(member(value, "spec").get("replicas"), SPEC.child("replicas"))
    if replicas is not None and replicas < 0:
        found.add(invalid_value(SPEC.child("replicas"), replicas, "must not be negative", VALUE_INVALID))
    if found.errors:
        return None
    return ScaledGroup(
        name=name,
        template=template,
        capacity=capacity,
        size=replicas or 0,
        max_size=most or 0,
        min_size=least or 0,
        nodes=nodes_with(labels, cluster) if labels else frozenset(),
    )


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
