"""Node groups that the nodes of a cluster show: those of a group are alike in all but their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from planning.autoscaler.autoscaler import ClusterAutoscaler
from planning.autoscaler.node_group import GroupOrigin, ScaledGroup, least_amounts
from planning.autoscaler.scale_up import MOST_NODES
from policies.config.node_groups import AutoscalerSettings, CloudProvider
from policies.model.node import Node, without_transient
from policies.model.scaling import KARPENTER_NODE_LABEL
from policies.model.taints import Taint
from policies.model.topology_keys import HOSTNAME, INSTANCE_TYPE, ZONE
from policies.scheduler.index import ClusterIndex

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
    keys = {key for node in nodes for key in node.labels}
    provider = next((found for key, found in POOL_LABELS.items() if key in keys), CloudProvider.OTHER)
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
