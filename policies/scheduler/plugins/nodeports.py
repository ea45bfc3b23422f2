"""NodePorts: host ports of the pod that other pods have. Source: ``node_ports.go``, Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policies.model.resources import EVERY_ADDRESS, HostPort
from policies.scheduler.node_view import NodeView
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import Code, Reason, Rejections

NO_FREE_PORTS: Final = Reason(
    ("node(s) didn't have free ports for the requested pod ports",), Code.UNSCHEDULABLE
)


def conflicting(wanted: Iterable[HostPort], held: Iterable[HostPort], *, sidecars: bool) -> int:
    """Count the pairs of ports that cannot both be had on one node.

    Args:
        wanted: The ports of one pod.
        held: Those of another.
        sidecars: Whether the ports of sidecars of the other count.
    """
    counting = [port for port in held if sidecars or not port.sidecar]
    return sum(
        (port.protocol, port.port) == (other.protocol, other.port)
        and (port.address == other.address or EVERY_ADDRESS in (port.address, other.address))
        for port in wanted
        for other in counting
    )


def filter_nodes(view: NodeView, request: SchedulingRequest) -> Rejections:
    """Return the nodes that are rejected: those where a host port of the pod is taken."""
    pod, index = request.pod, view.index
    taken = index.ports.count(pod.ports, index.nodes.slots, index.steps, sidecars=pod.reading.sidecar_ports)
    return Rejections.where(taken[view.slots] > 0, Plugin.NODE_PORTS, NO_FREE_PORTS)
