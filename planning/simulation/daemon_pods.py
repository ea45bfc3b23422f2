"""The pods that the controller of a DaemonSet makes, one for each node that it is for."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from policies.model.constraint import NodeInclusionPolicy
from policies.model.interpod_terms import NO_TERMS
from policies.model.pod_volumes import NO_VOLUMES
from policies.scheduler.binding import SchedulingAttempt
from policies.scheduler.profile import Plugin
from policies.scheduler.request import SchedulingRequest
from policies.scheduler.result import SchedulingResult

#: What keeps a DaemonSet's controller from making a pod for a node.
_NO_POD: Final = frozenset(
    {Plugin.NODE_NAME, Plugin.NODE_AFFINITY, Plugin.NODE_UNSCHEDULABLE, Plugin.TAINT_TOLERATION}
)


class DaemonPods(NamedTuple):
    """The pods of a DaemonSet."""

    steps: tuple[SchedulingAttempt, ...]  #: What became of them, in the order of the nodes.
    scheduled: int  #: How many were scheduled as a queue.
    untried: int  #: How many more there should be.


def schedule_on_each_node(
    simulation: ClusterSimulation, request: SchedulingRequest, name: str, most: int
) -> DaemonPods:
    """Schedule a pod for each node for which the controller of a DaemonSet makes one.

    Where no pod of it matters to another, those that fit are bound at once; all others are scheduled as a
    queue, and may have pods of other workloads evicted.

    Args:
        simulation: The cluster.
        request: The pod.
        name: What the DaemonSet is called; the name of each pod ends in that of its node.
        most: How many pods the queue may have.
    """
    result, apart = simulation.evaluate(request), _are_apart(request)
    names = {position: f"{name}-{result.names[position]}" for position in nodes_of_daemon(result)}
    steps = dict[int, SchedulingAttempt]()
    for position in names if apart else ():
        if not result.feasible[position]:
            continue
        node = result.names[position]
        simulation.bind(request.pod, names[position], node)
        steps[position] = SchedulingAttempt(
            namespace=request.pod.namespace, name=names[position], node=node, feasible=1, tied=(node,)
        )
    others = [position for position in names if position not in steps]
    queue = [QueuedPod(names[each], request.pinned_to(result.names[each])) for each in others[:most]]
    steps |= zip(others, simulation.schedule_all(queue), strict=False)
    return DaemonPods(
        steps=tuple(steps[position] for position in names if position in steps),
        scheduled=len(queue),
        untried=len(names) - len(steps),
    )


def _are_apart(request: SchedulingRequest) -> bool:
    """Return whether a pod on one node changes nothing for those on others.

    A hard constraint that honors node affinity counts the pod's own node alone.
    """
    pod = request.pod
    alone = all(
        applied.constraint.node_affinity_policy is NodeInclusionPolicy.HONOR
        for applied in request.constraints
        if applied.is_hard
    )
    return alone and pod.terms is NO_TERMS and pod.volumes is NO_VOLUMES


def nodes_of_daemon(result: SchedulingResult) -> list[int]:
    """Return the positions of the nodes for which a DaemonSet's controller makes a pod."""
    left_out = np.zeros(len(result.names), np.bool_)
    for rejected in result.rejections:
        if rejected.plugin in _NO_POD:
            left_out |= rejected.of_node != 0
    return np.flatnonzero(~left_out).tolist()
