"""Which node is nominated for a pod that fits nowhere, and which pods are evicted there.

Source: ``Preempt`` and ``pickOneNodeForPreemption``, ``pkg/scheduler/framework/preemption/preemption.go``,
and ``PodEligibleToPreemptOthers``, ``defaultpreemption/default_preemption.go``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_view import NodeView
from policies.scheduler.preemption.dry_run import DryRun, NodeFilter, dry_run
from policies.scheduler.rejections import count_reasons
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, FilterResult, Preemption, Rejections

#: The messages on a node where no pod may be evicted, and of one where evictions would not help.
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
#: Why a pod may not preempt at all.
_NEVER: Final = "not eligible due to preemptionPolicy=Never."
_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
#: What a priority is raised by before priorities are summed, so that more victims weigh more.
_RAISE: Final = 2**31


def attempt(
    view: NodeView,
    request: SchedulingRequest,
    rejections: tuple[Rejections, ...],
    checks: Iterable[FilterResult],
) -> Preemption:
    """Try to make room for a pod that every node rejects.

    Args:
        view: The nodes.
        request: The pod.
        rejections: What every plugin rejects, in the order of the profile.
        checks: Its hard constraints, as they are now.
    """
    tried, pod = _resolvable(view, request, rejections), request.pod
    refusal, run = "", None
    if not pod.may_preempt:
        refusal = _NEVER
    elif pod.nominated_node and _is_being_freed(view, request, tried):
        refusal = _TERMINATING
    elif not request.pinned and view.index.has_pods_below(pod.priority):
        filters = NodeFilter(view, request, rejections, checks)
        run = dry_run(view, pod.priority, tried, filters)
    nominated = [] if run is None else _best(run)
    return Preemption(
        nominated=tuple(view.names[node] for node in nominated),
        victims={} if run is None else _evicted(view, run, nominated),
        message=refusal or _text(view, run, tried),
    )


def _evicted(view: NodeView, run: DryRun, nodes: list[int]) -> dict[str, tuple[str, ...]]:
    """Return the pods that are evicted on each of some nodes, as namespace/name, the dearest first."""
    wanted = np.zeros_like(run.candidates)
    wanted[nodes] = True
    evicted: dict[str, tuple[str, ...]] = {}
    for node, namespace, name in run.pods.names(run.victims & wanted[run.pods.nodes]):
        at = view.names[node]
        evicted[at] = (*evicted.get(at, ()), f"{namespace}/{name}")
    return evicted


def _text(view: NodeView, run: DryRun | None, tried: NDArray[np.bool_]) -> str:
    """Return preemption's part of the pod's condition; empty where a node is nominated.

    Args:
        view: The nodes.
        run: The dry runs; None where no pod may be evicted.
        tried: On which nodes, shape ``(n,)``.
    """
    count = int(np.count_nonzero(tried))
    counted = Counter({NOT_HELPFUL: len(view.names) - count})
    if run is None:
        counted[NO_VICTIMS] = count
    elif run.candidates.any():
        return ""
    else:
        counted[NO_VICTIMS] = int(np.count_nonzero(run.without_victims))
        counted += count_reasons(run.failed, tried & ~run.without_victims & ~run.needless)
        for node in np.flatnonzero(run.needless).tolist():
            counted[f'expected at least one victim pod on node "{view.names[node]}"'] += 1
    parts = sorted(f"{number} {text}" for text, number in counted.items() if number)
    return f"0/{len(view.names)} nodes are available: {', '.join(parts)}."


def _resolvable(
    view: NodeView, request: SchedulingRequest, rejections: tuple[Rejections, ...]
) -> NDArray[np.bool_]:
    """Return the nodes whose first rejection the eviction of pods could resolve, shape ``(n,)``."""
    names = request.narrowed_to
    resolvable = np.zeros(len(view.names), np.bool_)
    left = np.ones(len(view.names), np.bool_) if names is None else view.named(names)
    for rejected in rejections:
        by_eviction = np.array([False, *(reason.code is Code.UNSCHEDULABLE for reason in rejected.reasons)])
        resolvable |= left & by_eviction[rejected.of_node]
        left = left & (rejected.of_node == 0)
    return resolvable


def _is_being_freed(view: NodeView, request: SchedulingRequest, tried: NDArray[np.bool_]) -> bool:
    """Return whether pods are leaving the node that was nominated for the pod, and it could fit there."""
    name = request.pod.nominated_node
    position = view.index.nodes.positions().get(name)
    if position is None or not tried[position]:
        return False
    return any(
        pod in table.preempted and row.terminating and row.priority < request.pod.priority
        for _, table in view.index.pod_tables()
        if table.preempted
        for pod, row in table.rows_on(view.slots[position])
    )


def _best(run: DryRun) -> list[int]:
    """Return the candidates that are best by each criterion in turn: ``pickOneNodeForPreemption``."""
    pods, size = run.pods, len(run.candidates)
    chosen = run.victims & run.candidates[pods.nodes]
    nodes, priority = pods.nodes[chosen], pods.priority[chosen]
    best = np.flatnonzero(run.candidates)
    if not len(best):
        return []
    highest = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(highest, nodes, priority)
    started = np.full(size, np.iinfo(np.int64).max)
    of_highest = priority == highest[nodes]
    np.minimum.at(started, nodes[of_highest], pods.started[chosen][of_highest])
    total = np.zeros(size, np.int64)
    np.add.at(total, nodes, priority + _RAISE)
    violations = np.bincount(nodes[pods.violating[chosen]], minlength=size)
    count = np.bincount(nodes, minlength=size)
    # Fewest violations, least important victims, fewest of them; then those that started last.
    for criterion in (violations, highest, total, count, -started):
        best = best[criterion[best] == criterion[best].min()]
    return [int(node) for node in best]
