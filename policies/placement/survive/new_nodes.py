"""What an autoscaler adds after a loss, for the pods that fit nowhere then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from policies.autoscaler.node_autoscaler import NodeAutoscaler
from policies.manifests.wire import INLINE, Count
from policies.placement.core.autoscaling import Autoscaled, autoscale
from policies.placement.core.cluster_simulation import ClusterSimulation
from policies.placement.core.recovery import Recovery


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWithNewNodes:
    """The pods that a loss leaves pending, if an autoscaler adds nodes for them.

    Attributes:
        running: How many replicas of each workload run then, in the order of the workloads.
        pending: How many of the displaced pods stay pending even so.
        scaled: The nodes that are added, or why none is.
    """

    running: tuple[Count, ...]
    pending: Count
    scaled: Annotated[Autoscaled, INLINE]


def add_nodes(
    recovery: Recovery,
    simulation: ClusterSimulation,
    autoscaler: NodeAutoscaler,
    running: Sequence[int],
) -> LossWithNewNodes | None:
    """Return what becomes of the pods that a loss leaves pending if nodes are added; None if it leaves none.

    Args:
        recovery: What became of the pods that the loss displaced.
        simulation: The cluster then, which gets the nodes and further pods; nobody is evicted for these.
        autoscaler: What adds nodes.
        running: How many replicas of each workload run without them.
    """
    waiting = [
        (entry.workload, entry.step, pod)
        for entry, pod in zip(recovery.displaced, recovery.waiting, strict=True)
        if entry.step is not None and pod is not None
    ]
    if not waiting:
        return None
    simulation.preempts = False
    workloads, pending, queue = zip(*waiting, strict=True)
    steps, scaled = autoscale(queue, list(pending), simulation, autoscaler)
    helped = [number for number, step in zip(workloads, steps, strict=True) if step.node is not None]
    return LossWithNewNodes(
        running=tuple(count + helped.count(number) for number, count in enumerate(running)),
        pending=len(steps) - len(helped),
        scaled=scaled,
    )
