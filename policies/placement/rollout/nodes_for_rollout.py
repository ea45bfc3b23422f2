"""Rollouts for whose pending pods an autoscaler adds nodes: they are simulated again with these nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from policies.placement.core.autoscaling import Autoscaled, Autoscaling
from policies.placement.core.cluster_simulation import QueuedPod
from policies.placement.rollout.courses import Course
from policies.placement.rollout.rollout import Rollout
from policies.scheduler.binding import Step

#: How often a rollout is simulated again with further nodes.
MOST_AGAIN: Final = 5
#: What differs from a cluster in which nodes come.
_FROM_THE_BEGINNING: Final = "nodes that come while a rollout is under way: they are there from its beginning"


def with_nodes(play: Callable[[], Rollout], scaling: Autoscaling) -> Rollout:
    """Simulate a rollout; add nodes for the pods that it leaves pending where it ends worst.

    The nodes are there from its beginning when it is simulated again, and its pending pods are taken to be of
    the new revision. Real nodes come while it is under way.

    Args:
        play: Simulates it in the cluster as it is then.
        scaling: Adds nodes to the cluster before it.

    Returns:
        The rollout with the nodes.
    """
    rollout = play()
    for tries in range(MOST_AGAIN + 1):
        course = next((course for course in reversed(rollout.ends) if course.pending), None)
        if course is None:
            break
        before = scaling.scaled
        if before is not None and tries == MOST_AGAIN:
            scaling.scaled = replace(before, complete=False)
            break
        scaled = _add(course, rollout, scaling)
        # The pods are those of the repeat before.
        scaling.scaled = scaled if before is None else replace(before.then(scaled), unhelped=scaled.unhelped)
        if not scaled.nodes:
            break
        rollout = play()
    if scaling.scaled is not None and scaling.scaled.nodes:
        not_modeled = (*scaling.scaled.not_modeled, _FROM_THE_BEGINNING)
        scaling.scaled = replace(scaling.scaled, not_modeled=not_modeled)
    return rollout


def _add(course: Course, rollout: Rollout, scaling: Autoscaling) -> Autoscaled:
    """Give a cluster the nodes that are added at the end of a course; return them."""
    request, workload = rollout.prepared.request, rollout.prepared.workload
    queue = [QueuedPod(name, request, workload.title) for name in course.pending]
    pending = [Step(namespace=workload.namespace, name=pod.name, message=course.message) for pod in queue]
    return scaling.add_nodes_of(course.cluster, queue, pending)
