"""NodeUnschedulable: cordoned nodes. Source: ``node_unschedulable.go``, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

import numpy as np

from policies.model.taints import CORDON_TAINT
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

UNSCHEDULABLE: Final = Reason(("node(s) were unschedulable",), Code.UNRESOLVABLE)


class NodeUnschedulablePlugin:
    """Rejects cordoned nodes, unless the pod tolerates the taint of a cordon."""

    def follows_pods(self, _view: NodeView, _request: SchedulingRequest) -> bool:
        """Return False: nodes alone decide."""
        return False

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return the nodes that the plugin rejects: cordoned ones, unless the pod tolerates their taint."""
        rejected = view.unschedulable
        if any(toleration.tolerates(CORDON_TAINT) for toleration in request.pod.tolerations):
            rejected = np.zeros_like(rejected)
        return Rejections.where(rejected, Plugin.NODE_UNSCHEDULABLE, UNSCHEDULABLE)
