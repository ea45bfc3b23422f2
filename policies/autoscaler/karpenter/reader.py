"""Karpenter from documents: NodePools, and instance types of a document or of the nodes of the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policies.autoscaler.karpenter.karpenter import Karpenter
from policies.autoscaler.karpenter.node_pool import (
    InstanceType,
    NodePool,
    Offering,
    PoolBudget,
    PoolDisruption,
    allowed_types,
    pools_in_order,
)
from policies.autoscaler.karpenter.requirements import LabelRequirement, combine, of_labels, required
from policies.autoscaler.node_group import described_amounts
from policies.config import instance_types
from policies.config.instance_types import InstanceTypeEntry, InstanceTypes
from policies.config.instance_types_loader import build_instance_types, instance_types_errors
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
    duplicate_value,
    invalid_value,
    required_value,
    text_member,
    unsupported_value,
    wrong_type,
)
from policies.model.node import Node, without_transient
from policies.model.node_affinity import parse_int64
from policies.model.quantity import read_amounts
from policies.model.scaling import CAPACITY_TYPE, KARPENTER_GROUP, KARPENTER_LABELS, KARPENTER_NODE_LABEL
from policies.model.taints import Taint, read_taints
from policies.model.topology_keys import INSTANCE_TYPE, REGION, ZONE
from policies.scheduler.index import ClusterIndex

#: The kind of a NodePool, and the version of it that is read.
NODE_POOL: Final = "NodePool"
VERSION: Final = f"{KARPENTER_GROUP}/v1"
#: How the kinds end that say what the machines of a NodePool are like; they are passed over.
NODE_CLASS: Final = "NodeClass"
#: What is said where no instance type is known.
NO_TYPES: Final = (
    "no instance type is known: no node of the cluster has the label "
    f"{INSTANCE_TYPE}, and there is no InstanceTypes document"
)
_TEMPLATE: Final = SPEC.child("template")
_OF_NODES: Final = _TEMPLATE.child("spec")
_DISRUPTION: Final = SPEC.child("disruption")
#: What a budget of a NodePool may say.
_NODES_OF_BUDGET: Final = re.compile(r"[0-9]{1,9}|(100|[0-9]{1,2})%")
_EQUALITY: Final = ("In", "NotIn")
_EXISTENCE: Final = ("Exists", "DoesNotExist")
_COMPARISON: Final = ("Gt", "Lt", "Gte", "Lte")
#: The labels of a node that its instance type brings.
_OF_TYPE: Final = ("kubernetes.io/arch", "kubernetes.io/os", REGION)
#: The most that ``minValues`` may be.
_MOST_MIN_VALUES: Final = 50
#: How a node is bought that does not say it.
_USUAL_CAPACITY_TYPE: Final = "on-demand"
#: How the labels start that Karpenter itself puts on its nodes.
_OF_POOLS: Final = f"{KARPENTER_GROUP}/"
#: Labels of an instance type that do not say otherwise.
_USUAL: Final = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}


@dataclass(frozen=True, slots=True)
class _Pool:
    """A NodePool as it was read, before its instance types are known."""

    name: str
    requirements: dict[str, LabelRequirement]
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    limits: dict[str, int]
    weight: int
    disruption: PoolDisruption


class KarpenterReader:
    """Reads NodePools and an InstanceTypes document, one after another."""

    def __init__(self) -> None:
        self._pools: list[_Pool] = []
        self._static: list[str] = []
        self._types: InstanceTypes | None = None

    @property
    def has_pools(self) -> bool:
        """Whether a NodePool was read."""
        return bool(self._pools or self._static)

    def _take_types(self, value: Mapping[str, Any]) -> list[FieldError]:
        if self._types is not None:
            return [duplicate_value(FieldPath(("kind",)), text_member(value, "kind"), NAME_TAKEN)]
        errors = instance_types_errors(value)
        if not errors:
            self._types = build_instance_types(value)
        return errors

    def take(self, value: Mapping[str, Any], rule: str) -> list[FieldError]:
        """Take a document in, unless something is wrong with it, which is returned.

        Args:
            value: An InstanceTypes document, or an object of Karpenter.
            rule: The rule that an object breaks which is no NodePool.
        """
        kind, version = text_member(value, "kind"), text_member(value, "apiVersion")
        if kind == instance_types.KIND:
            return self._take_types(value)
        found = ErrorList()
        if kind != NODE_POOL:
            found.add(unsupported_value(FieldPath(("kind",)), kind, [NODE_POOL], rule))
        elif version != VERSION:
            found.add(unsupported_value(FieldPath(("apiVersion",)), version, [VERSION], rule))
        else:
            self._take(value, found)
        return found.errors

    def _take(self, value: Mapping[str, Any], found: ErrorList) -> None:
        given = found.mapping(value.get("metadata"), METADATA).get("name")
        name = found.text(given, NAME)
        if given in (None, ""):
            found.add(required_value(NAME, "", VALUE_INVALID))
        if any(name == pool.name for pool in self._pools) or name in self._static:
            found.add(duplicate_value(NAME, name, NAME_TAKEN))
        spec = found.mapping(value.get("spec"), SPEC)
        template = found.mapping(spec.get("template"), _TEMPLATE)
        own = found.mapping(template.get("spec"), _OF_NODES)
        labels = _labels(template, found)
        limits = read_amounts(spec.get("limits"), SPEC.child("limits"), found)
        weight = spec.get("weight") or 0
        if type(weight) is not int:
            found.add(wrong_type(SPEC.child("weight"), "an integer", weight))
            weight = 0
        stated = list(_requirements(own.get("requirements"), _OF_NODES.child("requirements"), found))
        taints = read_taints(own.get("taints"), _OF_NODES.child("taints"), found)
        read_taints(own.get("startupTaints"), _OF_NODES.child("startupTaints"), found)
        disruption = _disruption(spec.get("disruption"), found)
        if found.errors:
            return
        if spec.get("replicas") is not None:
            self._static.append(name)
            return
        of_pool = of_labels({**labels, KARPENTER_NODE_LABEL: name, **_class_label(own)})
        requirements = combine(stated, of_pool.items())
        labels |= _class_label(own)
        self._pools.append(_Pool(name, requirements, labels, taints, limits, weight, disruption))

    def karpenter(self, cluster: ClusterIndex) -> Karpenter:
        """Return Karpenter as the documents describe it.

        Args:
            cluster: Whose nodes are counted, and have the instance types if no document does.

        Raises:
            DocumentError: No instance type is known.
        """
        types = (
            tuple(_of_nodes(cluster))
            if self._types is None
            else tuple(map(_type_of, self._types.instance_types))
        )
        if not types:
            raise DocumentError([NO_TYPES])
        pools = [
            NodePool(
                name=pool.name,
                requirements=pool.requirements,
                labels=pool.labels,
                taints=pool.taints,
                limits=pool.limits,
                weight=pool.weight,
                types=tuple(allowed_types(types, pool.requirements)),
                disruption=pool.disruption,
            )
            for pool in self._pools
        ]
        sizes: dict[str, int] = {}
        for node in cluster.nodes.listed():
            name = node.labels.get(KARPENTER_NODE_LABEL, "")
            sizes[name] = sizes.get(name, 0) + 1
        return Karpenter(
            pools=tuple(pools_in_order(pools)),
            types=types,
            sizes=sizes,
            of_nodes=self._types is None,
            static=tuple(self._static),
        )


def _disruption(raw: object, found: ErrorList) -> PoolDisruption:
    """Return ``spec.disruption``, with the defaults of the API server."""
    usual, given = PoolDisruption(), found.mapping(raw, _DISRUPTION)
    policy = found.text(given.get("consolidationPolicy"), _DISRUPTION.child("consolidationPolicy"))
    after = found.text(given.get("consolidateAfter"), _DISRUPTION.child("consolidateAfter"))
    if given.get("budgets") is None:
        return usual._replace(policy=policy or usual.policy, never=after == "Never")
    budgets = []
    for where, entry in found.objects(given["budgets"], _DISRUPTION.child("budgets")):
        nodes, reasons = found.text(entry.get("nodes"), where.child("nodes")), entry.get("reasons")
        if not _NODES_OF_BUDGET.fullmatch(nodes):
            text = "must be a number of nodes, or a percentage"
            found.add(invalid_value(where.child("nodes"), nodes, text, VALUE_INVALID))
        named = tuple(map(str, reasons)) if isinstance(reasons, list) else None
        budgets.append(PoolBudget(nodes, named, at_times=entry.get("schedule") is not None))
    return PoolDisruption(policy or usual.policy, after == "Never", tuple(budgets))


def _labels(template: Mapping[str, Any], found: ErrorList) -> dict[str, str]:
    path = _TEMPLATE.child("metadata")
    labels = found.mapping(template.get("metadata"), path).get("labels")
    where = path.child("labels")
    return {key: found.text(value, where.key(key)) for key, value in found.mapping(labels, where).items()}


def _class_label(own: Mapping[str, Any]) -> dict[str, str]:
    """Return the label that a node has of its NodeClass."""
    reference = own.get("nodeClassRef")
    group, kind, name = (text_member(reference, field) for field in ("group", "kind", "name"))
    return {f"{group}/{kind.lower()}": name} if group and kind and name else {}


def _requirements(raw: object, path: FieldPath, found: ErrorList) -> Iterator[tuple[str, LabelRequirement]]:
    for where, entry in found.objects(raw, path):
        key = found.text(entry.get("key"), where.child("key"))
        operator = found.text(entry.get("operator"), where.child("operator"))
        values, least = entry.get("values") or [], entry.get("minValues")
        if operator not in (*_EQUALITY, *_EXISTENCE, *_COMPARISON):
            every = (*_EQUALITY, *_EXISTENCE, *_COMPARISON)
            found.add(unsupported_value(where.child("operator"), operator, every, VALUE_INVALID))
        elif not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            found.add(wrong_type(where.child("values"), "a list of strings", values))
        elif error := _values_error(operator, values):
            found.add(invalid_value(where.child("values"), ", ".join(values), error, VALUE_INVALID))
        elif not key:
            found.add(required_value(where.child("key"), "", VALUE_INVALID))
        elif least is not None and (type(least) is not int or not 1 <= least <= _MOST_MIN_VALUES):
            text = f"must be an integer from 1 to {_MOST_MIN_VALUES}"
            found.add(invalid_value(where.child("minValues"), least, text, VALUE_INVALID))
        else:
            yield required(key, operator, values, least)


def _values_error(operator: str, values: list[str]) -> str:
    if operator in _EXISTENCE:
        return f"must be empty with {operator}" if values else ""
    if operator in _EQUALITY:
        return "" if values else f"must not be empty with {operator}"
    if len(values) != 1 or (parse_int64(values[0]) or 0) < 0 or parse_int64(values[0]) is None:
        return f"must be one whole number with {operator}"
    return ""


def _type_of(entry: InstanceTypeEntry) -> InstanceType:
    allocatable = described_amounts(entry.allocatable)
    capacity = allocatable if entry.capacity is None else described_amounts(entry.capacity)
    offerings = (
        Offering(zone, each.capacity_type, each.price)
        for each in entry.offerings
        for zone in each.zones or ("",)
    )
    return InstanceType(
        name=entry.name,
        labels={**_USUAL, **entry.labels},
        allocatable=allocatable,
        capacity=capacity,
        offerings=tuple(dict.fromkeys(offerings)),
    )


def _of_nodes(cluster: ClusterIndex) -> Iterator[InstanceType]:
    """Yield the instance types of the nodes of a cluster, with the zones in which they are.

    Of several nodes each amount is the least. What a node has besides what is allocatable is not known.
    """
    by_type: dict[str, list[Node]] = {}
    for node in map(without_transient, cluster.nodes.listed()):
        if INSTANCE_TYPE in node.labels:
            by_type.setdefault(node.labels[INSTANCE_TYPE], []).append(node)
    for name, nodes in sorted(by_type.items()):
        keys = set.intersection(*(set(node.allocatable) for node in nodes))
        least = {key: min(node.allocatable[key] for node in nodes) for key in sorted(keys)}
        offerings = {
            Offering(node.labels.get(ZONE, ""), node.labels.get(CAPACITY_TYPE, _USUAL_CAPACITY_TYPE))
            for node in nodes
        }
        yield InstanceType(
            name=name,
            labels={**_USUAL, **dict(_common_labels(nodes))},
            allocatable=least,
            capacity=least,
            offerings=tuple(sorted(offerings, key=lambda each: (each.zone, each.capacity_type))),
        )


def _common_labels(nodes: Iterable[Node]) -> Iterator[tuple[str, str]]:
    """Yield the labels that all nodes of an instance type have from it."""
    first, *others = nodes
    for key, value in first.labels.items():
        own = key in _OF_TYPE or (key.startswith(KARPENTER_LABELS) and not key.startswith(_OF_POOLS))
        if own and all(other.labels.get(key) == value for other in others):
            yield key, value
