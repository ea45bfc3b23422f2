"""The sentence that kube-scheduler puts into the condition of a pod that fits nowhere.

It ends where preemption begins, which is not modeled. Source: ``FitError.Error``,
``pkg/scheduler/framework/types.go``, and ``findNodesThatFitPod``, ``pkg/scheduler/schedule_one.go``,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from policies.scheduler.node_filters import GATED, is_waiting
from policies.scheduler.node_view import NodeView
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Rejections

#: A cluster without nodes: ``ErrNoNodesAvailable``.
NO_NODES = "no nodes available to schedule pods"
#: Every term of the required node affinity contradicts itself: ``errReasonConflict``,
#: ``nodeaffinity/node_affinity.go``.
CONFLICT = "pod affinity terms conflict"
#: The nodes that the names in the node affinity leave out before any filter runs.
LEFT_OUT = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def condition_message(question: SchedulingRequest, view: NodeView, refusals: list[Rejections]) -> str:
    """Return the sentence for a pod that every node refuses.

    Each node counts under every reason of the first plugin that refuses it; the parts are sorted as strings.
    """
    if is_waiting(question):
        return GATED.texts[0]
    names = view.names
    if not names:
        return NO_NODES
    named = question.pod.affinity.node_names()
    if named is not None and not named:
        count = "" if question.behavior.says_prefilter_reason_once else f"{len(names)} "
        return f"0/{len(names)} nodes are available: {count}{CONFLICT}."
    asked = np.ones(len(names), np.bool_)
    if named is not None:
        asked = view.named(named)
    counted = _count_reasons(refusals, asked)
    left_out = len(names) - int(np.count_nonzero(asked))
    if left_out and question.behavior.counts_left_out_nodes:
        counted[LEFT_OUT] += left_out
    parts = sorted(f"{count} {text}" for text, count in counted.items())
    return f"0/{len(names)} nodes are available: {', '.join(parts)}."


def _count_reasons(refusals: list[Rejections], asked: NDArray[np.bool_]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for plugin in refusals:
        numbers = np.bincount(plugin.of_node[asked], minlength=len(plugin.reasons) + 1)
        for reason, count in zip(plugin.reasons, numbers[1:].tolist(), strict=True):
            for text in reason.texts if count else ():
                counted[text] += count
        asked = asked & (plugin.of_node == 0)
    return counted
