"""The default profile of kube-scheduler: which plugins run, in which order, and the weights of their scores.

Source: ``getDefaultPlugins``, ``pkg/scheduler/apis/config/v1/default_plugins.go``, and ``RunScorePlugins``,
``pkg/scheduler/framework/runtime/framework.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import NodeScores
from policies.scheduler.plugins.imagelocality import ImageLocalityPlugin
from policies.scheduler.plugins.interpodaffinity import InterPodAffinityPlugin
from policies.scheduler.plugins.nodeaffinity import NodeAffinityPlugin
from policies.scheduler.plugins.nodename import NodeNamePlugin
from policies.scheduler.plugins.nodeports import NodePortsPlugin
from policies.scheduler.plugins.noderesources import BalancedAllocationPlugin, NodeResourcesFitPlugin
from policies.scheduler.plugins.nodeunschedulable import NodeUnschedulablePlugin
from policies.scheduler.plugins.podtopologyspread.plugin import PodTopologySpreadPlugin
from policies.scheduler.plugins.schedulinggates import SchedulingGatesPlugin
from policies.scheduler.plugins.tainttoleration import TaintTolerationPlugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Plugin, PluginScores, Rejections


class FilterPlugin(Protocol):
    """A plugin that decides which nodes are feasible."""

    def filter(self, view: NodeView, request: SchedulingRequest, /) -> Rejections:
        """Return which nodes the plugin rejects, and why, as if it ran alone."""


class ScorePlugin(Protocol):
    """A plugin that scores the feasible nodes."""

    def score(
        self, view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_], /
    ) -> NodeScores | None:
        """Return the scores of all nodes, of which the feasible ones count; None where it skips."""


#: The plugin whose scores are a part of their own of a result.
SPREAD: Final = PodTopologySpreadPlugin()
#: The plugins whose Filters run, in their order.
FILTERS: Final[tuple[FilterPlugin, ...]] = (
    SchedulingGatesPlugin(),
    NodeUnschedulablePlugin(),
    NodeNamePlugin(),
    TaintTolerationPlugin(),
    NodeAffinityPlugin(),
    NodePortsPlugin(),
    NodeResourcesFitPlugin(),
    SPREAD,
    InterPodAffinityPlugin(),
)
#: The plugins that score, in their order; what PodTopologySpread gives is known before.
SCORES: Final[Mapping[Plugin, ScorePlugin | None]] = MappingProxyType(
    {
        Plugin.TAINT_TOLERATION: TaintTolerationPlugin(),
        Plugin.NODE_AFFINITY: NodeAffinityPlugin(),
        Plugin.NODE_RESOURCES_FIT: NodeResourcesFitPlugin(),
        Plugin.POD_TOPOLOGY_SPREAD: None,
        Plugin.INTER_POD_AFFINITY: InterPodAffinityPlugin(),
        Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: BalancedAllocationPlugin(),
        Plugin.IMAGE_LOCALITY: ImageLocalityPlugin(),
    }
)
#: What the scores are multiplied by in the total of a node.
WEIGHTS: Final[Mapping[Plugin, int]] = MappingProxyType(
    {
        Plugin.TAINT_TOLERATION: 3,
        Plugin.NODE_AFFINITY: 2,
        Plugin.NODE_RESOURCES_FIT: 1,
        Plugin.POD_TOPOLOGY_SPREAD: 2,
        Plugin.INTER_POD_AFFINITY: 2,
        Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: 1,
        Plugin.IMAGE_LOCALITY: 1,
    }
)


def score_plugins(
    view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_], spread: NodeScores | None
) -> tuple[PluginScores, ...]:
    """Return the scores of every plugin that does not skip, in the profile's order.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        feasible: The nodes to score, at least one; shape ``(n,)``.
        spread: PodTopologySpread's scores; None where it skips.
    """
    found = (
        (name, spread if plugin is None else plugin.score(view, request, feasible))
        for name, plugin in SCORES.items()
    )
    return tuple(
        PluginScores(
            name,
            np.where(feasible, scores.raw, 0),
            np.where(feasible, scores.normalized, 0),
            WEIGHTS[name],
        )
        for name, scores in found
        if scores is not None
    )
