"""Whether an autoscaler that removes nodes undoes the evictions of a plan."""

from __future__ import annotations

from planning.audit.rebalance import RebalancePlan
from planning.autoscaler.node_autoscaler import NodeAutoscaler
from planning.simulation.cluster_simulation import ClusterSimulation, QueuedPod
from planning.simulation.scale_down import ScaledDown, scale_down
from policies.config.context import AdmissionContext
from policies.pods.placement import PreparedPod
from policies.pods.pod_objects import PodObjects


def scale_down_after(
    prepared: PreparedPod,
    plan: RebalancePlan,
    autoscaler: NodeAutoscaler,
    context: AdmissionContext,
    running: PodObjects,
) -> ScaledDown:
    """Return which nodes an autoscaler removes after the evictions of a plan, and where their pods then go.

    Args:
        prepared: The next pod of the workload; its cluster stays as it is.
        plan: The plan; without evictions the cluster is as it is.
        autoscaler: What removes nodes.
        context: What pods of other workloads are prepared by.
        running: The objects of the cluster's pods.
    """
    simulation, pod = ClusterSimulation.of(prepared.cluster), prepared.request.pod
    for eviction in plan.evictions:
        simulation.delete(pod.namespace, eviction.pod)
        if eviction.replacement.node is not None:
            simulation.bind(pod, eviction.replacement.name, eviction.replacement.node)
    queue = [QueuedPod(prepared.workload.name, prepared.request)]
    return scale_down(queue, simulation, autoscaler, context, workloads=(prepared,), running=running)
