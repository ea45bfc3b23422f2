"""What kube-scheduler says of a pod that fits nowhere: its FitError, and the pod's condition.

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
from policies.scheduler.plugins.schedulinggates import GATED, is_gated
from policies.scheduler.profile import DEFAULT_PREEMPTION, DYNAMIC_RESOURCES
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Rejections

#: A cluster without nodes: ``ErrNoNodesAvailable``.
NO_NODES = "no nodes available to schedule pods"
#: What preemption says of a node where it may evict nothing, and of one where evictions would not help.
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: What DynamicResources' PostFilter says where there are no claims.
NO_CLAIMS = "no new claims to deallocate"


def fit_error(request: SchedulingRequest, view: NodeView, rejections: Iterable[Rejections]) -> str:
    """Return the FitError of a pod that every node rejects.

    Each node counts under every reason of the first plugin that rejects it; the parts are sorted as strings.
    """
    if is_gated(request):
        return GATED.texts[0]
    names = view.names
    if not names:
        return NO_NODES
    gone = gone_node(view, request)
    if gone is not None:
        return not_found(gone)
    named = request.narrowed_to
    if named is not None and not named:
        count = "" if request.behavior.says_prefilter_reason_once else f"{len(names)} "
        return f"0/{len(names)} nodes are available: {count}{CONFLICT}."
    filtered = np.ones(len(names), np.bool_) if named is None else view.named(named)
    counted = _count_reasons(rejections, filtered)
    left_out = len(names) - int(np.count_nonzero(filtered))
    if left_out and request.behavior.counts_left_out_nodes:
        counted[str(LEFT_OUT)] += left_out
    parts = sorted(f"{count} {text}" for text, count in counted.items())
    return f"0/{len(names)} nodes are available: {', '.join(parts)}."


def condition_of(
    request: SchedulingRequest, view: NodeView, rejections: Iterable[Rejections], message: str
) -> str:
    """Return the message of the pod's PodScheduled condition: the FitError, and what PostFilter adds.

    Preemption is tried on the nodes whose first rejection other pods could resolve; without pods of a lower
    priority it finds no victims there.
    """
    plugins = request.profile.post_filters
    if is_gated(request) or not view.names or not plugins or gone_node(view, request) is not None:
        return message
    named = request.narrowed_to
    if named is not None and not named and DYNAMIC_RESOURCES in plugins:
        # DynamicResources' PostFilter misses what its PreFilter had no chance to write.
        return f"{message} not found"
    said = {DYNAMIC_RESOURCES: NO_CLAIMS, DEFAULT_PREEMPTION: _preemption(view, rejections, named)}
    return f"{message} {', '.join(said[plugin] for plugin in plugins)}"


def _preemption(view: NodeView, rejections: Iterable[Rejections], named: frozenset[str] | None) -> str:
    """Return what preemption says where no pod may be evicted: of how many nodes, and why."""
    size = len(view.names)
    resolvable = np.zeros(size, np.bool_)
    left = np.ones(size, np.bool_) if named is None else view.named(named)
    for rejected in rejections:
        by_eviction = np.array([False, *(reason.code is Code.UNSCHEDULABLE for reason in rejected.reasons)])
        resolvable |= left & by_eviction[rejected.of_node]
        left = left & (rejected.of_node == 0)
    tried = int(np.count_nonzero(resolvable))
    counted = {NO_VICTIMS: tried, NOT_HELPFUL: size - tried}
    parts = sorted(f"{count} {text}" for text, count in counted.items() if count)
    return f"preemption: 0/{size} nodes are available: {', '.join(parts)}."


def _count_reasons(rejections: Iterable[Rejections], filtered: NDArray[np.bool_]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for rejected in rejections:
        numbers = np.bincount(rejected.of_node[filtered], minlength=len(rejected.reasons) + 1)
        for reason, count in zip(rejected.reasons, numbers[1:].tolist(), strict=True):
            for text in reason.texts if count else ():
                counted[text] += count
        filtered = filtered & (rejected.of_node == 0)
    return counted
