"""The plugins that look at one property each: a node's cordon, name, taints or images, or a pod's gates.

Source: ``scheduling_gates.go``, ``node_unschedulable.go``, ``node_name.go``, ``taint_toleration.go`` and
``image_locality.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.taints import CORDON_TAINT, TaintEffect
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import MAX_SCORE, Code, NodeScores, Reason, Rejections, by_highest

#: The condition of a gated pod: ``applySchedulingGatedCondition``, ``pkg/registry/core/pod/strategy.go``.
GATED: Final = Reason(("Scheduling is blocked due to non-empty scheduling gates",), Code.UNRESOLVABLE)
UNSCHEDULABLE: Final = Reason(("node(s) were unschedulable",), Code.UNRESOLVABLE)
OTHER_NAME: Final = Reason(("node(s) didn't match the requested node name",), Code.UNRESOLVABLE)
#: Bytes of images below which all nodes score 0, and above which one container's do not add more.
FEW_BYTES: Final = 23 * 2**20
MANY_BYTES: Final = 1000 * 2**20


def filter_by_gates(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return all nodes for a pod with scheduling gates, else none.

    kube-scheduler holds such a pod back before its first scheduling cycle (PreEnqueue).
    """
    rejected = np.full(len(view.slots), request.is_gated)
    return Rejections.where(rejected, Plugin.SCHEDULING_GATES, GATED)


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


def score_by_images(view: NodeView, request: SchedulingRequest, _feasible: NDArray[np.bool_]) -> NodeScores:
    """Score the bytes of the pod's images that a node has, by the share of the nodes that have each."""
    names, counted = _scored_images(request)
    total = np.zeros(len(view.slots), np.int64)
    for name in filter(None, names):
        nodes, size = view.with_image(name)
        if not size:
            continue
        spread = np.count_nonzero(nodes) / max(len(view.slots), 1)
        total += np.where(nodes, int(size * spread), 0)
    if not total.any():
        return NodeScores(total, total)
    most = MANY_BYTES * max(counted, 1)
    scores = MAX_SCORE * (np.clip(total, FEW_BYTES, most) - FEW_BYTES) // (most - FEW_BYTES)
    return NodeScores(scores, scores)


def _scored_images(request: SchedulingRequest) -> tuple[tuple[str, ...], int]:
    """Return the images that are scored, and how many raise what is the most."""
    images, behavior = request.pod.images, request.behavior
    names, counted = images.containers, len(images.containers)
    if behavior.scores_init_images:
        names, counted = names + images.init_containers, counted + len(images.init_containers)
    if behavior.scores_image_volumes:
        names += images.volumes
    if behavior.counts_image_volumes:
        counted += len(images.volumes)
    return names, counted
