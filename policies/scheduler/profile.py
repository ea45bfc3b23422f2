"""A profile of kube-scheduler: which plugins run, in which order, with which weights and arguments.

A value only; ``plugin_registry`` knows what the plugins do, and ``configuration`` reads profiles.

Source: ``getDefaultPlugins``, ``pkg/scheduler/apis/config/v1/default_plugins.go``, and
``pkg/scheduler/apis/config/v1/defaults.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from policies.model.constraint import WhenUnsatisfiable
from policies.model.node_affinity import NodeAffinity

#: The scheduler's name where a profile or a pod gives none.
DEFAULT_SCHEDULER: Final = "default-scheduler"


class Plugin(StrEnum):
    """The plugins that decide where a pod goes: in the order of their Filter, then those that score alone."""

    SCHEDULING_GATES = "SchedulingGates"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NAME = "NodeName"
    TAINT_TOLERATION = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    NODE_PORTS = "NodePorts"
    NODE_RESOURCES_FIT = "NodeResourcesFit"
    VOLUME_RESTRICTIONS = "VolumeRestrictions"
    NODE_VOLUME_LIMITS = "NodeVolumeLimits"
    VOLUME_BINDING = "VolumeBinding"
    VOLUME_ZONE = "VolumeZone"
    POD_TOPOLOGY_SPREAD = "PodTopologySpread"
    INTER_POD_AFFINITY = "InterPodAffinity"
    NODE_RESOURCES_BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
    IMAGE_LOCALITY = "ImageLocality"


class Weighted(NamedTuple):
    """A name and what its score is multiplied by: a plugin of a profile, or a resource of a strategy."""

    name: str
    weight: int


class StrategyType(StrEnum):
    """How NodeResourcesFit scores nodes."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


#: The resources that nodes are scored by where nothing else is configured: ``defaultResourceSpec``.
DEFAULT_RESOURCES: Final = (Weighted("cpu", 1), Weighted("memory", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class FitArgs:
    """The arguments of NodeResourcesFit."""

    strategy: StrategyType = StrategyType.LEAST_ALLOCATED  #: How nodes are scored.
    resources: tuple[Weighted, ...] = DEFAULT_RESOURCES  #: What they are scored by.
    #: The points of RequestedToCapacityRatio: percent of utilization, and score from 0 to 10.
    shape: tuple[tuple[int, int], ...] = ()
    ignored: frozenset[str] = frozenset()  #: Extended resources that Filter ignores.
    ignored_groups: frozenset[str] = frozenset()  #: The domains of extended resources that Filter ignores.

    def ignores(self, resource: str) -> bool:
        """Return whether Filter ignores a resource; of those of Kubernetes it ignores none.

        >>> FitArgs(ignored_groups=frozenset({"acme.io"})).ignores("acme.io/gpu")
        True
        """
        group, slash, _ = resource.partition("/")
        if not slash or "kubernetes.io/" in resource:
            return False
        return resource in self.ignored or group in self.ignored_groups


#: What is not configured.
NO_AFFINITY: Final = NodeAffinity()
DEFAULT_FIT: Final = FitArgs()
DEFAULT_BALANCED: Final = tuple(entry.name for entry in DEFAULT_RESOURCES)
#: The plugins whose Filters run, in their order; SchedulingGates holds pods back before that (PreEnqueue).
DEFAULT_FILTERS: Final = (
    Plugin.SCHEDULING_GATES,
    Plugin.NODE_UNSCHEDULABLE,
    Plugin.NODE_NAME,
    Plugin.TAINT_TOLERATION,
    Plugin.NODE_AFFINITY,
    Plugin.NODE_PORTS,
    Plugin.NODE_RESOURCES_FIT,
    Plugin.VOLUME_RESTRICTIONS,
    Plugin.NODE_VOLUME_LIMITS,
    Plugin.VOLUME_BINDING,
    Plugin.VOLUME_ZONE,
    Plugin.POD_TOPOLOGY_SPREAD,
    Plugin.INTER_POD_AFFINITY,
)
#: The plugins that score, in their order, and what their scores are multiplied by in the total of a node.
DEFAULT_SCORES: Final = (
    (Plugin.TAINT_TOLERATION, 3),
    (Plugin.NODE_AFFINITY, 2),
    (Plugin.NODE_RESOURCES_FIT, 1),
    (Plugin.POD_TOPOLOGY_SPREAD, 2),
    (Plugin.INTER_POD_AFFINITY, 2),
    (Plugin.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
    (Plugin.IMAGE_LOCALITY, 1),
)
#: The plugins that run for a pod that fits nowhere, in their order.
DYNAMIC_RESOURCES: Final = "DynamicResources"
DEFAULT_PREEMPTION: Final = "DefaultPreemption"
DEFAULT_POST_FILTERS: Final = (DYNAMIC_RESOURCES, DEFAULT_PREEMPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One profile; by default the one of kube-scheduler without a configuration file."""

    scheduler_name: str = DEFAULT_SCHEDULER  #: The ``schedulerName`` of the pods that it schedules.
    filters: tuple[Plugin, ...] = DEFAULT_FILTERS  #: The plugins that reject nodes, in their order.
    #: The plugins that score nodes, in their order, with their weights.
    scores: tuple[tuple[Plugin, int], ...] = DEFAULT_SCORES
    #: The plugins that add to the condition of a pod that fits nowhere, in their order.
    post_filters: tuple[str, ...] = DEFAULT_POST_FILTERS
    #: Whether node names in a pod's affinity leave out the other nodes before any filter: NodeAffinity's
    #: PreFilter.
    narrows_by_name: bool = True
    filters_by_affinity: bool = True  #: Whether NodeAffinity's Filter runs.
    added_affinity: NodeAffinity = NO_AFFINITY  #: What NodeAffinity requires and prefers for every pod.
    fit: FitArgs = DEFAULT_FIT  #: The arguments of NodeResourcesFit.
    balanced_resources: tuple[str, ...] = DEFAULT_BALANCED  #: What NodeResourcesBalancedAllocation scores by.
    hard_pod_affinity_weight: int = 1  #: What a required affinity term of a running pod adds to the score.
    #: Whether InterPodAffinity scores only pods that have preferred terms.
    ignores_preferred_terms: bool = False
    percentage_of_nodes_to_score: int | None = None  #: As configured; None where it is not.
    unmodeled: tuple[str, ...] = ()  #: What it has that is not modeled, in words.
    may_reject_more: bool = False  #: Whether something of that may reject nodes.

    def weight(self, plugin: Plugin) -> int:
        """Return the weight of a plugin's score; 0 where it does not score.

        >>> DEFAULT_PROFILE.weight(Plugin.POD_TOPOLOGY_SPREAD), DEFAULT_PROFILE.weight(Plugin.NODE_PORTS)
        (2, 0)
        """
        for name, weight in self.scores:
            if name is plugin:
                return weight
        return 0

    @property
    def sampling(self) -> str:
        """The ``percentageOfNodesToScore`` that is configured, in words; empty where all nodes are looked at.

        One verdict is about all nodes; only simulations look at some.
        """
        percentage = self.percentage_of_nodes_to_score
        return "" if percentage in (None, 0, 100) else f"percentageOfNodesToScore {percentage}"

    def spreads(self, action: WhenUnsatisfiable) -> bool:
        """Return whether PodTopologySpread runs where constraints with such an action have an effect."""
        if action is WhenUnsatisfiable.DO_NOT_SCHEDULE:
            return Plugin.POD_TOPOLOGY_SPREAD in self.filters
        return self.weight(Plugin.POD_TOPOLOGY_SPREAD) != 0


#: kube-scheduler without a configuration file.
DEFAULT_PROFILE: Final = Profile()
