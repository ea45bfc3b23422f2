"""SchedulingGates: a pod waits until all of its gates are removed.

kube-scheduler holds such a pod back before its first scheduling cycle (PreEnqueue); here every node is
rejected.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

#: The condition of such a pod: ``applySchedulingGatedCondition``, ``pkg/registry/core/pod/strategy.go``.
GATED: Final = Reason(("Scheduling is blocked due to non-empty scheduling gates",), Code.UNRESOLVABLE)


def is_gated(request: SchedulingRequest) -> bool:
    """Return whether scheduling gates hold the pod back."""
    runs = Plugin.SCHEDULING_GATES in request.profile.filters
    return request.pod.gated and request.behavior.scheduling_gates and runs


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that are rejected: all of them for a gated pod, else none."""
    rejected = np.full(len(view.slots), is_gated(request))
    return Rejections.where(rejected, Plugin.SCHEDULING_GATES, GATED)
