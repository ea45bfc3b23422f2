"""NodePorts: host ports of the pod that other pods have. Source: ``node_ports.go``, Kubernetes 1.36."""

from __future__ import annotations

from typing import Final

from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

NO_FREE_PORTS: Final = Reason(
    ("node(s) didn't have free ports for the requested pod ports",), Code.UNSCHEDULABLE
)


class NodePortsPlugin:
    """Rejects nodes on which a host port of the pod is taken."""

    def filter(self, view: NodeView, request: SchedulingRequest) -> Rejections:
        """Return what the plugin rejects."""
        pod, index = request.pod, view.index
        taken = index.ports.taken(pod.ports, index.nodes.slots, sidecars=pod.reading.sidecar_ports)
        return Rejections.where(taken[view.slots], Plugin.NODE_PORTS, NO_FREE_PORTS)
