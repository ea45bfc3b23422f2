"""The messages of kube-scheduler for a pod that fits nowhere: its FitError, and the pod's condition.

Which pods preemption would evict is not modeled: the condition is that of a pod that may evict none. Source:
``FitError.Error``, ``pkg/scheduler/framework/types.go``, ``findNodesThatFitPod``,
``pkg/scheduler/schedule_one.go``, and ``Preempt``, ``pkg/scheduler/framework/preemption/preemption.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.plugins.nodeaffinity import CONFLICT, LEFT_OUT, gone_node, not_found
from policies.scheduler.plugins.nodes import GATED
from policies.scheduler.profile import DEFAULT_PREEMPTION, DYNAMIC_RESOURCES
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Rejections

#: A cluster without nodes: ``ErrNoNodesAvailable``.
NO_NODES = "no nodes available to schedule pods"
#: The message of DynamicResources' PostFilter where there are no claims.
NO_CLAIMS = "no new claims to deallocate"


def fit_error(
    request: SchedulingRequest,
    view: NodeView,
    rejections: Iterable[Rejections],
    stopped: Rejections | None = None,
) -> str:
    """Return the FitError of a pod that every node rejects.

    Each node counts under every reason of the first plugin that rejects it; the parts are sorted as strings.

    Args:
        request: The pod.
        view: The nodes.
        rejections: What every plugin rejects, in the order of the profile.
        stopped: What rejects all nodes before any filter runs, if that is so.
    """
    if request.is_gated:
        return GATED.texts[0]
    names = view.names
    if not names:
        return NO_NODES
    gone = gone_node(view, request)
    if gone is not None:
        return not_found(gone)
    named = request.narrowed_to
    early = CONFLICT if named is not None and not named else stopped.reasons[0] if stopped else None
    if early is not None:
        count = "" if request.behavior.says_prefilter_reason_once else f"{len(names)} "
        return f"0/{len(names)} nodes are available: {count}{early}."
    filtered = np.ones(len(names), np.bool_) if named is None else view.named(named)
    counted = count_reasons(rejections, filtered)
    left_out = len(names) - int(np.count_nonzero(filtered))
    if left_out and request.behavior.counts_left_out_nodes:
        counted[str(LEFT_OUT)] += left_out
    parts = sorted(f"{count} {text}" for text, count in counted.items())
    return f"0/{len(names)} nodes are available: {', '.join(parts)}."


def condition_of(request: SchedulingRequest, message: str, preemption: str, *, stopped: bool) -> str:
    """Return the message of the pod's PodScheduled condition: the FitError, and what PostFilter adds.

    Args:
        request: The pod.
        message: The FitError.
        preemption: The message of preemption; empty where it nominates a node.
        stopped: Whether a PreFilter has rejected the pod.
    """
    plugins = request.profile.post_filters
    if not plugins:
        return message
    if stopped and DYNAMIC_RESOURCES in plugins:
        # DynamicResources' PostFilter misses what its PreFilter had no chance to write.
        return f"{message} not found"
    if DEFAULT_PREEMPTION in plugins and not preemption:
        return message
    said = {DYNAMIC_RESOURCES: NO_CLAIMS, DEFAULT_PREEMPTION: f"preemption: {preemption}"}
    return f"{message} {', '.join(said[plugin] for plugin in plugins)}"


def count_reasons(rejections: Iterable[Rejections], filtered: NDArray[np.bool_]) -> Counter[str]:
    """Count the reasons of the first plugin that rejects each of some nodes.

    Args:
        rejections: What every plugin rejects, in the order of the profile.
        filtered: The nodes, shape ``(n,)``.
    """
    counted: Counter[str] = Counter()
    for rejected in rejections:
        numbers = np.bincount(rejected.of_node[filtered], minlength=len(rejected.reasons) + 1)
        for reason, count in zip(rejected.reasons, numbers[1:].tolist(), strict=True):
            for text in reason.texts if count else ():
                counted[text] += count
        filtered = filtered & (rejected.of_node == 0)
    return counted
