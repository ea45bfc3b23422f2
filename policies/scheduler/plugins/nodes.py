"""NodeUnschedulable, NodeName and TaintToleration: a node's cordon, its name and its taints.

Source: ``node_unschedulable.go``, ``node_name.go`` and ``taint_toleration.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.taints import CORDON_TAINT, TaintEffect
from policies.scheduler.node_view import NodeView
from policies.scheduler.normalize import NodeScores, by_highest
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

UNSCHEDULABLE: Final = Reason(("node(s) were unschedulable",), Code.UNRESOLVABLE)
OTHER_NAME: Final = Reason(("node(s) didn't match the requested node name",), Code.UNRESOLVABLE)


def filter_unschedulable(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that are rejected: cordoned ones, unless the pod tolerates their taint."""
    rejected = view.unschedulable
    if any(toleration.tolerates(CORDON_TAINT) for toleration in request.pod.tolerations):
        rejected = np.zeros_like(rejected)
    return Rejections.where(rejected, Plugin.NODE_UNSCHEDULABLE, UNSCHEDULABLE)


def filter_by_name(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that are rejected: all but the one that ``nodeName`` names."""
    name = request.pod.node_name
    rejected = ~view.named(frozenset({name})) if name else np.zeros(len(view.slots), np.bool_)
    return Rejections.where(rejected, Plugin.NODE_NAME, OTHER_NAME)


def filter_by_taints(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes with a NoSchedule or NoExecute taint that the pod does not tolerate.

    Each reason names the taint in the releases that do.
    """
    texts = [request.behavior.taint_reason(taint) if taint else "" for taint in view.first_untolerated]
    distinct = sorted({text for text in texts if text})
    position = np.array([distinct.index(text) + 1 if text else 0 for text in texts], np.intp)
    reasons = tuple(Reason((text,), Code.UNRESOLVABLE) for text in distinct)
    return Rejections(Plugin.TAINT_TOLERATION, reasons, position[view.taint_numbers])


def score_by_taints(view: NodeView, request: SchedulingRequest, feasible: NDArray[np.bool_]) -> NodeScores:
    """Count the PreferNoSchedule taints of every node that the pod does not tolerate; fewest is best."""
    effects = ("", TaintEffect.PREFER_NO_SCHEDULE)
    taints = view.count_untolerated(
        tuple(entry for entry in request.pod.tolerations if entry.effect in effects)
    )
    return NodeScores(taints, by_highest(taints, feasible, reverse=True))
