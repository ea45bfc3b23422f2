"""Similar node groups, and how new nodes are shared among them (``--balance-similar-node-groups``).

Source: ``processors/nodegroupset``, Cluster Autoscaler 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from planning.autoscaler.node_group import ScaledGroup
from policies.config.node_groups import CloudProvider
from policies.model.topology_keys import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE

#: How much memory may differ, as a share of the larger: ``DefaultMaxCapacityMemoryDifferenceRatio``.
MEMORY_TOLERANCE: Final = 0.015
#: How much allocatable amounts may: ``DefaultMaxAllocatableDifferenceRatio``.
ALLOCATABLE_TOLERANCE: Final = 0.05
#: The labels in which similar groups may differ.
_USUAL: Final = frozenset(
    {
        HOSTNAME,
        ZONE,
        REGION,
        BETA_ZONE,
        BETA_REGION,
        "beta.kubernetes.io/fluentd-ds-ready",
        "kops.k8s.io/instancegroup",
    }
)
#: The labels of a pool, by which nodes of AKS are similar whatever else they have.
_POOLS: Final = ("kubernetes.azure.com/agentpool", "agentpool")
_OF_PROVIDER: Final[Mapping[CloudProvider, frozenset[str]]] = MappingProxyType(
    {
        CloudProvider.AWS: frozenset(
            {
                "alpha.eksctl.io/instance-id",
                "alpha.eksctl.io/nodegroup-name",
                "eks.amazonaws.com/nodegroup",
                "k8s.amazonaws.com/eniConfig",
                "lifecycle",
                "topology.ebs.csi.aws.com/zone",
                "topology.k8s.aws/zone-id",
            }
        ),
        CloudProvider.AZURE: frozenset(
            {
                *_POOLS,
                "topology.disk.csi.azure.com/zone",
                "aksEngineVersion",
                "creationSource",
                "poolName",
                "resourceNameSuffix",
                "kubernetes.azure.com/node-image-version",
                "kubernetes.azure.com/consolidated-additional-properties",
            }
        ),
        CloudProvider.GCE: frozenset({"topology.gke.io/zone"}),
        CloudProvider.OTHER: frozenset(),
    }
)


def similar(one: ScaledGroup, other: ScaledGroup, provider: CloudProvider) -> bool:
    """Return whether two groups are so alike that new nodes are shared among them.

    >>> from planning.autoscaler.node_group import Node
    >>> def group(zone: str) -> ScaledGroup:
    ...     node = Node(zone, {ZONE: zone}, (), False, {"cpu": 4000})
    ...     return ScaledGroup(name=zone, template=node, capacity={"cpu": 4000}, size=0, max_size=3)
    >>> similar(group("a"), group("b"), CloudProvider.OTHER)
    True
    """
    labels, others = one.template.labels, other.template.labels
    if provider is CloudProvider.AZURE and any(labels.get(key, "") == others.get(key) for key in _POOLS):
        return True
    if one.capacity.keys() != other.capacity.keys():
        return False
    for name, amount in one.capacity.items():
        tolerance = MEMORY_TOLERANCE if name == "memory" else 0
        if not _within(amount, other.capacity[name], tolerance):
            return False
    ours, theirs = one.template.allocatable, other.template.allocatable
    if ours.keys() != theirs.keys():
        return False
    if not all(_within(ours[name], theirs[name], ALLOCATABLE_TOLERANCE) for name in ours):
        return False
    ignored = _USUAL | _OF_PROVIDER[provider]
    return _without(labels, ignored) == _without(others, ignored)


def _within(one: int, other: int, tolerance: float) -> bool:
    return abs(one - other) <= max(one, other) * tolerance


def _without(labels: Mapping[str, str], ignored: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in ignored}


def balance(groups: Sequence[ScaledGroup], nodes: int) -> dict[str, int]:
    """Share new nodes among groups, the smallest first; return how many each gets that gets any.

    >>> from planning.autoscaler.node_group import Node
    >>> node = Node("", {}, (), False, {})
    >>> sizes = {"a": 2, "b": 0, "c": 0}
    >>> balance([ScaledGroup(name=name, template=node, capacity={}, size=size, max_size=3)
    ...          for name, size in sizes.items()], 3)
    {'b': 2, 'c': 1}
    """
    # Stable, as sorts of few groups are there.
    growing = sorted((group for group in groups if group.size != group.max_size), key=lambda each: each.size)
    sizes = [group.size for group in growing]
    left = min(nodes, sum(group.room for group in growing))
    start = current = 0
    while left > 0:
        if sizes[current] < growing[current].max_size:
            sizes[current] += 1
            left -= 1
        else:
            # It is full: out of the way, by which the order stays.
            growing[start], growing[current] = growing[current], growing[start]
            sizes[start], sizes[current] = sizes[current], sizes[start]
            start += 1
        if current < len(growing) - 1 and sizes[current] > sizes[current + 1]:
            current += 1
        else:
            current = start
    shared = zip(growing, sizes, strict=True)
    return {group.name: size - group.size for group, size in shared if size != group.size}
