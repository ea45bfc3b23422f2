"""The other filters that decide which nodes are feasible, in the order of the default profile.

Sources: ``nodeunschedulable``, ``nodename``, ``tainttoleration``, ``nodeaffinity`` and
``noderesources/fit.go`` below ``pkg/scheduler/framework/plugins``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from policies.model.taints import CORDON_TAINT
from policies.scheduler.index import ClusterIndex
from policies.scheduler.node_table import PODS
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Plugin, Reason, Rejections

CORDONED: Final = Reason(("node(s) were unschedulable",), Code.UNRESOLVABLE)
OTHER_NAME: Final = Reason(("node(s) didn't match the requested node name",), Code.UNRESOLVABLE)
NOT_WANTED: Final = Reason(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE)
NO_FREE_PORTS: Final = Reason(
    ("node(s) didn't have free ports for the requested pod ports",), Code.UNSCHEDULABLE
)
#: The condition of a pod that waits for its gates: ``applySchedulingGatedCondition``,
#: ``pkg/registry/core/pod/strategy.go``.
GATED: Final = Reason(("Scheduling is blocked due to non-empty scheduling gates",), Code.UNRESOLVABLE)
TOO_MANY_PODS: Final = "Too many pods"

#: The resources that are checked first, in this order; the others follow by name.
FIRST_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


def is_waiting(question: SchedulingRequest) -> bool:
    """Tell whether scheduling gates hold the pod back."""
    return question.pod.gated and question.behavior.scheduling_gates


def other_rejections(question: SchedulingRequest, index: ClusterIndex, view: NodeView) -> list[Rejections]:
    """Return what each filter before PodTopologySpread says of every node."""
    pod, refusals = question.pod, []
    if is_waiting(question):
        refusals.append(_where(Plugin.SCHEDULING_GATES, GATED, np.ones(len(view.slots), np.bool_)))
    cordoned = view.cordoned
    if any(toleration.tolerates(CORDON_TAINT) for toleration in pod.tolerations):
        cordoned = np.zeros_like(cordoned)
    refusals.append(_where(Plugin.NODE_UNSCHEDULABLE, CORDONED, cordoned))
    elsewhere = np.zeros_like(cordoned)
    if pod.node_name:
        elsewhere = ~view.named(frozenset({pod.node_name}))
    return [
        *refusals,
        _where(Plugin.NODE_NAME, OTHER_NAME, elsewhere),
        _taint_refusals(question, view),
        _where(Plugin.NODE_AFFINITY, NOT_WANTED, ~view.wanted),
        _where(Plugin.NODE_PORTS, NO_FREE_PORTS, index.ports.taken(pod.ports, index.nodes.slots)[view.slots]),
        _fit_refusals(question, view),
    ]


def _where(plugin: Plugin, reason: Reason, refused: NDArray[np.bool_]) -> Rejections:
    return Rejections(plugin, (reason,), refused.astype(np.intp))


def _taint_refusals(question: SchedulingRequest, view: NodeView) -> Rejections:
    """Name the taint where the release does."""
    texts = [question.behavior.taint_reason(taint) if taint else "" for taint in view.taint_lists]
    distinct = sorted({text for text in texts if text})
    position = np.array([distinct.index(text) + 1 if text else 0 for text in texts], np.intp)
    reasons = tuple(Reason((text,), Code.UNRESOLVABLE) for text in distinct)
    return Rejections(Plugin.TAINT_TOLERATION, reasons, position[view.taint_numbers])


def _fit_refusals(question: SchedulingRequest, view: NodeView) -> Rejections:
    """Compare the pod's requests with what is left: ``fitsRequest``."""
    behavior, requests = question.behavior, dict(question.pod.requests)
    asked = {name: requests.get(name, 0) for name in FIRST_RESOURCES} if requests else {}
    if behavior.zero_requests_fit:
        asked = {name: request for name, request in asked.items() if request}
    asked |= {name: requests[name] for name in sorted(requests.keys() - asked.keys())}
    offered, used = view.amounts(PODS)
    texts, lacking = [TOO_MANY_PODS], [used + 1 > offered]
    never = np.zeros(len(view.slots), np.bool_)
    for name, request in asked.items():
        offered, used = view.amounts(name)
        texts.append(f"Insufficient {name}")
        lacking.append(request > offered - used)
        if behavior.oversized_requests_are_unresolvable:
            never |= request > offered
    return _combined(texts, lacking, never)


def _combined(texts: list[str], lacking: list[NDArray[np.bool_]], never: NDArray[np.bool_]) -> Rejections:
    """Return a reason for each combination of what nodes lack.

    Args:
        texts: What may be lacking.
        lacking: Where it is, each of shape ``(n,)``.
        never: Where not even an empty node would do, shape ``(n,)``.
    """
    refused = np.logical_or.reduce(lacking)
    combination, examples = _combinations([*lacking, never & refused])
    reasons = []
    for example in examples.tolist():
        found = tuple(text for text, lacks in zip(texts, lacking, strict=True) if lacks[example])
        reasons.append(Reason(found, Code.UNRESOLVABLE if never[example] else Code.UNSCHEDULABLE))
    if not refused.all() and len(examples):
        # The nodes that lack nothing are the first combination, and no reason.
        return Rejections(Plugin.NODE_RESOURCES_FIT, tuple(reasons[1:]), combination)
    return Rejections(Plugin.NODE_RESOURCES_FIT, tuple(reasons), combination + 1)


def _combinations(conditions: list[NDArray[np.bool_]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the combinations of conditions, each of shape ``(n,)``; the one of none comes first.

    Returns:
        The number of each node's combination, shape ``(n,)``, and a node that has each.
    """
    numbers = np.zeros(len(conditions[0]), np.intp)
    examples = np.zeros(0, np.intp)
    for condition in conditions:
        codes = 2 * numbers + condition
        size = int(codes.max(initial=-1)) + 1
        example = np.full(size, -1, np.intp)
        example[codes] = np.arange(len(codes))
        occurring = np.flatnonzero(example >= 0)
        rank = np.zeros(size, np.intp)
        rank[occurring] = np.arange(len(occurring))
        numbers, examples = rank[codes], example[occurring]
    return numbers, examples
