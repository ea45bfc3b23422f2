"""The plugins of kube-scheduler that are modeled, by name, and one run of them over the nodes.

Source: ``RunScorePlugins``, ``pkg/scheduler/framework/runtime/framework.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from policies.model.pod_volumes import NO_VOLUMES
from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins import (
    interpodaffinity,
    nodeaffinity,
    nodeports,
    noderesources,
    nodes,
    nodevolumelimits,
    volumebinding,
    volumerestrictions,
    volumezone,
)
from policies.scheduler.plugins.podtopologyspread import filtering
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.resource_view import Identity
from policies.scheduler.result import FilterResult, NodeScores, PluginScores, Reason, Rejections

#: Returns which nodes a plugin rejects, and why, as if it ran alone.
FilterPlugin: TypeAlias = Callable[[NodeView, SchedulingRequest], Rejections]
#: Returns why no node can take the pod, before any is looked at; None if some may.
PreFilterPlugin: TypeAlias = Callable[[NodeView, SchedulingRequest], Reason | None]
#: Returns the scores of all nodes, of which the feasible ones count; None where the plugin skips.
ScorePlugin: TypeAlias = Callable[[NodeView, SchedulingRequest, NDArray[np.bool_]], NodeScores | None]

#: The plugins that filter.
FILTERS: Final[Mapping[Plugin, FilterPlugin]] = MappingProxyType(
    {
        Plugin.SCHEDULING_GATES: nodes.filter_by_gates,
        Plugin.NODE_UNSCHEDULABLE: nodes.filter_unschedulable,
        Plugin.NODE_NAME: nodes.filter_by_name,
        Plugin.TAINT_TOLERATION: nodes.filter_by_taints,
        Plugin.NODE_AFFINITY: nodeaffinity.filter_nodes,
        Plugin.NODE_PORTS: nodeports.filter_nodes,
        Plugin.NODE_RESOURCES_FIT: noderesources.filter_nodes,
        Plugin.VOLUME_RESTRICTIONS: volumerestrictions.filter_nodes,
        Plugin.NODE_VOLUME_LIMITS: nodevolumelimits.filter_nodes,
        Plugin.VOLUME_BINDING: volumebinding.filter_nodes,
        Plugin.VOLUME_ZONE: volumezone.filter_nodes,
        Plugin.POD_TOPOLOGY_SPREAD: filtering.filter_nodes,
        Plugin.INTER_POD_AFFINITY: interpodaffinity.filter_nodes,
    }
)
#: The plugins that may reject a pod because of its claims, before they filter.
PRE_FILTERS: Final[Mapping[Plugin, PreFilterPlugin]] = MappingProxyType(
    {
        Plugin.VOLUME_RESTRICTIONS: volumerestrictions.pre_filter,
        Plugin.VOLUME_BINDING: volumebinding.pre_filter,
        Plugin.VOLUME_ZONE: volumezone.pre_filter,
    }
)
#: The plugins that filter by the claims of the pod.
OF_CLAIMS: Final = frozenset({*PRE_FILTERS, Plugin.NODE_VOLUME_LIMITS})
#: The plugins that score; what PodTopologySpread gives is known before.
SCORES: Final[Mapping[Plugin, ScorePlugin | None]] = MappingProxyType(
    {
        Plugin.TAINT_TOLERATION: nodes.score_by_taints,
        Plugin.NODE_AFFINITY: nodeaffinity.score_nodes,
        Plugin.NODE_RESOURCES_FIT: noderesources.score_by_fit,
        Plugin.POD_TOPOLOGY_SPREAD: None,
        Plugin.INTER_POD_AFFINITY: interpodaffinity.score_nodes,
        Plugin.NODE_RESOURCES_BALANCED_ALLOCATION: noderesources.score_by_balance,
        Plugin.IMAGE_LOCALITY: nodes.score_by_images,
    }
)


#: The plugins whose rejections follow from what pods hold of nodes, or from claims, bound along with pods.
_OF_PODS: Final = OF_CLAIMS | {Plugin.NODE_RESOURCES_FIT}
#: Those whose rejections do so, and whether they do for a pod.
_FOLLOWS_PODS: Final[Mapping[Plugin, Callable[[NodeView, SchedulingRequest], bool]]] = MappingProxyType(
    {
        **dict.fromkeys(_OF_PODS, lambda _view, _request: True),
        Plugin.NODE_PORTS: lambda _, request: bool(request.pod.ports),
        Plugin.POD_TOPOLOGY_SPREAD: lambda _, request: any(each.is_hard for each in request.constraints),
        Plugin.INTER_POD_AFFINITY: interpodaffinity.follows_pods,
    }
)


def follows_pods(plugin: Plugin, view: NodeView, request: SchedulingRequest) -> bool:
    """Return whether what a plugin rejects may follow from the pods that run, and not from nodes alone."""
    return plugin in _FOLLOWS_PODS and _FOLLOWS_PODS[plugin](view, request)


def pre_filter(view: NodeView, request: SchedulingRequest) -> Rejections | None:
    """Return the rejection of all nodes at once, for the claims of the pod; None if there is none."""
    if not request.pod.volumes.claims or not view.knows_claims:
        return None
    for plugin in request.profile.filters:
        reason = PRE_FILTERS[plugin](view, request) if plugin in PRE_FILTERS else None
        if reason is not None:
            return Rejections.where(np.ones(len(view.slots), np.bool_), plugin, reason)
    return None


class LastingRejections(NamedTuple):
    """The rejections that follow from the nodes alone, and the nodes that all of those plugins let pass."""

    rejections: dict[Plugin, Rejections]
    passed: NDArray[np.bool_]


def lasting_rejections(
    view: NodeView, request: SchedulingRequest, plugins: tuple[Plugin, ...]
) -> LastingRejections:
    """Return what plugins reject that do not follow pods; kept by all that these plugins read."""
    identities = map(Identity, (request.profile, request.behavior))
    key = (plugins, *view.eligibility, request.pod.gated, request.pod.node_name, *identities)
    return view.derive(key, lambda: _lasting_rejections(view, request, plugins))


def _lasting_rejections(
    view: NodeView, request: SchedulingRequest, plugins: tuple[Plugin, ...]
) -> LastingRejections:
    rejections = {plugin: FILTERS[plugin](view, request) for plugin in plugins}
    passed = np.ones(len(view.slots), np.bool_)
    for rejected in rejections.values():
        passed &= rejected.of_node == 0
    return LastingRejections(rejections, passed)


class Filtered(NamedTuple):
    """The rejections in the profile's order, and the nodes that all plugins let pass, of shape ``(n,)``."""

    rejections: tuple[Rejections, ...]
    feasible: NDArray[np.bool_]


def filter_nodes(
    view: NodeView,
    request: SchedulingRequest,
    stopped: Rejections | None = None,
    known: Mapping[Plugin, Rejections] | None = None,
) -> Filtered:
    """Return the nodes that each plugin of the profile rejects, with the reasons, in the profile's order.

    What follows from the nodes alone is kept for the next pod of the same request.

    Args:
        view: The nodes.
        request: The pod, and its constraints.
        stopped: What rejects all nodes before any filter runs: the first of all. The plugins that look at the
            claims of the pod cannot run then, nor do they run for a pod without volumes; those of the others
            are what else is in the way.
        known: What plugins rejected for ``passing``.
    """
    plugins, lasting = _running(view, request, without_claims=stopped is not None)
    kept = view.of_request(lasting, request, lambda: lasting_rejections(view, request, lasting))
    known = {**(known or {}), **kept.rejections}
    found = [known.get(plugin) or FILTERS[plugin](view, request) for plugin in plugins]
    feasible = kept.passed.copy()
    for rejected in found:
        if rejected.reasons and rejected.plugin not in kept.rejections:
            feasible &= rejected.of_node == 0
    if stopped is not None:
        return Filtered((stopped, *found), np.zeros_like(feasible))
    return Filtered(tuple(found), feasible)


class Passing(NamedTuple):
    """The nodes that all filters let pass, of shape ``(n,)``, and rejections found on the way."""

    feasible: NDArray[np.bool_]
    known: dict[Plugin, Rejections]


def passing(view: NodeView, request: SchedulingRequest) -> Passing:
    """Return the nodes that all filters let pass, as ``filter_nodes`` does, without all reasons."""
    plugins, lasting = _running(view, request)
    feasible, known = lasting_rejections(view, request, lasting).passed, dict[Plugin, Rejections]()
    checks: tuple[FilterResult, ...] = ()
    for plugin in plugins:
        if plugin is Plugin.NODE_RESOURCES_FIT:
            feasible = feasible & ~noderesources.lacking_any(view, request)
        elif plugin in lasting:
            continue
        elif plugin is Plugin.POD_TOPOLOGY_SPREAD:
            checks = filtering.check_nodes(view, request)
            for check in checks:
                feasible = feasible & check.satisfied
        else:
            known[plugin] = rejected = FILTERS[plugin](view, request)
            feasible = feasible & (rejected.of_node == 0)
    if checks and not feasible.any():
        known[Plugin.POD_TOPOLOGY_SPREAD] = filtering.filter_nodes(view, request, checks)
    return Passing(feasible, known)


def _running(
    view: NodeView, request: SchedulingRequest, *, without_claims: bool = False
) -> tuple[tuple[Plugin, ...], tuple[Plugin, ...]]:
    """Return the plugins that filter, and those of them whose rejections follow from the nodes alone."""
    plugins = request.profile.filters
    if without_claims or request.pod.volumes is NO_VOLUMES:
        plugins = tuple([plugin for plugin in plugins if plugin not in OF_CLAIMS])
    return plugins, tuple([plugin for plugin in plugins if not follows_pods(plugin, view, request)])


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
        scores = spread if plugin is None else plugin(view, request, feasible)
        if scores is not None:
            scored.append(PluginScores(name, scores, feasible, weight))
    return tuple(scored)
