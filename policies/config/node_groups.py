"""The NodeGroups document: the node groups of a cluster, and how its Cluster Autoscaler is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from policies.manifests.wire import DocumentFields, Keywords
from policies.model.constraint import INT32_MAX
from policies.model.labels import SUBDOMAIN_LENGTH

#: The kind of the document.
KIND: Final = "NodeGroups"
#: The most nodes that a group may have: as many as Kubernetes supports in a cluster.
MOST_NODES_OF_GROUP: Final = 5_000
#: The most groups of a document: of each, every pending pod is compared with a node.
MOST_GROUPS: Final = 1_000
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
