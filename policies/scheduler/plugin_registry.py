"""The plugins of kube-scheduler that are modeled, by name, and one run of them over the nodes.

Source: ``RunScorePlugins``, ``pkg/scheduler/framework/runtime/framework.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import NO_VOLUMES
from policies.scheduler.node_view import Identity, NodeView
from policies.scheduler.normalize import NodeScores
from policies.scheduler.plugins.imagelocality import ImageLocalityPlugin
from policies.scheduler.plugins.interpodaffinity import InterPodAffinityPlugin
from policies.scheduler.plugins.nodeaffinity import NodeAffinityPlugin
from policies.scheduler.plugins.nodename import NodeNamePlugin
from policies.scheduler.plugins.nodeports import NodePortsPlugin
from policies.scheduler.plugins.noderesources import BalancedAllocationPlugin, NodeResourcesFitPlugin
from policies.scheduler.plugins.nodeunschedulable import NodeUnschedulablePlugin
from policies.scheduler.plugins.nodevolumelimits import NodeVolumeLimitsPlugin
from policies.scheduler.plugins.podtopologyspread.plugin import PodTopologySpreadPlugin
from policies.scheduler.plugins.schedulinggates import SchedulingGatesPlugin
from policies.scheduler.plugins.tainttoleration import TaintTolerationPlugin
from policies.scheduler.plugins.volumebinding import VolumeBindingPlugin
from policies.scheduler.plugins.volumerestrictions import VolumeRestrictionsPlugin
from policies.scheduler.plugins.volumezone import VolumeZonePlugin
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import PluginScores, Reason, Rejections


class FilterPlugin(Protocol):
    """A plugin that decides which nodes are feasible."""

    def follows_pods(self, view: NodeView, request: SchedulingRequest, /) -> bool:
        """Return whether what it rejects may follow from the pods that run, and not from nodes alone."""

    def filter(self, view: NodeView, request: SchedulingRequest, /) -> Rejections:
        """Return which nodes the plugin rejects, and why, as if it ran alone."""


class PreFilterPlugin(Protocol):
    """A plugin that may reject a pod before any node is looked at."""

    def pre_filter(self, view: NodeView, request: SchedulingRequest, /) -> Reason | None:
        """Return why no node can take the pod; None if some may."""


class ScorePlugin(Protocol):
    """A plugin that scores the feasible nodes."""

    def score(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_], /
    ) -> NodeScores | None:
        """Return the scores of all nodes, of which the feasible ones count; None where it skips."""


#: The plugin whose scores are a part of their own of a result.
SPREAD: Final = PodTopologySpreadPlugin()
_FIT: Final = NodeResourcesFitPlugin()
_AFFINITY: Final = NodeAffinityPlugin()
_TAINTS: Final = TaintTolerationPlugin()
_PODS: Final = InterPodAffinityPlugin()
_RESTRICTIONS: Final = VolumeRestrictionsPlugin()
_BINDING: Final = VolumeBindingPlugin()
_ZONE: Final = VolumeZonePlugin()
#: The plugins that filter.
FILTERS: Final[Mapping[Plugin, FilterPlugin]] = MappingProxyType(
    {
        Plugin.SCHEDULING_GATES: SchedulingGatesPlugin(),
        Plugin.NODE_UNSCHEDULABLE: NodeUnschedulablePlugin(),
        Plugin.NODE_NAME: NodeNamePlugin(),
        Plugin.TAINT_TOLERATION: _TAINTS,
        Plugin.NODE_AFFINITY: _AFFINITY,
        Plugin.NODE_PORTS: NodePortsPlugin(),
        Plugin.NODE_RESOURCES_FIT: _FIT,
        Plugin.VOLUME_RESTRICTIONS: _RESTRICTIONS,
        Plugin.NODE_VOLUME_LIMITS: NodeVolumeLimitsPlugin(),
        Plugin.VOLUME_BINDING: _BINDING,
        Plugin.VOLUME_ZONE: _ZONE,
        Plugin.POD_TOPOLOGY_SPREAD: SPREAD,
        Plugin.INTER_POD_AFFINITY: _PODS,
    }
)
#: The plugins that may reject a pod because of its claims, before they filter.
PRE_FILTERS: Final[Mapping[Plugin, PreFilterPlugin]] = MappingProxyType(
    {
        Plugin.VOLUME_RESTRICTIONS: _RESTRICTIONS,
        Plugin.VOLUME_BINDING: _BINDING,
        Plugin.VOLUME_ZONE: _ZONE,
    }
)
#: The plugins that filter by the claims of the pod.
OF_CLAIMS: Final = frozenset({*PRE_FILTERS, Plugin.NODE_VOLUME_LIMITS})
#: The plugins that score; what PodTopologySpread gives is known before.
SCORES: Final[Mapping[Plugin, ScorePlugin | None]] = MappingProxyType(
    {
        Plugin.TAINT_TOLERATION: _TAINTS,
        Plugin.NODE_AFFINITY: _AFFINITY,
        Plugin.NODE_RESOURCES_FIT: _FIT,
        Plugin.POD_TOPOLOGY_SPREAD: None,
        Plugin.INTER_POD_AFFINITY: _PODS,
        Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: BalancedAllocationPlugin(),
        Plugin.IMAGE_LOCALITY: ImageLocalityPlugin(),
    }
)


def pre_filter(view: NodeView, request: SchedulingRequest) -> Rejections | None:
    """Return the rejection of all nodes at once, for the claims of the pod; None if there is none."""
    if not request.pod.volumes.claims or not view.knows_claims:
        return None
    for plugin in request.profile.filters:
        reason = PRE_FILTERS[plugin].pre_filter(view, request) if plugin in PRE_FILTERS else None
        if reason is not None:
            return Rejections.where(np.ones(len(view.slots), np.bool_), plugin, reason)
    return None


class _OfNodes(NamedTuple):
    """The rejections that follow from the nodes alone, and the nodes that all of those plugins let pass."""

    rejections: dict[Plugin, Rejections]
    passed: NDArray[np.bool_]


class Filtered(NamedTuple):
    """The rejections in the profile's order, and the nodes that all plugins let pass, of shape ``(n,)``."""

    rejections: tuple[Rejections, ...]
    feasible: NDArray[np.bool_]


def filter_nodes(view: NodeView, request: SchedulingRequest, stopped: Rejections | None = None) -> Filtered:
    """Return the nodes that each plugin of the profile rejects, with the reasons, in the profile's order.

    What follows from the nodes alone is kept for the next pod of the same request.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        stopped: What rejects all nodes before any filter runs: the first of all. The plugins that look at the
            claims of the pod cannot run then, nor do they run for a pod without volumes; those of the others
            are what else is in the way.
    """
    plugins = request.profile.filters
    if stopped is not None or request.pod.volumes is NO_VOLUMES:
        plugins = tuple(plugin for plugin in plugins if plugin not in OF_CLAIMS)
    lasting = tuple(plugin for plugin in plugins if not FILTERS[plugin].follows_pods(view, request))
    kept = view.of_request(
        lasting,
        request,
        # By all that these plugins read.
        lambda: view.derive(
            (
                lasting,
                *view.eligibility,
                request.pod.gated,
                request.pod.node_name,
                *map(Identity, (request.profile, request.behavior)),
            ),
            lambda: _of_nodes(view, request, lasting),
        ),
    )
    found = [kept.rejections.get(plugin) or FILTERS[plugin].filter(view, request) for plugin in plugins]
    feasible = kept.passed.copy()
    for rejected in found:
        if rejected.reasons and rejected.plugin not in kept.rejections:
            feasible &= rejected.of_node == 0
    if stopped is not None:
        return Filtered((stopped, *found), np.zeros_like(feasible))
    return Filtered(tuple(found), feasible)


def _of_nodes(view: NodeView, request: SchedulingRequest, plugins: tuple[Plugin, ...]) -> _OfNodes:
    rejections = {plugin: FILTERS[plugin].filter(view, request) for plugin in plugins}
    passed = np.ones(len(view.slots), np.bool_)
    for rejected in rejections.values():
        passed &= rejected.of_node == 0
    return _OfNodes(rejections, passed)


def score_nodes(
    view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_], spread: NodeScores | None
) -> tuple[PluginScores, ...]:
    """Return the scores of every plugin of the profile that does not skip, in the profile's order.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        feasible: The nodes to score, at least one; shape ``(n,)``.
        spread: PodTopologySpread's scores; None where it skips.
    """
    scored = []
    for name, weight in request.profile.scores:
        plugin = SCORES[name]
        scores = spread if plugin is None else plugin.score(view, request, feasible)
        if scores is not None:
            scored.append(PluginScores(name, scores, feasible, weight))
    return tuple(scored)
