"""NodeName: ``spec.nodeName`` of the pod. Source: ``node_name.go``, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

import numpy as np

from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

OTHER_NAME: Final = Reason(("node(s) didn't match the requested node name",), Code.UNRESOLVABLE)


class NodeNamePlugin:
    """Rejects all nodes but the one that the pod names."""

    def follows_pods(self, _view: NodeView, _request: SchedulingRequest) -> bool:
        """Return False: nodes alone decide."""
        return False

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return the nodes that the plugin rejects: all but the one that ``nodeName`` names."""
        name = request.pod.node_name
        rejected = ~view.named(frozenset({name})) if name else np.zeros(len(view.slots), np.bool_)
        return Rejections.where(rejected, Plugin.NODE_NAME, OTHER_NAME)
