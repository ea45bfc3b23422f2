"""Rollouts for whose pending pods an autoscaler adds nodes: they are simulated again with these nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.placement.core.autoscaling import Autoscaled, autoscale
from policies.placement.core.cluster_simulation import ClusterSimulation, QueuedPod
from policies.placement.rollout.courses import Course
from policies.placement.rollout.rollout import Rollout
from policies.scheduler.binding import Step

#: How often a rollout is simulated again with further nodes.
MOST_AGAIN: Final = 5
#: What differs from a cluster in which nodes come.
_FROM_THE_BEGINNING: Final = "nodes that come while a rollout is under way: they are there from its beginning"


def nodes_for_rollout(
    first: Rollout,
    again: Callable[[], Rollout],
    simulation: ClusterSimulation,
    autoscaler: NodeAutoscaler,
) -> tuple[Rollout, Autoscaled | None]:
    """Add nodes for the pods that a rollout leaves pending where it ends worst.

    The nodes are there from its beginning when it is simulated again, and its pending pods are taken to be of
    the new revision. Real nodes come while it is under way.

    Args:
        first: The rollout without further nodes.
        again: Simulates it in the cluster as it is then.
        simulation: The cluster before it, which gets the nodes.
        autoscaler: What adds them.

    Returns:
        The rollout then, and the nodes; None where no pod is pending without.
    """
    rollout, found = first, None
    for tries in range(MOST_AGAIN + 1):
        course = next((course for course in reversed(rollout.ends) if course.pending), None)
        if course is None:
            break
        if found is not None and tries == MOST_AGAIN:
            found = replace(found, complete=False)
            break
        scaled = _add(course, rollout, simulation, autoscaler)
        # The pods are those of the repeat before.
        found = scaled if found is None else replace(found.then(scaled), unhelped=scaled.unhelped)
        if not scaled.nodes:
            break
        autoscaler = autoscaler.grown(scaled.nodes)
        rollout = again()
    if found is not None and found.nodes:
        found = replace(found, not_modeled=(*found.not_modeled, _FROM_THE_BEGINNING))
    return rollout, found


def _add(
    course: Course, rollout: Rollout, simulation: ClusterSimulation, autoscaler: NodeAutoscaler
) -> Autoscaled:
    """Give a cluster the nodes that are added at the end of a course; return them."""
    request, workload = rollout.prepared.request, rollout.prepared.workload
    end = ClusterSimulation.of(course.cluster, stop=simulation.stop)
    queue = [QueuedPod(name, request, workload.title) for name in course.pending]
    pending = [Step(namespace=workload.namespace, name=pod.name, message=course.message) for pod in queue]
    _, scaled = autoscale(queue, pending, end, autoscaler)
    for node in filter(None, (end.cluster.nodes.find(each.name) for each in scaled.nodes)):
        simulation.put(node)
    return scaled
