"""The pods that the controller of a DaemonSet makes, one for each node that it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.scheduler.binding import Step
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: What keeps a DaemonSet's controller from making a pod for a node.
_NO_POD: Final = frozenset(
    {Plugin.NODE_NAME, Plugin.NODE_AFFINITY, Plugin.NODE_UNSCHEDULABLE, Plugin.TAINT_TOLERATION}
)


def schedule_on_each_node(simulation: ClusterSimulation, request: SchedulingRequest, name: str) -> list[Step]:
    """Bind a pod to each node for which the controller of a DaemonSet makes one, if it fits there.

    Args:
        simulation: The cluster.
        request: The pod.
        name: What the DaemonSet is called; the name of each pod ends in that of its node.
    """
    result, steps = simulation.evaluate(request), []
    for position in nodes_of_daemon(result):
        node = result.names[position]
        step = Step(namespace=request.pod.namespace, name=f"{name}-{node}")
        if result.feasible[position]:
            simulation.bind(request.pod, step.name, node)
            steps.append(replace(step, node=node, feasible=1, tied=(node,)))
        else:
            steps.append(replace(step, message=f"{node}: {_reasons(result, position)}"))
    return steps


def nodes_of_daemon(result: SchedulingResult) -> list[int]:
    """Return the positions of the nodes for which a DaemonSet's controller makes a pod."""
    left_out = np.zeros(len(result.names), np.bool_)
    for rejected in result.rejections:
        if rejected.plugin in _NO_POD:
            left_out |= rejected.of_node != 0
    return np.flatnonzero(~left_out).tolist()


def _reasons(result: SchedulingResult, position: int) -> str:
    """Return why a node rejects a pod, in the scheduler's words."""
    numbers = ((rejected, int(rejected.of_node[position])) for rejected in result.rejections)
    return ", ".join(str(rejected.reasons[number - 1]) for rejected, number in numbers if number)
