"""Karpenter from documents: NodePools, and instance types of a document or of the nodes of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from planning.autoscaler.karpenter.karpenter import Karpenter
from planning.autoscaler.karpenter.node_pool import (
    InstanceType,
    NodePool,
    Offering,
    allowed_types,
    pools_in_order,
)
from planning.autoscaler.karpenter.pool_reader import PoolDocument, read_pool
from planning.autoscaler.karpenter.requirements import combine, of_labels
from planning.autoscaler.node_group import USUAL_LABELS, described_amounts, least_amounts
from policies.config.form import read
from policies.config.node_groups import InstanceTypeEntry, InstanceTypes
from policies.config.own_kinds import OwnKind
from policies.manifests.errors import DocumentError
from policies.manifests.fields import (
    NAME,
    NAME_TAKEN,
    ErrorList,
    FieldPath,
    duplicate_value,
    text_member,
    unsupported_value,
)
from policies.model.node import Node, without_transient
from policies.model.scaling import CAPACITY_TYPE, KARPENTER_GROUP, KARPENTER_LABELS, KARPENTER_NODE_LABEL
from policies.model.topology_keys import INSTANCE_TYPE, REGION, ZONE
from policies.scheduler.index import ClusterIndex

#: The rule that a document breaks which describes nothing that is modeled.
NOT_MODELED: Final = "not-modeled"
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
#: The labels of a node that its instance type brings.
_OF_TYPE: Final = ("kubernetes.io/arch", "kubernetes.io/os", REGION)
#: How a node is bought that does not say it.
_USUAL_CAPACITY_TYPE: Final = "on-demand"
#: How the labels start that Karpenter itself puts on its nodes.
_OF_POOLS: Final = f"{KARPENTER_GROUP}/"


class KarpenterReader:
    """Reads NodePools and an InstanceTypes document, one after another."""

    def __init__(self) -> None:
        self._pools: list[PoolDocument] = []
        self._static: list[str] = []
        self._types: InstanceTypes | None = None

    @property
    def has_pools(self) -> bool:
        """Whether a NodePool was read."""
        return bool(self._pools or self._static)

    def take(self, value: Mapping[str, Any], found: ErrorList) -> None:
        """Take in an InstanceTypes document, or an object of Karpenter, unless something is wrong with it.

        Args:
            value: The document.
            found: Takes what is wrong with it; without any error yet.
        """
        kind, version = text_member(value, "kind"), text_member(value, "apiVersion")
        if kind == OwnKind.INSTANCE_TYPES:
            types = read(InstanceTypes, value, found)
            if self._types is not None:
                found.add(duplicate_value(FieldPath(("kind",)), kind, NAME_TAKEN))
            elif not found.errors:
                self._types = types
        elif kind != NODE_POOL:
            found.add(unsupported_value(FieldPath(("kind",)), kind, [NODE_POOL], NOT_MODELED))
        elif version != VERSION:
            found.add(unsupported_value(FieldPath(("apiVersion",)), version, [VERSION], NOT_MODELED))
        else:
            self._take_pool(read_pool(value, found), found)

    def _take_pool(self, pool: PoolDocument, found: ErrorList) -> None:
        if any(pool.name == other.name for other in self._pools) or pool.name in self._static:
            found.add(duplicate_value(NAME, pool.name, NAME_TAKEN))
        elif not found.errors and pool.is_static:
            self._static.append(pool.name)
        elif not found.errors:
            self._pools.append(pool)

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
        pools = [_node_pool(pool, types) for pool in self._pools]
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


def _node_pool(pool: PoolDocument, types: Iterable[InstanceType]) -> NodePool:
    of_pool = of_labels({**pool.labels, KARPENTER_NODE_LABEL: pool.name})
    requirements = combine(pool.stated, of_pool.items())
    return NodePool(
        name=pool.name,
        requirements=requirements,
        labels=pool.labels,
        taints=pool.taints,
        limits=pool.limits,
        weight=pool.weight,
        types=tuple(allowed_types(types, requirements)),
        disruption=pool.disruption,
    )


def _type_of(entry: InstanceTypeEntry) -> InstanceType:
    allocatable, capacity = described_amounts(entry)
    offerings = (
        Offering(zone, each.capacity_type, each.price)
        for each in entry.offerings
        for zone in each.zones or ("",)
    )
    return InstanceType(
        name=entry.name,
        labels={**USUAL_LABELS, **entry.labels},
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
        least = least_amounts(nodes)
        offerings = {
            Offering(node.labels.get(ZONE, ""), node.labels.get(CAPACITY_TYPE, _USUAL_CAPACITY_TYPE))
            for node in nodes
        }
        yield InstanceType(
            name=name,
            labels={**USUAL_LABELS, **dict(_common_labels(nodes))},
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
