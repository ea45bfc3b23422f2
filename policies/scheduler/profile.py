"""The default profile: its score plugins, their weights, and the total of each node.

Source: ``getDefaultPlugins``, ``pkg/scheduler/apis/config/v1/default_plugins.go``, and ``RunScorePlugins``,
``pkg/scheduler/framework/runtime/framework.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler import interpodaffinity, node_scores
from policies.scheduler.index import ClusterIndex
from policies.scheduler.interpodaffinity import InterPodCounts
from policies.scheduler.node_view import NodeView
from policies.scheduler.podtopologyspread.scoring import Scores
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Plugin, PluginScores

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
    question: SchedulingRequest,
    index: ClusterIndex,
    view: NodeView,
    counts: InterPodCounts,
    *,
    feasible: NDArray[np.bool_],
    spread: Scores | None,
) -> tuple[PluginScores, ...]:
    """Return the scores of every plugin that does not skip, in the profile's order.

    Args:
        question: What is asked.
        index: The cluster.
        view: Its nodes.
        counts: Pods that terms of pod affinity select.
        feasible: The nodes to score, at least one; shape ``(n,)``.
        spread: PodTopologySpread's scores; None where it skips.
    """
    taints = node_scores.untolerated_preferences(question, view)
    found = {Plugin.TAINT_TOLERATION: (taints, node_scores.by_highest(taints, feasible, reverse=True))}
    if (weights := node_scores.preferred_weights(question, view)) is not None:
        found[Plugin.NODE_AFFINITY] = (weights, node_scores.by_highest(weights, feasible))
    free = node_scores.least_allocated(question, view)
    found[Plugin.NODE_RESOURCES_FIT] = (free, free)
    if spread is not None:
        found[Plugin.POD_TOPOLOGY_SPREAD] = (spread.raw, spread.normalized)
    if (pods := interpodaffinity.raw_scores(question, index, view, counts)) is not None:
        found[Plugin.INTER_POD_AFFINITY] = (pods, interpodaffinity.normalize(pods, feasible))
    if (even := node_scores.balance(question, view)) is not None:
        found[Plugin.NODE_RESOURCES_BALANCED_ALLOCATION] = (even, even)
    images = node_scores.image_bytes(question, view)
    found[Plugin.IMAGE_LOCALITY] = (images, images)
    return tuple(
        PluginScores(plugin, np.where(feasible, raw, 0), np.where(feasible, normalized, 0), WEIGHTS[plugin])
        for plugin, (raw, normalized) in found.items()
    )
